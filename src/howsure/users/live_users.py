"""A persona played by a language model: the opening is fixed, the stop rules come first, then the model is asked for
the next message or the ending. A reply that cannot be read is asked for once more, then the simulator has failed;
nothing is guessed. The words are in prompts/, with a version; what others wrote is quoted data that cannot end its
quotation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from msgspec import Struct, structs

from howsure.errors import ModelFailed, SimulatorFailed
from howsure.judges.embedded_json import find_json, strip_thinking
from howsure.judges.empty_answers import is_blank
from howsure.judges.judge_prompts import EARLIER_REPLY, PROBLEM, fill_placeholders, read_plain_prompt
from howsure.judges.quotations import prefix_lines, quote_blocks
from howsure.judges.rulings import UnparsableReply
from howsure.llm.base import Completion, LanguageModel, ModelRequest
from howsure.llm.messages import CallSettings, ChatMessage, FinishReason
from howsure.model.case import Case, Scenario, user_turns
from howsure.model.simulation import Ending
from howsure.model.transcript import Message, Role, Usage
from howsure.users.base import User, UserExit, UserMessage, UserMove
from howsure.users.scripts import FixedTurns
from howsure.users.stops import StopRules, pair_exchanges

ATTEMPTS = 2
PURPOSE = "user"
ENDINGS = ("goal_reached", "gave_up")
_NO_ENDING = frozenset({"", "null", "none"})
_DEFAULT_SETTINGS = CallSettings()
_TEXT: dict[str, Any] = {"type": "string"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reason": _TEXT,
        "message": _TEXT,
        "ending": {"anyOf": [{"type": "null"}, {"type": "string", "enum": list(ENDINGS)}]},
    },
    "required": ["reason", "message", "ending"],
    "additionalProperties": False,
}


class UserPrompt(Struct, frozen=True, kw_only=True):
    """The words that a simulated user is played with; `version` changes with any of them."""

    body: str
    turn: str
    repair: str
    version: str


@cache
def user_prompt() -> UserPrompt:
    """The prompt, read once and checked."""
    folder = files("howsure.users") / "prompts"
    turn, repair = ((folder / "parts" / f"{name}.md").read_text("utf-8").strip() for name in ("turn", "repair"))
    prompt = read_plain_prompt(folder / "user.md", turn + repair)
    return UserPrompt(body=prompt.body, turn=turn, repair=repair, version=prompt.version)


class LiveUsers:
    """Users played by `model`. `namespace` keeps repeats apart in the cache; `seed` (or the one in `settings`) becomes
    a seed for each case and repeat, where the model takes one."""

    def __init__(
        self,
        model: LanguageModel,
        name: str = "",
        namespace: str = "",
        *,
        settings: CallSettings | None = None,
        seed: int | None = None,
        stops: StopRules | None = None,
    ) -> None:
        self.name = name or model.name
        self.model = model
        self.stops = stops or StopRules()
        self._namespace = namespace
        self._settings = settings
        self._seed = seed if seed is not None else settings.seed if settings else None

    @property
    def version(self) -> str:
        """The version of the words that it is played with."""
        return user_prompt().version

    def open(self, case: Case, attempt: int = 1) -> User:
        if not isinstance(case.input, Scenario):
            return FixedTurns(user_turns(case.input))
        # A second attempt asks the model again: a copy from the cache would be spoiled in the same way.
        namespace = self._namespace if attempt == 1 else f"{self._namespace} attempt {attempt}".strip()
        settings = self._settings
        if self._seed is not None:
            # A seed for each conversation: with one seed, repeats would be copies of each other.
            text = f"{self._seed}\x1f{namespace}\x1f{case.id}"
            seed = int.from_bytes(sha256(text.encode()).digest()[:4]) >> 1
            settings = structs.replace(settings or _DEFAULT_SETTINGS, seed=seed)
        return LiveUser(self, case.input, settings, namespace)


class LiveUser:
    """The user's side of one conversation."""

    def __init__(self, users: LiveUsers, scenario: Scenario, settings: CallSettings | None, namespace: str) -> None:
        self._users = users
        self._scenario = scenario
        self._settings = settings
        self._namespace = namespace

    async def next(self, messages: Sequence[Message]) -> UserMove:
        if not messages:
            return UserMessage(self._scenario.initial_message)
        if stop := self._users.stops.stop(messages, self._scenario.max_turns):
            return stop
        reply = problem = ""
        usage: Usage | None = None
        for _ in range(ATTEMPTS):
            completion = await self._complete(messages, reply, problem)
            usage = completion.usage if usage is None else _add_usage(usage, completion.usage)
            try:
                return structs.replace(read_user_move(completion.text), usage=usage)
            except UnparsableReply as error:
                reply, problem = completion.text, str(error)
        raise SimulatorFailed(f"user {self._users.name!r}: no usable reply in {ATTEMPTS} tries: {problem}")

    async def _complete(self, messages: Sequence[Message], reply: str, problem: str) -> Completion:
        request = ModelRequest(
            messages=simulator_messages(self._scenario, messages, reply, problem),
            schema=SCHEMA,
            settings=self._settings,
            namespace=self._namespace,
            purpose=PURPOSE,
        )
        try:
            completion = await self._users.model.complete(request)
        except ModelFailed as failure:
            raise SimulatorFailed(f"user {self._users.name!r}: {failure}") from failure
        if completion.finish is FinishReason.REFUSED and not completion.text.strip():
            raise SimulatorFailed(f"user {self._users.name!r}: the model refused to play")
        return completion


