"""`howsure judge correct`: the pass rates of a run, corrected by people's labels from a calibration of its judge. The
interval covers both samples: the answers of the run, and the labels of the calibration."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import PlanRefused
from howsure.model.calibration import Calibration, PeopleVerdict
from howsure.services.judge.judge_records import CALIBRATIONS, is_same_judge, run_judge_pin
from howsure.services.judge.people_verdicts import JudgeVerdicts, read_run_verdicts
from howsure.services.workspace import Workspace
from howsure.stats.rate_correction import (
    FEWEST_LABELS,
    Correction,
    JudgedAnswers,
    RateCorrection,
    correct_rate,
    corrected_rate,
    label_table,
)

DRAWING = (
    "it is unknown how the labels were drawn, and labels of chosen cases say nothing about the others: draw them with "
    '`howsure label next RUN`, or give each line "drawn": 1 if every answer was as likely as any other to be labelled'
)


class CorrectedRate(Struct, frozen=True, kw_only=True):
    """One grader or criterion of one candidate. `rate` None: it could not be corrected, for `reason`."""

    grader: str
    candidate: str = ""
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
    """Correct the rates of a run by the newest calibration of its judge, candidate by candidate."""
    async with await work.store(read_only=True) as store:
        run = await store.find_run(name)
        pin = run_judge_pin(run.pins)
        known = [each for each in CALIBRATIONS.read_all(work) if each.groups and is_same_judge(each.judge, pin)]
        if not known:
            raise PlanRefused(
                f"there is no calibration of the judge {pin.spec or 'none'!r} as run {run.name!r} asked it:"
                f" label some of its cases, then `howsure judge calibrate LABELS --run {run.id[:8]}`"
            )
        newest = known[-1]
        if not newest.verdicts and any(group.verdicts for group in newest.groups):
            raise PlanRefused(
                "the newest calibration of this judge is of an older version of Howsure and does not say how its "
                f"labels were drawn: `howsure judge calibrate LABELS --run {run.id[:8]}` makes a new one"
            )
        # Labels of other cases show how the judge errs, not how good these cases are: only error rates carry over.
        same = newest.run == run.id
        used = method if same else Correction.SENSITIVITY_SPECIFICITY
        correct = partial(_corrected, method=method) if same else _by_errors
        verdicts = await read_run_verdicts(store, run, {each.criterion for each in newest.verdicts if each.criterion})
    return CorrectedRun(
        run=run.id,
        judge=pin.spec,
        calibrated=newest.at.isoformat(),
        method=used,
        same_run=same,
        rates=tuple(
            correct(CorrectedRate(grader=grader, criterion=criterion, candidate=candidate, text=text), own, judged)
            for (grader, criterion), (text, own) in _groups(newest).items()
            for candidate in verdicts.candidates()
            if (judged := verdicts.by_grade.get((grader, criterion, candidate)))
        ),
    )


def _groups(calibration: Calibration) -> dict[tuple[str, str], tuple[str, list[PeopleVerdict]]]:
    """The labelled verdicts by grader and criterion, with the text of the criterion."""
    texts = {(group.grader, group.criterion): group.text for group in calibration.groups}
    found: dict[tuple[str, str], tuple[str, list[PeopleVerdict]]] = {}
    for each in calibration.verdicts:
        key = each.grader, each.criterion
        found.setdefault(key, (texts.get(key, ""), []))[1].append(each)
    return found


def judged_answers(
    verdicts: JudgeVerdicts, people: Sequence[PeopleVerdict], numbers: dict[str, int]
) -> tuple[JudgedAnswers, str]:
    """The columns of one candidate, and why they cannot be corrected ("": they can). `numbers` numbers the cases; new
    ones are added."""
    labels = {(each.case_id, each.repeat): each for each in people if (each.case_id, each.repeat) in verdicts}
    said = [labels.get(key) for key in verdicts]
    answers = JudgedAnswers(
        judge=np.array(list(verdicts.values()), dtype=np.float64),
        people=np.array([np.nan if each is None else float(each.passed) for each in said]),
        drawn=np.array([(each.drawn if each is not None else None) or 1.0 for each in said]),
        cases=np.array([numbers.setdefault(case, len(numbers)) for case, _ in verdicts], dtype=np.int64),
    )
    if len(labels) < FEWEST_LABELS:
        more = f"`howsure label next RUN --number {FEWEST_LABELS - len(labels)}` draws more"
        return answers, f"{len(labels)} labels are too few to correct anything: {FEWEST_LABELS} are needed; {more}"
    return answers, DRAWING if any(each.drawn is None for each in labels.values()) else ""


def _corrected(
    rate: CorrectedRate, people: list[PeopleVerdict], judged: JudgeVerdicts, method: Correction
) -> CorrectedRate:
    """By labels of this run's own answers."""
    own = [each for each in people if each.candidate == rate.candidate]
    answers, reason = judged_answers(judged, own, {})
    if reason:
        return replace(rate, reason=reason)
    if method is Correction.SENSITIVITY_SPECIFICITY:
        return _by_errors(rate, own, judged)
    return replace(rate, rate=correct_rate(answers))


def _by_errors(rate: CorrectedRate, people: list[PeopleVerdict], judged: JudgeVerdicts) -> CorrectedRate:
    """By the judge's error rates on the labelled answers. An answer counts once for all tries of its case."""
    if any(each.drawn is None for each in people):
        return replace(rate, reason=DRAWING)
    if len(people) < FEWEST_LABELS:
        return replace(rate, reason=f"{len(people)} labels are too few: {FEWEST_LABELS} are needed")
    numbers: dict[str, int] = {}
    table = label_table(
        JudgedAnswers(
            judge=np.array([float(each.judge) for each in people]),
            people=np.array([float(each.passed) for each in people]),
            drawn=np.array([each.drawn or 1.0 for each in people]),
            cases=np.array([numbers.setdefault(each.case_id, len(numbers)) for each in people], dtype=np.int64),
        )
    )
    cases = len({case for case, _ in judged})
    passed = cases * sum(judged.values()) / len(judged)
    found = corrected_rate(table, passed, cases, Correction.SENSITIVITY_SPECIFICITY)
    if found is None:
        return replace(rate, reason="the judge is no better than a coin on the labels, or errs otherwise here")
    return replace(rate, rate=replace(found, labels=len(people), judged=len(judged)))
