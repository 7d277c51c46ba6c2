"""`howsure judge correct`: the pass rates of a run as people would have given them, from a calibration of its judge.
The interval covers both samples: the cases of the run, and the labels of the calibration."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator

from msgspec import Struct

from howsure.errors import PlanRefused
from howsure.model.calibration import AgreementGroup, Calibration
from howsure.services.judge.judge_records import read_calibrations, run_judge_pin
from howsure.services.workspace import Workspace
from howsure.stats.rate_correction import Correction, LabelTable, RateCorrection, corrected_rate
from howsure.store.store import Store

PASSED, FAILED = "passed", "failed"


class CorrectedRate(Struct, frozen=True, kw_only=True):
    """One grader or criterion. `rate` None: it could not be corrected, for `reason`."""

    grader: str
    criterion: str = ""
    text: str = ""
    rate: RateCorrection | None = None
    reason: str = ""


class CorrectedRun(Struct, frozen=True, kw_only=True):
    """The corrected rates of a run, by the newest calibration of its judge. `same_run`: the labels are of this run."""

    run: str
    judge: str
    calibrated: str
    method: Correction
    same_run: bool
    rates: tuple[CorrectedRate, ...]


async def correct_rates(work: Workspace, name: str, method: Correction) -> CorrectedRun:
    """Correct the rates of a run by the newest calibration of its judge."""
    async with await work.store(read_only=True) as store:
        run = await store.find_run(name)
        pin = run_judge_pin(run.pins)
        known = [
            each for each in read_calibrations(work) if (each.judge.spec, each.judge.sha256) == (pin.spec, pin.sha256)
        ]
        if not known:
            raise PlanRefused(
                f"there is no calibration of the judge {pin.spec or 'none'!r} as run {run.name!r} asked it:"
                f" label some of its cases, then `howsure judge calibrate LABELS --run {run.id[:8]}`"
            )
        newest = known[-1]
        # Labels of other cases show how the judge errs, not how good these cases are: only error rates carry over.
        same = newest.run == run.id
        used = method if same else Correction.SENSITIVITY_SPECIFICITY
        rates = [rate async for rate in _Rates(store, run.id, newest, used, same).all()]
    return CorrectedRun(
        run=run.id,
        judge=pin.spec,
        calibrated=newest.at.isoformat(),
        method=used,
        same_run=same,
        rates=tuple(rates),
    )


class _Rates:
    """The groups of a calibration, against the judge's grades of all cases of the run."""

    def __init__(self, store: Store, run: str, calibration: Calibration, method: Correction, same: bool) -> None:
        self._store = store
        self._run = run
        self._calibration = calibration
        self._method = method
        self._same = same

    async def all(self) -> AsyncIterator[CorrectedRate]:
        summary = await self._store.summary(self._run)
        wholes = {grader.name: (grader.passed, grader.passed + grader.failed) for grader in summary.graders}
        for group in self._groups():
            said = await self._part(group.criterion) if group.criterion else wholes.get(group.grader, (0, 0))
            yield self._corrected(group, *said)

    def _groups(self) -> Iterator[AgreementGroup]:
        """Whole cases and single criteria; all criteria together would count each case several times."""
        for group in self._calibration.groups:
            if group.level in ("case", "criterion") and not group.where and group.verdicts is not None:
                yield group

    async def _part(self, criterion: str) -> tuple[int, int]:
        ended = Counter(grade.outcome for grade in await self._store.part_grades(self._run, [criterion]))
        return ended[PASSED], ended[PASSED] + ended[FAILED]

    def _corrected(self, group: AgreementGroup, passed: int, judged: int) -> CorrectedRate:
        labels = _labels(group)
        if self._same:
            passed, judged = passed - labels.judge_passed, judged - labels.n
        if min(passed, judged, judged - passed) < 0:
            return _without(group, "the run has changed since it was calibrated")
        found = corrected_rate(labels, passed, judged, self._method)
        if found is None:
            few = f"{labels.n} labels for {judged} other cases are too few, or the judge errs otherwise here"
            return _without(group, few)
        return CorrectedRate(grader=group.grader, criterion=group.criterion, text=group.text, rate=found)


def _without(group: AgreementGroup, reason: str) -> CorrectedRate:
    return CorrectedRate(grader=group.grader, criterion=group.criterion, text=group.text, reason=reason)


def _labels(group: AgreementGroup) -> LabelTable:
    """The counts of a group's confusion table, which has people's verdict first."""
    assert group.verdicts is not None
    table = group.verdicts.confusion
    cells = {(people, judge): table.get(people, {}).get(judge, 0) for people in table for judge in ("pass", "fail")}
    return LabelTable(
        pass_pass=cells.get(("pass", "pass"), 0),
        pass_fail=cells.get(("pass", "fail"), 0),
        fail_pass=cells.get(("fail", "pass"), 0),
        fail_fail=cells.get(("fail", "fail"), 0),
    )
