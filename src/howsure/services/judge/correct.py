"""`howsure judge correct`: the pass rates of a run as people would have given them, from a calibration of its judge.
The interval covers both samples: the cases of the run, and the labels of the calibration."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import PlanRefused
from howsure.model.calibration import AgreementGroup
from howsure.services.judge.judge_records import CALIBRATIONS, run_judge_pin
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
            each
            for each in CALIBRATIONS.read_all(work)
            if (each.judge.spec, each.judge.sha256) == (pin.spec, pin.sha256)
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
        rates = [
            _correct(group, *await _judged_counts(store, run.id, group), used, same=same)
            for group in newest.groups
            # All criteria together would count each case several times.
            if group.level in ("case", "criterion") and not group.where and group.verdicts is not None
        ]
    return CorrectedRun(
        run=run.id, judge=pin.spec, calibrated=newest.at.isoformat(), method=used, same_run=same, rates=tuple(rates)
    )


async def _judged_counts(store: Store, run: str, group: AgreementGroup) -> tuple[int, int]:
    """How many cases of the run the judge passed, and how many it judged."""
    if group.criterion:
        outcomes = Counter(grade.outcome for grade in await store.part_grades(run, [group.criterion]))
        return outcomes[PASSED], outcomes[PASSED] + outcomes[FAILED]
    graders = {grader.name: grader for grader in (await store.summary(run)).graders}
    grader = graders.get(group.grader)
    return (grader.passed, grader.passed + grader.failed) if grader else (0, 0)


def _correct(group: AgreementGroup, passed: int, judged: int, method: Correction, *, same: bool) -> CorrectedRate:
    """The corrected rate of one grader or criterion. `same`: the labels are of this run."""
    assert group.verdicts is not None
    table = group.verdicts.confusion  # people's verdict first
    by_people = table.get("pass", {}), table.get("fail", {})
    counts = [row.get(verdict, 0) for row in by_people for verdict in ("pass", "fail")]
    labels = LabelTable(pass_pass=counts[0], pass_fail=counts[1], fail_pass=counts[2], fail_fail=counts[3])
    if same:
        passed, judged = passed - labels.judge_passed, judged - labels.n
    rate = CorrectedRate(grader=group.grader, criterion=group.criterion, text=group.text)
    if min(passed, judged, judged - passed) < 0:
        return replace(rate, reason="the run has changed since it was calibrated")
    found = corrected_rate(labels, passed, judged, method)
    if found is None:
        few = f"{labels.n} labels for {judged} other cases are too few, or the judge errs otherwise here"
        return replace(rate, reason=few)
    return replace(rate, rate=found)
