"""A Case: one thing to try, what good looks like, and, where a dataset brings it, what was recorded."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from howsure.model.expectation import Expectation
from howsure.model.transcript import Message, Mishap, Tool, Transcript


class Attachment(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A document that belongs to the question; `path` is relative to the dataset's folder."""

    path: str
    kind: str = ""
    title: str = ""


class SingleTurn(Struct, frozen=True, kw_only=True, tag="single_turn", tag_field="kind", omit_defaults=True):
    """One message, with what surrounds it: an earlier conversation, supporting text, documents."""

    message: str
    context: str = ""
    history: tuple[Message, ...] = ()
    attachments: tuple[Attachment, ...] = ()


class Script(Struct, frozen=True, kw_only=True, tag="script", tag_field="kind", omit_defaults=True):
    """Fixed user turns, sent one after the other."""

    turns: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.turns:
            raise ValueError("a script needs at least one turn")


class Fact(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something the user knows and tells when asked for it. `asked_by`: other words the agent may ask with."""

    name: str
    value: str
    asked_by: tuple[str, ...] = ()


class PlanStep(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something the user will say or do; `when` is the condition on what the agent did, in words ("" = in its turn)."""

    say: str
    when: str = ""


class Scenario(Struct, frozen=True, kw_only=True, tag="scenario", tag_field="kind", omit_defaults=True):
    """A simulated user: who they are, how they open, what they want, know and plan, how long they go on."""

    persona: str
    initial_message: str
    max_turns: int = 8
    goal: str = ""
    facts: tuple[Fact, ...] = ()
    plan: tuple[PlanStep, ...] = ()


Input = SingleTurn | Script | Scenario


def opening(given: Input) -> str:
    """The first thing the user says."""
    match given:
        case SingleTurn(message=text):
            return text
        case Script(turns=turns):
            return turns[0]
        case Scenario(initial_message=text):
            return text


def user_turns(given: Input) -> tuple[str, ...]:
    """Every user message that is known beforehand."""
    return given.turns if isinstance(given, Script) else (opening(given),)


class World:
    """The pass rules a case lives under: the dialect's own, or those of the world it imports into."""

    EXPLAIN = "explain"
    GOLDEN = "golden"
    TEST_SET = "test-set"
    LEGAL = "legal"
    PLAIN = "plain"


class Case(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing to try.

    `labels` are short strings to slice and filter by; `metadata` is everything else the file said, kept as it was.
    `tools` are the tools the agent really has (None: the case does not say), never those that happened to be used.
    `state` is what the agent's session starts with.
    """

    id: str
    input: Input
    expectations: tuple[Expectation, ...] = ()
    name: str = ""
    world: str = World.PLAIN
    profile: str = ""
    tags: tuple[str, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    tools: tuple[Tool, ...] | None = None
    state: dict[str, Any] = field(default_factory=dict)
    recorded: Transcript | Mishap | None = None
