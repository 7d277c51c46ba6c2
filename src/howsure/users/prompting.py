"""From a scenario and what was said to what the model that plays the user is asked. The words are in prompts/, with a
version; what others wrote is quoted data that cannot end its quotation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

import yaml
from msgspec import Struct, convert

from howsure.judges.prompt_files import filled, placeholders
from howsure.judges.quoting import blocks, prefixed
from howsure.llm.parts import Message
from howsure.model.case import Scenario
from howsure.model.transcript import Message as Said
from howsure.model.transcript import Role
from howsure.users.stops import exchanges

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


class Head(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
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
    head = convert(yaml.safe_load(front), Head)
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
    return filled(user_prompt().body, blocks(given))


def conversation(said: Sequence[Said]) -> str:
    """What both sides wrote, each line behind a bar; tool calls are not seen by a user."""
    lines: list[str] = []
    for exchange in exchanges(said):
        lines += ["you:", prefixed(exchange.user), "the agent:", prefixed(exchange.text)]
    return "\n".join(lines)


def messages(scenario: Scenario, said: Sequence[Said], replied: str = "", wrong: str = "") -> tuple[Message, ...]:
    """The next turn; on a second attempt the unusable reply comes back, as data."""
    prompt = user_prompt()
    texts = {"conversation": conversation(said)}
    if wrong:
        texts |= {EARLIER: replied or "(an empty reply)", WRONG: wrong}
    quoted = blocks(texts)
    asked = filled(prompt.turn, quoted)
    user = f"{filled(prompt.repair, quoted)}\n\n{asked}" if wrong else asked
    return Message(Role.SYSTEM, system_words(scenario)), Message(Role.USER, user)
