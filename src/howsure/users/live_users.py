"""From a scenario and what was said to what the model that plays the user is asked. The words are in prompts/, with a
version; what others wrote is quoted data that cannot end its quotation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

import yaml
from msgspec import Struct, convert, structs

from howsure.errors import ModelFailed, SimulatorFailed
from howsure.judges.embedded_json import find_json, strip_thinking
from howsure.judges.empty_answers import is_blank
from howsure.judges.judge_prompts import fill_placeholders, placeholders
from howsure.judges.quotations import prefix_lines, quote_blocks
from howsure.judges.rulings import UnparsableReply
from howsure.llm.base import Completion, LanguageModel, ModelRequest
from howsure.llm.messages import CallSettings, ChatMessage, FinishReason
from howsure.model.case import Case, Scenario, user_turns
from howsure.model.simulation import Ending
from howsure.model.transcript import Message, Role, Usage
from howsure.model.transcript import Message as Said
from howsure.users.base import User, UserExit, UserMessage, UserMove
from howsure.users.scripts import FixedTurns
from howsure.users.stops import StopRules, pair_exchanges

HEX = 8
EARLIER, WRONG = "earlier_reply", "what_was_wrong"
_TEXT: dict[str, Any] = {"type": "string"}
ENDINGS = ("goal_reached", "gave_up")
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


class UserPromptHead(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The head of the prompt file."""

    name: str
    version: int
    inputs: tuple[str, ...]


class UserPrompt(Struct, frozen=True, kw_only=True):
    """The words a simulated user is played with; `version` changes when any of them does."""

    body: str
    turn: str
    repair: str
    version: str


@cache
def user_prompt() -> UserPrompt:
    """The prompt, read once and checked."""
    folder = files("howsure.users") / "prompts"
    text = (folder / "user.md").read_text("utf-8")
    turn, repair = ((folder / "parts" / f"{name}.md").read_text("utf-8").strip() for name in ("turn", "repair"))
    _, front, body = text.split("---\n", 2)
    head = convert(yaml.safe_load(front), UserPromptHead)
    if sorted(placeholders(body)) != sorted(head.inputs):
        raise ValueError(f"user.md: its placeholders are {placeholders(body)}, its head says {head.inputs}")
    digest = sha256((text + turn + repair).encode()).hexdigest()[:HEX]
    return UserPrompt(body=body.strip(), turn=turn, repair=repair, version=f"{head.name}@{head.version}:{digest}")


def system_words(scenario: Scenario) -> str:
    """Who the model plays: the same in every turn, so that providers can cache it."""
    facts = "\n".join(f"- {fact.name}: {fact.value}" for fact in scenario.facts)
    steps = (f"(only after: {step.when}) {step.say}" if step.when else step.say for step in scenario.plan)
    plan = "\n".join(f"{place}. {step}" for place, step in enumerate(steps, start=1))
    given = {"persona": scenario.persona, "goal": scenario.goal, "facts": facts, "plan": plan}
    return fill_placeholders(user_prompt().body, quote_blocks(given))


def conversation(said: Sequence[Said]) -> str:
    """What both sides wrote, each line behind a bar; tool calls are not seen by a user."""
    lines: list[str] = []
    for exchange in pair_exchanges(said):
        lines += ["you:", prefix_lines(exchange.user), "the agent:", prefix_lines(exchange.text)]
    return "\n".join(lines)


def simulator_messages(
    scenario: Scenario, said: Sequence[Said], replied: str = "", wrong: str = ""
) -> tuple[ChatMessage, ...]:
    """The next turn; on a second attempt the unusable reply comes back, as data."""
    prompt = user_prompt()
    texts = {"conversation": conversation(said)}
    if wrong:
        texts |= {EARLIER: replied or "(an empty reply)", WRONG: wrong}
    quoted = quote_blocks(texts)
    asked = fill_placeholders(prompt.turn, quoted)
    user = f"{fill_placeholders(prompt.repair, quoted)}\n\n{asked}" if wrong else asked
    return ChatMessage(Role.SYSTEM, system_words(scenario)), ChatMessage(Role.USER, user)


_NO_ENDING = frozenset({"", "null", "none"})


class Next(Struct, frozen=True):
    """What the user does: goes on with `message`, or leaves in the state `ending`."""

    message: str
    ending: Ending | None = None
    reason: str = ""


def read_next(reply: str) -> Next:
    """The one object of the reply, whatever stands around it. Raises `UnparsableReply` with what was expected and
    found."""
    found = [value for value in find_json(strip_thinking(reply)).values if isinstance(value, dict)]
    if len(found) != 1:
        raise UnparsableReply(f"expected one JSON object with message, ending and reason; found {len(found)}")
    given: dict[str, Any] = found[0]
    message, reason = _text(given, "message"), _text(given, "reason")
    ending = _ending(given.get("ending"))
    if ending is None and is_blank(message):
        raise UnparsableReply("the message is empty and there is no ending")
    return Next(message.strip(), ending, reason)


