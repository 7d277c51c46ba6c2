"""A Summary: one Run in numbers, computed where the Results are stored and shown by every report; and what came of each
gate. How gates are written is in policies/gates.py; a service decides them."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct, field

from howsure.model.run import Counts, Run
from howsure.model.score import Direction, Scale


class GateOutcome(Enum):
    """The result of a gate. The whole interval decides: it lies on the good side, on the bad side, or on both."""

    HELD = "held"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"


class GateRuling(Struct, frozen=True, kw_only=True):
    """The result of one gate. `interval` None: the value is counted, not estimated. `n` is how many results the value
    is based on; `unjudged` is how many others have no verdict or value. `needed_cases`: about how many more cases would
    settle an inconclusive gate (None: no number would, or none is needed). `candidate` is set if a run has several."""

    expression: str
    outcome: GateOutcome
    reason: str
    value: float | None = None
    interval: tuple[float, float] | None = None
    n: int = 0
    unjudged: int = 0
    needed_cases: int | None = None
    candidate: str = ""


def worst_outcome(rulings: tuple[GateRuling, ...]) -> GateOutcome:
    """The result of all gates together: one that failed decides, then one that is inconclusive."""
    outcomes = {ruling.outcome for ruling in rulings}
    order = (GateOutcome.FAILED, GateOutcome.INCONCLUSIVE)
    return next((outcome for outcome in order if outcome in outcomes), GateOutcome.HELD)


class Tally(Struct, frozen=True, kw_only=True):
    """The counts of one kind of check. total = passed + failed + errored + skipped, always. Skipped checks are not
    applicable or had no judge."""

    passed: int = 0
    failed: int = 0
    errored: int = 0
    skipped: int = 0

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.errored + self.skipped

    @property
    def pass_rate(self) -> float | None:
        judged = self.passed + self.failed
        return self.passed / judged if judged else None


class GraderSummary(Struct, frozen=True, kw_only=True):
    """The grades of one grader for one candidate: those of whole cases, not of parts.

    scored = passed + failed + unmarked; total = scored + errored + not_applicable + no_judge. `mean`: over the scored.
    """

    name: str
    candidate: str
    scored: int
    passed: int
    failed: int
    errored: int
    not_applicable: int
    no_judge: int
    mean: float | None
    scale: Scale
    direction: Direction
    pass_mark: float | None = None


class SliceCounts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The results of the cases whose `label` has this value: a label of theirs, `tag`, or `file`, the dataset's."""

    label: str
    value: str
    counts: Counts
    candidate: str = ""


class Summary(Struct, frozen=True, kw_only=True):
    """One Run in numbers. `criteria` counts the parts of `criteria` and `weighted_criteria`, `rules` those of `rubric`,
    `components` the rules by scope (`general` where a rule has none); None where no case had any. `faults` counts the
    simulated conversations that did not pass by who is responsible, `flags` the flags of results by kind. `slices`:
    the same by label, for the labels that have a few values; `labels` names all labels of the cases. `gates` is empty
    until a service decides them."""

    run: Run
    candidates: dict[str, Counts]
    graders: tuple[GraderSummary, ...]
    criteria: Tally | None = None
    rules: Tally | None = None
    components: dict[str, Tally] = field(default_factory=dict)
    faults: dict[str, int] = field(default_factory=dict)
    flags: dict[str, int] = field(default_factory=dict)
    slices: tuple[SliceCounts, ...] = ()
    labels: tuple[str, ...] = ()
    gates: tuple[GateRuling, ...] = ()
