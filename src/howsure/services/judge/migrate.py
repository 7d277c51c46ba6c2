"""`howsure judge migrate`: two judges on the same answers and the same labels. What shifts, which verdicts flip, and
whether the new judge may replace the old one."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from importlib import import_module
from pathlib import Path
from statistics import fmean

from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import PlanRefused
from howsure.model.calibration import Figure, JudgeMigration, JudgeShift, VerdictFlip
from howsure.model.run import Run
from howsure.model.run_request import RunRequest
from howsure.model.score import UNIT, Score
from howsure.services.judge.agreement import (
    case_rate,
    group_by_level,
    label_coverage,
    mean_figure,
)
from howsure.services.judge.calibrate import label_pin, read_labelled_grades
from howsure.services.judge.judge_records import run_judge_pin
from howsure.services.judge.judge_tests import verdict_word
from howsure.services.judge.labels import GradeWithLabels, LabelFile, LabelOutcome, read_labels
from howsure.services.run.judges import NONE
from howsure.services.run.start import ProgressFactory, start
from howsure.services.workspace import Workspace

MARGIN = 0.05
"""How much less the new judge may agree with people."""
FEWEST_CASES = 5


class MigrationSide(Enum):
    """One of the two judges."""

    OLD = "old"
    NEW = "new"


class MigrationRequest(Struct, frozen=True, kw_only=True):
    """The old and the new judge, and the labels to compare them by; the judge of the options is not used. The new judge
    may agree with people less often by up to `margin`."""

    old: str
    new: str
    labels: Path
    options: RunRequest
    margin: float = MARGIN

    def spec(self, which: MigrationSide) -> str:
        return self.old if which is MigrationSide.OLD else self.new


class GradePair(Struct, frozen=True):
    """One labelled grade by both judges."""

    old: GradeWithLabels
    new: GradeWithLabels


async def run_judge(work: Workspace, swap: MigrationRequest, which: MigrationSide, watch: ProgressFactory) -> Run:
    """Make the run of one of the two judges, with the graders that the labels name."""
    if not 0 < swap.margin < 1:
        raise PlanRefused(f"--margin is a share of the labels, such as 0.05, not {swap.margin:g}")
    for each in MigrationSide:
        if swap.spec(each) in ("", NONE):
            raise PlanRefused(f"{each.name} must be a judge: offline, recorded:FILE or provider:model")
    labels = read_labels(swap.labels, work.kit)
    name = f"migration, {which.value} judge"
    options = replace(swap.options, graders=labels.graders, judge=swap.spec(which), name=name)
    return (await start(work, options, watch)).run


async def migrate(work: Workspace, swap: MigrationRequest, old: Run, new: Run) -> JudgeMigration:
    """Compare the two runs, and say whether the new judge may replace the old one."""
    labels = read_labels(swap.labels, work.kit)
    async with await work.store(read_only=True) as store:
        before = await read_labelled_grades(store, old.id, labels)
        after = await read_labelled_grades(store, new.id, labels)
    # Found by the line of their first label: a criterion without a grade has another name in each run.
    by_line = {label.line: thing for thing in after for label in thing.labels}
    pairs = [GradePair(thing, by_line[thing.labels[0].line]) for thing in before]
    return compare_judges((old, new), labels, pairs, swap.margin)


def compare_judges(
    runs: tuple[Run, Run], labels: LabelFile, pairs: Sequence[GradePair], margin: float = MARGIN
) -> JudgeMigration:
    known = comparable_pairs(pairs)
    old, new = mean_credit([both.old for both in known]), mean_credit([both.new for both in known])
    gain = mean_gain(known)
    may = may_replace(gain, margin)
    return JudgeMigration(
        old=run_judge_pin(runs[0].pins),
        new=run_judge_pin(runs[1].pins),
        old_run=runs[0].id,
        new_run=runs[1].id,
        labels=label_pin(labels),
        old_agreement=old,
        new_agreement=new,
        gain=gain,
        may_replace=may,
        sentence=replacement_sentence(may, gain, (old, new), margin),
        margin=margin,
        old_coverage=label_coverage([both.old for both in pairs]),
        new_coverage=label_coverage([both.new for both in pairs]),
        shifts=tuple(judge_shifts(pairs)),
    )


def comparable_pairs(pairs: Sequence[GradePair]) -> list[GradePair]:
    """The pairs on which both judges can be compared: people's labels are clear, and at least one judge was asked."""
    return [
        both
        for both in pairs
        if credit(both.old) is not None
        and credit(both.new) is not None
        and not both.old.outcome is both.new.outcome is LabelOutcome.MISSING
    ]