def _text(given: dict[str, Any], key: str) -> str:
    value = given.get(key)
    if value is not None and not isinstance(value, str):
        raise UnparsableReply(f"{key} should be a text, not {type(value).__name__}")
    return value or ""


def _ending(value: Any) -> Ending | None:
    if value is None or (isinstance(value, str) and value.strip().lower() in _NO_ENDING):
        return None
    named = value.strip().lower().replace(" ", "_").replace("-", "_") if isinstance(value, str) else ""
    if named not in ENDINGS:
        raise UnparsableReply(f"ending should be null, goal_reached or gave_up, not {value!r}")
    return Ending(named)


TRIES = 2
PURPOSE = "user"
_DEFAULT_SETTINGS = CallSettings()


class LiveUsers:
    """Users played by `model`. `namespace` keeps repeats apart in the cache; `seed` (or the one in `settings`) is made
    into one of each case and repeat, where the model takes one."""

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
        self._model = model
        self._namespace = namespace
        self._settings = settings
        self._seed = seed if seed is not None else settings.seed if settings else None
        self._stops = stops or StopRules()

    @property
    def version(self) -> str:
        """Which words it is played with."""
        return user_prompt().version

    def open(self, case: Case, attempt: int = 1) -> User:
        if not isinstance(case.input, Scenario):
            return FixedTurns(user_turns(case.input))
        return LiveUser(case.input, self._ask(case.id, attempt), self._stops, self.name)

    def _ask(self, case: str, attempt: int) -> Asking:
        # Played again, the model is asked anew: a copy from the cache would be spoiled in the same way.
        namespace = self._namespace if attempt == 1 else f"{self._namespace} attempt {attempt}".strip()
        settings = self._settings
        if self._seed is not None:
            seed = seed_of(self._seed, namespace, case)
            settings = structs.replace(settings or _DEFAULT_SETTINGS, seed=seed)
        return Asking(self._model, settings, namespace)


def seed_of(seed: int, namespace: str, case: str) -> int:
    """A seed of each conversation: repeats would be copies of one another with the same."""
    return int.from_bytes(sha256(f"{seed}\x1f{namespace}\x1f{case}".encode()).digest()[:4]) >> 1


class Asking:
    """How the model is asked in one conversation."""

    def __init__(self, model: LanguageModel, settings: CallSettings | None, namespace: str) -> None:
        self._model = model
        self._settings = settings
        self._namespace = namespace

    async def complete(self, scenario: Scenario, said: Sequence[Message], replied: str, wrong: str) -> Completion:
        request = ModelRequest(
            messages=simulator_messages(scenario, said, replied, wrong),
            schema=SCHEMA,
            settings=self._settings,
            namespace=self._namespace,
            purpose=PURPOSE,
        )
        return await self._model.complete(request)


class LiveUser:
    """One conversation."""

    def __init__(self, scenario: Scenario, asking: Asking, stops: StopRules, name: str) -> None:
        self._scenario = scenario
        self._asking = asking
        self._stops = stops
        self._name = name

    async def next(self, said: Sequence[Message]) -> UserMove:
        if not said:
            return UserMessage(self._scenario.initial_message)
        if stop := self._stops.stop(said, self._scenario.max_turns):
            return stop
        move, usage = await self._asked(said)
        if move.ending is not None:
            return UserExit(move.ending, move.reason, usage)
        return UserMessage(move.message, usage)

    async def _asked(self, said: Sequence[Message]) -> tuple[Next, Usage | None]:
        replied = wrong = ""
        usage: Usage | None = None
        for _ in range(TRIES):
            completion = await self._complete(said, replied, wrong)
            usage = _sum(usage, completion.usage)
            try:
                return read_next(completion.text), usage
            except UnparsableReply as unreadable:
                replied, wrong = completion.text, str(unreadable)
        raise SimulatorFailed(f"user {self._name!r}: no usable reply in {TRIES} tries: {wrong}")

    async def _complete(self, said: Sequence[Message], replied: str, wrong: str) -> Completion:
        try:
            completion = await self._asking.complete(self._scenario, said, replied, wrong)
        except ModelFailed as failure:
            raise SimulatorFailed(f"user {self._name!r}: {failure}") from failure
        if completion.finish is FinishReason.REFUSED and not completion.text.strip():
            raise SimulatorFailed(f"user {self._name!r}: the model refused to play")
        return completion


def _sum(one: Usage | None, other: Usage) -> Usage:
    """What both cost; an amount that one of them does not know stays unknown."""
    if one is None:
        return other
    pairs = {field: (getattr(one, field), getattr(other, field)) for field in Usage.__struct_fields__}
    return Usage(**{field: None if a is None or b is None else a + b for field, (a, b) in pairs.items()})
