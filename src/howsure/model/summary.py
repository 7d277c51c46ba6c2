"""A Summary: the counts of one Run, computed where the Results are stored, shown by every report."""

from __future__ import annotations

from msgspec import Struct, field

from howsure.model.gate import GateRuling
from howsure.model.run import Counts, Run
from howsure.model.score import Direction, Scale


class Tally(Struct, frozen=True, kw_only=True):
    """Checks of one kind. total = passed + failed + errored + skipped; skipped are not applicable or had no judge."""

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
    """What one grader gave one candidate, over its whole-case grades (not its parts).

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


class Summary(Struct, frozen=True, kw_only=True):
    """One Run in numbers. `criteria` counts the parts of `criteria` and `weighted_criteria`, `rules` those of `rubric`,
    `components` the rules by scope (`general` where a rule has none); None where no case had any. `faults` counts the
    simulated conversations that did not pass by who is answerable. `gates`: what came of each gate, where somebody
    decided them."""

    run: Run
    candidates: dict[str, Counts]
    graders: tuple[GraderSummary, ...]
    criteria: Tally | None = None
    rules: Tally | None = None
    components: dict[str, Tally] = field(default_factory=dict)
    faults: dict[str, int] = field(default_factory=dict)
    gates: tuple[GateRuling, ...] = ()
