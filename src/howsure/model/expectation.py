"""Expectations: what good looks like, one gradable statement each."""

from __future__ import annotations

from enum import Enum
from hashlib import sha256
from typing import Any

from msgspec import Struct, field


class ReferenceAnswer(Struct, frozen=True, kw_only=True, tag="reference_answer", tag_field="kind"):
    """An answer is right when it agrees with one of these."""

    answers: tuple[str, ...]


class Choice(Struct, frozen=True, kw_only=True):
    """One of the options of a multiple-choice question."""

    id: str
    text: str


class CorrectChoice(Struct, frozen=True, kw_only=True, tag="correct_choice", tag_field="kind"):
    """The options of a question and the exact set of correct ones."""

    choices: tuple[Choice, ...]
    correct: tuple[str, ...]


class Criterion(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One statement about the answer. A negative weight: meeting it is bad. None: the file gave no weight."""

    id: str
    text: str
    description: str = ""
    weight: float | None = None


def text_id(text: str) -> str:
    """The id of a statement whose file gives it none: the same text always has the same one."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


class Criteria(Struct, frozen=True, kw_only=True, tag="criteria", tag_field="kind"):
    """Every one of these must hold."""

    criteria: tuple[Criterion, ...]


class WeightedCriteria(
    Struct, frozen=True, kw_only=True, tag="weighted_criteria", tag_field="kind", omit_defaults=True
):
    """These earn or cost points; the sum decides. `references` are good answers: help for the judge, not graded."""

    criteria: tuple[Criterion, ...]
    references: tuple[str, ...] = ()


class MatchMode(Enum):
    """How a list of calls or steps is compared with the expected one."""

    EXACT = "exact"
    IN_ORDER = "in_order"
    ANY_ORDER = "any_order"
    SUPERSET = "superset"
    SUBSET = "subset"


class ArgumentMode(Enum):
    """How the arguments of one call are compared with the expected ones."""

    EXACT = "exact"
    SUPERSET = "superset"
    SUBSET = "subset"
    IGNORE = "ignore"


class Matching(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`args` None: follows the mode (exact implies exact, else superset). `args_for` refines it by tool: a mode, or the
    paths of the arguments that count. `only` and `ignore` name the tools that count or don't."""

    mode: MatchMode = MatchMode.SUPERSET
    args: ArgumentMode | None = None
    args_for: dict[str, ArgumentMode | tuple[str, ...]] = field(default_factory=dict)
    only: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()

    @property
    def arguments(self) -> ArgumentMode:
        if self.args is not None:
            return self.args
        return ArgumentMode.EXACT if self.mode is MatchMode.EXACT else ArgumentMode.SUPERSET


class ExpectedCall(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One call; arguments are literal or matchers (`{"$any": true}` …). Equal `message` numbers: made in one message
    (None: each call is a message of its own)."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    reason: str = ""
    message: int | None = None


class ToolCalls(Struct, frozen=True, kw_only=True, tag="tool_calls", tag_field="kind", omit_defaults=True):
    """The calls the agent must make; none expected means none may be made."""

    expected: tuple[ExpectedCall, ...]
    match: Matching = Matching()


class ForbiddenTools(Struct, frozen=True, kw_only=True, tag="forbidden_tools", tag_field="kind"):
    """Tools that must not be called."""

    names: tuple[str, ...]


class Trajectory(Struct, frozen=True, kw_only=True, tag="trajectory", tag_field="kind", omit_defaults=True):
    """The agents and tools the conversation should pass through."""

    steps: tuple[str, ...]
    match: Matching = Matching(mode=MatchMode.IN_ORDER)


class FinalState(Struct, frozen=True, kw_only=True, tag="final_state", tag_field="kind"):
    """Values the session's state should hold at the end; what is not listed is not checked."""

    variables: dict[str, Any]


class AgentsInvolved(Struct, frozen=True, kw_only=True, tag="agents_involved", tag_field="kind"):
    """Agents that should take part."""

    names: tuple[str, ...]


class Goal(Struct, frozen=True, kw_only=True, tag="goal", tag_field="kind"):
    """What the conversation should achieve, in words."""

    text: str


class Contract(Struct, frozen=True, kw_only=True, tag="contract", tag_field="kind"):
    """The name of the JSON Schema that the answer must fulfil."""

    name: str


class Qualities(Struct, frozen=True, kw_only=True, tag="qualities", tag_field="kind", omit_defaults=True):
    """Named judged evals the answer should do well on, and the context that shows the user's intent."""

    names: tuple[str, ...]
    relevant_context: str = ""


Expectation = (
    ReferenceAnswer
    | CorrectChoice
    | Criteria
    | WeightedCriteria
    | ToolCalls
    | ForbiddenTools
    | Trajectory
    | FinalState
    | AgentsInvolved
    | Goal
    | Contract
    | Qualities
)
