"""A Summary: one Run in numbers, computed where the Results are stored and shown by every report; and what came of each
gate. How gates are written is in policies/gates.py; a service decides them."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType, field

from howsure.model.run import Counts, Run
from howsure.model.run import GateOutcome as GateOutcome
from howsure.model.run import GateRuling as GateRuling
from howsure.model.run import worst_outcome as worst_outcome
from howsure.model.score import Direction, Interval, Scale


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
    `pass_rate_interval` as in `Counts`.
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
    pass_rate_interval: Interval | UnsetType = UNSET


class SliceCounts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The results of the cases whose `label` has this value: a label of theirs, `tag`, or `file`, the dataset's."""

    label: str
    value: str
    counts: Counts
    candidate: str = ""


class AnswerTotals(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The total cost and time of a run's answers, and for how many of `answers` they are known."""

    answers: int = 0
    usd: float = 0.0
    priced: int = 0
    tokens: int = 0
    counted: int = 0
    seconds: float = 0.0
    timed: int = 0


class Summary(Struct, frozen=True, kw_only=True):
    """One Run in numbers. `criteria` counts the parts of `criteria` and `weighted_criteria`, `rules` those of `rubric`,
    `components` the rules by scope (`general` where a rule has none); None where no case had any. `faults` counts the
    simulated conversations that did not pass by who is responsible, `flags` the flags of results by kind. `slices`:
    the same by label, for the labels that have a few values; `labels` names all labels of the cases. `gates` is empty
    until a service decides them; `answers` is None until the run has ended."""

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
    answers: AnswerTotals | None = None
