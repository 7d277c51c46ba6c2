"""The shapes of analyses: the decisions of gates, and comparisons. (Triage has the shape of the model.)"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from howsure.model.comparison import (
    Conclusion,
    DifferenceKind,
    FlakinessSource,
    Mismatch,
    Side,
    TryCounts,
    VarianceEstimate,
)
from howsure.model.run import GateOutcome
from howsure.model.score import Direction
from howsure.wire.base import OMITTABLE, WireShape

SideName = Literal["first", "second"]
Ends = list[float | None] | None


class GateDecision(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The decision of one gate."""

    expression: str
    outcome: GateOutcome
    reason: str
    value: float | None
    interval: Annotated[Ends, Meta(description="Null: the value is counted, not estimated. A null end is open")]
    n: Annotated[int, Meta(description="How many results the value is based on")]
    unjudged: Annotated[int, Meta(description="How many others have no verdict or value")]
    needed_cases: Annotated[int | None, Meta(description="About how many more cases would settle it")]
    candidate: Annotated[str, OMITTABLE, Meta(description="Where a run has several")] = ""
    looks: Annotated[list[int] | None, OMITTABLE, Meta(description="After how many cases of how many")] = None


class GateReport(WireShape, frozen=True, kw_only=True):
    """The decisions of a run's gates. `outcome`: failed if one failed, else inconclusive if one is; null: no gate."""

    run_id: str
    outcome: GateOutcome | None
    gates: list[GateDecision]


class MissingReason(Struct, frozen=True, kw_only=True):
    """How many pairs have no value on a side, and why."""

    side: SideName
    why: str
    count: int


class PairingCounts(Struct, frozen=True, kw_only=True):
    """How many cases were compared, and why others were not: `total` is the sum of the others."""

    total: int
    paired: int
    only_first: int
    only_second: int
    without_value: int
    changed: int
    why: list[MissingReason]


class ComparedDifference(Struct, frozen=True, kw_only=True):
    """Second minus first, over the pairs that both sides have."""

    name: str
    kind: DifferenceKind
    direction: Direction
    scale: Annotated[list[float | None], Meta(description="Its ends; a null end is open")]
    conclusion: Conclusion
    pairing: PairingCounts
    n: int
    first: float | None
    second: float | None
    difference: float | None
    interval: Ends
    p_value: float | None
    p_adjusted: Annotated[float | None, Meta(description="For the other questions asked of the same data")]
    method: str | None
    clusters: int
    margin: Annotated[float, Meta(description="The largest difference that counts as none")]
    needed_cases: int | None
    raised: int
    lowered: int
    same: int
    text: str | None


class ComparedCase(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A case that passed on one side only."""

    case_id: str
    first: TryCounts
    second: TryCounts
    graders: list[str]
    causes: Annotated[list[str], Meta(description="What flipped with it, in words")]
    case_changed: bool
    second_case_id: Annotated[str, OMITTABLE, Meta(description="Its id there, if it differs")] = ""


class FlakyCaseCount(Struct, frozen=True, kw_only=True):
    """A case whose repeats do not agree."""

    case_id: str
    side: SideName
    passed: int
    judged: int
    blame: FlakinessSource


class GraderNoise(Struct, frozen=True, kw_only=True):
    """How much the values of a grader vary, in the square of its unit."""

    grader: str
    side: SideName
    cases: int
    tries: int
    judgements: int
    variance_between_cases: VarianceEstimate | None
    variance_agent: VarianceEstimate
    variance_judge: VarianceEstimate
    judge_share: float | None


class ComparedSides(Struct, frozen=True, kw_only=True):
    """One side held against the first."""

    first: Side
    second: Side
    conclusion: Conclusion
    headline: Annotated[str | None, Meta(description="The slice to name first where the whole shows nothing")]
    sentence: str
    alike: Annotated[bool, Meta(description="Nothing of the setup that matters differs")]
    unlike: list[Mismatch]
    verdict: ComparedDifference
    differences: list[ComparedDifference]
    got_worse: list[ComparedCase]
    got_better: list[ComparedCase]
    flaky: list[FlakyCaseCount]
    notes: list[str]
    noise: list[GraderNoise]


class ComparisonAnswer(WireShape, frozen=True, kw_only=True):
    """Two runs, case by case; of runs with several candidates, each of them against the first."""

    comparisons: list[ComparedSides]
    unit: str
    cluster: str | None
    margin: float
    confidence: float
    not_compared: list[str]