def credit(thing: GradeWithLabels) -> float | None:
    """How far a judge agrees with people on one grade: 1 or 0 for verdicts, closeness on the scale for numbers, 0 where
    it gave no value. None: the labels do not say what would be right."""
    if thing.by_verdict and thing.people_passed is None:
        return None
    if thing.outcome is LabelOutcome.UNMARKED:
        return None
    if thing.outcome is not LabelOutcome.COMPARED or not isinstance(thing.grade, Score):
        return 0.0
    if thing.by_verdict:
        return float(thing.passed == thing.people_passed)
    distance, scale = abs(thing.grade.value - thing.people_value), thing.grade.scale
    return float(distance == 0) if scale.high is None else 1 - distance / (scale.high - scale.low)


def may_replace(gain: Figure, margin: float = MARGIN) -> bool | None:
    """The rule: the new judge is surely not worse than the old one by more than the margin. Seeing no difference proves
    nothing. None: the interval allows both, or there is none."""
    if gain.interval is None:
        return None
    return True if gain.interval[0] >= -margin else False if gain.interval[1] < -margin else None


def replacement_sentence(
    may: bool | None, gain: Figure, agreements: tuple[Figure, Figure], margin: float = MARGIN
) -> str:
    limit = f"{100 * margin:g} points"
    if gain.interval is None or gain.value is None:
        few = "too few labelled cases"
        return f"It cannot be told whether the new judge may replace the old one (at most {limit} worse): {few}."
    old, new = (f"{100 * (each.value or 0.0):.1f} %" for each in agreements)
    low, high = (f"{100 * bound:+.1f}" for bound in gain.interval)
    text = f"it agrees with people in {new}, the old one in {old} ({100 * gain.value:+.1f} points, {low} to {high})"
    if may is None:
        open_text = f"It cannot be told yet whether the new judge is at most {limit} worse than the old one"
        return f"{open_text}, so it may not replace it: {text}. More labels would tell."
    if not may:
        return f"The new judge may not replace the old one, it is more than {limit} worse: {text}."
    return f"The new judge may replace the old one, it is at most {limit} worse: {text}."


def judge_shifts(pairs: Sequence[GradePair]) -> list[JudgeShift]:
    """For each grader: its whole-case grades, all its criteria, and each criterion."""
    groups = group_by_level(pairs, lambda both: both.old)
    return [_shift(some, level, criterion) for level, criterion, some in groups]


def _shift(pairs: Sequence[GradePair], level: str, criterion: str) -> JudgeShift:
    scored = [both for both in pairs if both.old.value is not None and both.new.value is not None]
    differences = [(both.new.value or 0.0) - (both.old.value or 0.0) for both in scored]
    ends = next((both.old.grade.scale.ends for both in scored if both.old.grade is not None), None)
    cases = [both.old.case_id for both in scored]
    flipped = [verdict_word(both.old.grade) != verdict_word(both.new.grade) for both in scored]
    part = next((both.old.grade.part for both in pairs if both.old.grade and both.old.grade.part), None)
    known = comparable_pairs(pairs)
    return JudgeShift(
        grader=pairs[0].old.grader,
        level=level,
        criterion=criterion,
        text=part.text if part and criterion else "",
        difference=mean_figure(differences, cases, ends and (ends[0] - ends[1], ends[1] - ends[0])),
        same_verdict=case_rate([not each for each in flipped], cases),
        only_old=sum(both.old.value is not None and both.new.value is None for both in pairs),
        only_new=sum(both.old.value is None and both.new.value is not None for both in pairs),
        neither=sum(both.old.value is None and both.new.value is None for both in pairs),
        old_agreement=mean_credit([both.old for both in known]),
        new_agreement=mean_credit([both.new for both in known]),
        flips=tuple(
            VerdictFlip(
                case_id=both.old.case_id,
                grader=both.old.grader,
                criterion=both.old.criterion,
                candidate=both.old.candidate,
                repeat=both.old.repeat,
                before=verdict_word(both.old.grade),
                after=verdict_word(both.new.grade),
            )
            for both, turned in zip(scored, flipped, strict=True)
            if turned
        ),
    )


def mean_credit(things: Sequence[GradeWithLabels]) -> Figure:
    """The mean credit; a rate with Wilson's interval where all credits are 0 or 1."""
    known = [(value, thing.case_id) for thing in things if (value := credit(thing)) is not None]
    credits, cases = [value for value, _ in known], [case for _, case in known]
    if all(value in (0.0, 1.0) for value in credits):
        return case_rate([value == 1 for value in credits], cases)
    return mean_figure(credits, cases, UNIT.ends)


def mean_gain(known: Sequence[GradePair]) -> Figure:
    """The mean difference of the credits, over whole cases: Tango's interval for single verdicts, else that of the sign
    flips. No interval below five cases."""
    before, after = [credit(both.old) or 0.0 for both in known], [credit(both.new) or 0.0 for both in known]
    cases = [both.old.case_id for both in known]
    if len(set(cases)) < FEWEST_CASES:
        return Figure(value=fmean(after) - fmean(before) if known else None, n=len(known))
    # Imported by name: only those who compare judges wait for numpy.
    found = import_module("howsure.stats.paired_differences").paired_rates(before, after, cases)
    return Figure(value=found.difference, interval=found.interval, n=len(known))