def simulator_messages(
    scenario: Scenario, messages: Sequence[Message], reply: str = "", problem: str = ""
) -> tuple[ChatMessage, ...]:
    """The request for the next turn. A second attempt shows the unusable reply, as data, with its problem."""
    prompt = user_prompt()
    texts = {"conversation": show_conversation(messages)}
    if problem:
        texts |= {EARLIER_REPLY: reply or "(an empty reply)", PROBLEM: problem}
    quoted = quote_blocks(texts)
    turn = fill_placeholders(prompt.turn, quoted)
    user = f"{fill_placeholders(prompt.repair, quoted)}\n\n{turn}" if problem else turn
    return ChatMessage(Role.SYSTEM, role_prompt(scenario)), ChatMessage(Role.USER, user)


def role_prompt(scenario: Scenario) -> str:
    """Who the model plays: the same in every turn, so that providers can cache it."""
    facts = "\n".join(f"- {fact.name}: {fact.value}" for fact in scenario.facts)
    steps = (f"(only after: {step.when}) {step.say}" if step.when else step.say for step in scenario.plan)
    plan = "\n".join(f"{place}. {step}" for place, step in enumerate(steps, start=1))
    texts = {"persona": scenario.persona, "goal": scenario.goal, "facts": facts, "plan": plan}
    return fill_placeholders(user_prompt().body, quote_blocks(texts))


def show_conversation(messages: Sequence[Message]) -> str:
    """What both sides wrote, each line after a bar; a user does not see tool calls."""
    lines: list[str] = []
    for exchange in pair_exchanges(messages):
        lines += ["you:", prefix_lines(exchange.user), "the agent:", prefix_lines(exchange.text)]
    return "\n".join(lines)


def read_user_move(reply: str) -> UserMove:
    """The one object of the reply, whatever stands around it; or `UnparsableReply` with what was expected and found."""
    objects = [value for value in find_json(strip_thinking(reply)).values if isinstance(value, dict)]
    if len(objects) != 1:
        raise UnparsableReply(f"expected one JSON object with message, ending and reason; found {len(objects)}")
    fields: dict[str, Any] = objects[0]
    message, reason = _text_field(fields, "message"), _text_field(fields, "reason")
    ending = _read_ending(fields.get("ending"))
    if ending is not None:
        return UserExit(ending, reason)
    if is_blank(message):
        raise UnparsableReply("the message is empty and there is no ending")
    return UserMessage(message.strip())


def _text_field(fields: dict[str, Any], key: str) -> str:
    value = fields.get(key)
    if value is not None and not isinstance(value, str):
        raise UnparsableReply(f"{key} should be a text, not {type(value).__name__}")
    return value or ""


def _read_ending(value: Any) -> Ending | None:
    if value is None or (isinstance(value, str) and value.strip().lower() in _NO_ENDING):
        return None
    name = value.strip().lower().replace(" ", "_").replace("-", "_") if isinstance(value, str) else ""
    if name not in ENDINGS:
        raise UnparsableReply(f"ending should be null, goal_reached or gave_up, not {value!r}")
    return Ending(name)


def _add_usage(one: Usage, other: Usage) -> Usage:
    """The sum; an amount that one of them does not know stays unknown."""
    pairs = {field: (getattr(one, field), getattr(other, field)) for field in Usage.__struct_fields__}
    return Usage(**{field: None if a is None or b is None else a + b for field, (a, b) in pairs.items()})
