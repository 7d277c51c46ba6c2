"""A Case: one thing to try, what good looks like and, if the dataset has one, a recording."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, convert, field
from msgspec.structs import replace

from howsure.model.expectation import Expectation
from howsure.model.transcript import BrokenRecording, Message, Role, Tool, Transcript


class Attachment(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A document that belongs to the question; `path` is relative to the dataset's folder."""

    path: str
    kind: str = ""
    title: str = ""


class SingleTurn(Struct, frozen=True, kw_only=True, tag="single_turn", tag_field="kind", omit_defaults=True):
    """One message with its surroundings: an earlier conversation, supporting text, documents."""

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
    """Something the user knows and tells when asked. `asked_by`: other words with which the agent may ask for it."""

    name: str
    value: str
    asked_by: tuple[str, ...] = ()


class PlanStep(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something the user will say or do. `when` is a condition on what the agent did, in words ("": in its turn)."""

    say: str
    when: str = ""


class Scenario(Struct, frozen=True, kw_only=True, tag="scenario", tag_field="kind", omit_defaults=True):
    """A simulated user: persona, first message, goal, facts, plan and the largest number of turns."""

    persona: str
    initial_message: str
    max_turns: int = 8
    goal: str = ""
    facts: tuple[Fact, ...] = ()
    plan: tuple[PlanStep, ...] = ()


Input = SingleTurn | Script | Scenario


def opening(input: Input) -> str:
    """The first thing the user says."""
    match input:
        case SingleTurn(message=text):
            return text
        case Script(turns=turns):
            return turns[0]
        case Scenario(initial_message=text):
            return text


def user_turns(input: Input) -> tuple[str, ...]:
    """Every user message that is known before the conversation starts."""
    return input.turns if isinstance(input, Script) else (opening(input),)


def case_messages(case: Case) -> tuple[Message, ...]:
    """The messages before the agent's: the earlier conversation, then the question unless the last message repeats
    it."""
    history = case.input.history if isinstance(case.input, SingleTurn) else ()
    questions = [Message(role=Role.USER, content=text) for text in user_turns(case.input)]
    if history and history[-1].role is Role.USER and history[-1].content.strip() == opening(case.input).strip():
        return history
    return (*history, *questions)


PROMPTS = "prompts"
"""The metadata key of a case's inputs by prompt name, for files that ask it in several ways."""


UNCHECKED = "not_checked"
"""The metadata key of the expectations of a file that nothing here checks, in words."""


def with_prompt(case: Case, prompt: str) -> Case:
    """The case with the input of this prompt."""
    asked: Input = convert(case.metadata[PROMPTS][prompt], Input)
    return replace(case, input=asked)


class World:
    """Which pass rules apply to a case. Each of our own dialects has its world; an importer names one of these."""

    EXPLAIN = "explain"
    GOLDEN = "golden"
    TEST_SET = "test-set"
    LEGAL = "legal"
    PLAIN = "plain"


class Case(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing to try.

    `labels` are short strings to slice and filter by; `metadata` is everything else in the file, unchanged. `tools` are
    the tools that the agent has (None: unknown), never those that happened to be used. `state` is what the session of
    the agent starts with.
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
    recorded: Transcript | BrokenRecording | None = None


FINISHED = ("transcript", "voice_simulation")
"""The types of test set items that are finished conversations; a voice item is its transcript with timings."""


def finished_transcript_of(case: Case) -> Transcript | None:
    """The conversation of an item that is a finished one. It is graded as it is, whatever the target."""
    is_finished = case.world == World.TEST_SET and case.labels.get("type") in FINISHED
    return case.recorded if is_finished and isinstance(case.recorded, Transcript) else None
