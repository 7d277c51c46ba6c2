"""Expectations: what good looks like, one gradable statement each."""

from __future__ import annotations

from enum import Enum
from hashlib import sha256
from typing import Any

from msgspec import Struct, field


class ReferenceAnswer(Struct, frozen=True, kw_only=True, tag="reference_answer", tag_field="kind"):
    """An answer is right if it agrees with one of these."""

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
    """The id of a statement if the file gives none. The same text always has the same id."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


class Criteria(Struct, frozen=True, kw_only=True, tag="criteria", tag_field="kind"):
    """Every one of these must hold."""

    criteria: tuple[Criterion, ...]


class WeightedCriteria(
    Struct, frozen=True, kw_only=True, tag="weighted_criteria", tag_field="kind", omit_defaults=True
):
    """These earn or cost points, and the sum decides. `references` are good answers that help the judge."""

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
    """How calls or steps are compared. `args` None: exact if the mode is exact, else superset. `args_for` refines this
    by tool: a mode, or the paths of the arguments that count. `only` and `ignore` name the tools that count or do
    not."""

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
    """One expected call. Arguments are literal values or matchers (`{"$any": true}` …). Calls with equal `message`
    numbers are made in one message. If no expected call has a number, it does not matter how calls were grouped into
    messages; else a call without one has its own message. `turn`: after which message of the user, from 1; only ADK's
    criterion reads it."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    reason: str = ""
    message: int | None = None
    turn: int | None = None


class ToolCalls(Struct, frozen=True, kw_only=True, tag="tool_calls", tag_field="kind", omit_defaults=True):
    """The calls that the agent must make. An empty list means that it may make none."""

    expected: tuple[ExpectedCall, ...]
    match: Matching = Matching()


class ForbiddenTools(Struct, frozen=True, kw_only=True, tag="forbidden_tools", tag_field="kind"):
    """Tools that must not be called."""

    names: tuple[str, ...]


class Trajectory(Struct, frozen=True, kw_only=True, tag="trajectory", tag_field="kind", omit_defaults=True):
    """The agents and tools that the conversation should pass through."""

    steps: tuple[str, ...]
    match: Matching = Matching(mode=MatchMode.IN_ORDER)


class FinalState(Struct, frozen=True, kw_only=True, tag="final_state", tag_field="kind"):
    """Values that the state of the session should hold at the end. Only these are checked."""

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
    """The judged evals to run, by name, and the context that shows what the user wants."""

    names: tuple[str, ...]
    relevant_context: str = ""


class TextForm(Enum):
    """What counts when two texts are compared: every character, all but white space around the text, or only its
    words (no letter case, spaces and punctuation)."""

    AS_IS = "as_is"
    TRIMMED = "trimmed"
    WORDS = "words"


class ExactText(Struct, frozen=True, kw_only=True, tag="exact_text", tag_field="kind", omit_defaults=True):
    """The answer is one of these texts. `negate`, here and below, inverts the check."""

    values: tuple[str, ...]
    form: TextForm = TextForm.TRIMMED
    ignore_case: bool = False
    negate: bool = False


class IncludedText(Struct, frozen=True, kw_only=True, tag="included_text", tag_field="kind", omit_defaults=True):
    """The answer holds one of these texts, or with `every` all of them; with `at_start` it begins with one."""

    values: tuple[str, ...]
    every: bool = False
    at_start: bool = False
    ignore_case: bool = False
    negate: bool = False


class TextPattern(Struct, frozen=True, kw_only=True, tag="text_pattern", tag_field="kind", omit_defaults=True):
    """One of these regular expressions is found in the answer; with `whole`, it fits all of the answer."""

    patterns: tuple[str, ...]
    whole: bool = False
    negate: bool = False


class NumericAnswer(Struct, frozen=True, kw_only=True, tag="numeric_answer", tag_field="kind", omit_defaults=True):
    """The final number of the answer is one of these, within `tolerance`."""

    values: tuple[float, ...]
    tolerance: float = 0.0
    negate: bool = False


class JsonPlace(Enum):
    """Where JSON is looked for: it is the whole answer, or also its only fenced block, or anywhere in it."""

    WHOLE = "whole"
    FENCED = "fenced"
    ANYWHERE = "anywhere"


class JsonOutput(Struct, frozen=True, kw_only=True, tag="json_output", tag_field="kind", omit_defaults=True):
    """The answer is JSON and fulfils the schema. None: any JSON will do."""

    schema: dict[str, Any] | bool | None = None
    place: JsonPlace = JsonPlace.FENCED
    negate: bool = False


class CodeCheck(Struct, frozen=True, kw_only=True, tag="code_check", tag_field="kind", omit_defaults=True):
    """A program of the dataset's author decides: `code` itself, or a function of a file beside the dataset. It gives a
    yes or no, or a number, of which `threshold` is enough (None: anything above 0)."""

    language: str
    code: str = ""
    file: str = ""
    function: str = ""
    config: dict[str, Any] = field(default_factory=dict)
    threshold: float | None = None
    negate: bool = False


class AnswerMatch(Enum):
    """The program that compares answers with expected ones (`--match`)."""

    EXACT = "exact"
    INCLUDES = "includes"
    REGEX = "regex"
    NUMERIC = "numeric"


MatchExpectation = ExactText | IncludedText | TextPattern | NumericAnswer | JsonOutput | CodeCheck
"""The expectations that a program checks in the text of the answer."""

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
    | MatchExpectation
)
