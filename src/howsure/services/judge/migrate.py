"""`howsure judge migrate`: two judges on the same answers and the same labels. What shifts, which verdicts flip, and
whether the new judge may replace the old one."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from random import Random
from statistics import fmean

from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import PlanRefused
from howsure.model.calibration import Figure, JudgeMigration, JudgeShift, VerdictFlip
from howsure.model.run import Run
from howsure.model.run_request import RunRequest
from howsure.model.score import Score
from howsure.services.judge.agreement import ALL_PARTS, FEWEST, ONE_PART, SEED, WHOLE, label_coverage, rate_figure
from howsure.services.judge.calibrate import label_pin, read_labelled_grades
from howsure.services.judge.judge_records import run_judge_pin
from howsure.services.judge.judge_tests import verdict_word
from howsure.services.judge.labels import GradeWithLabels, LabelFile, LabelOutcome, read_labels
from howsure.services.run.judges import NONE
from howsure.services.run.start import ProgressFactory, start
from howsure.services.workspace import Workspace
from howsure.stats.intervals import bootstrap_interval, mean_interval


class MigrationSide(Enum):
    """One of the two judges."""

    OLD = "old"
    NEW = "new"


class MigrationRequest(Struct, frozen=True, kw_only=True):
    """Which judge is to replace which, and the labels to compare them by; the judge of the options is not used."""

    old: str
    new: str
    labels: Path
    options: RunRequest

    def spec(self, which: MigrationSide) -> str:
        return self.old if which is MigrationSide.OLD else self.new


class GradePair(Struct, frozen=True):
    """One labelled grade by both judges."""

    old: GradeWithLabels
    new: GradeWithLabels

    @property
    def case_id(self) -> str:
        return self.old.case_id


async def run_judge(work: Workspace, swap: MigrationRequest, which: MigrationSide, watch: ProgressFactory) -> Run:
    """Make the run of one of the two judges, with the graders that the labels name."""
    for each in MigrationSide:
        if swap.spec(each) in ("", NONE):
            raise PlanRefused(f"{each.name} must be a judge: offline, recorded:FILE or provider:model")
    labels = read_labels(swap.labels, work.kit)
    options = replace(
        swap.options, graders=labels.graders, judge=swap.spec(which), name=f"migration, {which.value} judge"
    )
    return (await start(work, options, watch)).run


async def migrate(work: Workspace, swap: MigrationRequest, old: Run, new: Run) -> JudgeMigration:
    """Compare the two runs, and say whether the new judge may replace the old one."""
    labels = read_labels(swap.labels, work.kit)
    async with await work.store(read_only=True) as store:
        before = await read_labelled_grades(store, old.id, labels)
        after = await read_labelled_grades(store, new.id, labels)
    # Found by the line of their first label: a criterion without a grade has another name in each run.
    by_line = {label.line: thing for thing in after for label in thing.labels}
    return compare_judges((old, new), labels, [GradePair(thing, by_line[thing.labels[0].line]) for thing in before])


def compare_judges(runs: tuple[Run, Run], labels: LabelFile, pairs: Sequence[GradePair]) -> JudgeMigration:
    known = comparable_pairs(pairs)
    old, new = mean_credit([both.old for both in known]), mean_credit([both.new for both in known])
    gain = mean_gain(known)
    may = may_replace(gain)
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
        sentence=replacement_sentence(may, gain, (old, new)),
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


def may_replace(gain: Figure) -> bool | None:
    """The rule: the new judge is not worse beyond the interval. None: there is no interval, because there are too few
    labels."""
    return None if gain.interval is None else gain.interval[1] >= 0


def replacement_sentence(may: bool | None, gain: Figure, agreements: tuple[Figure, Figure]) -> str:
    if may is None or gain.interval is None or gain.value is None:
        return f"It cannot be told whether the new judge may replace the old one: {FEWEST} labelled cases are needed."
    old, new = (f"{100 * (each.value or 0.0):.1f} %" for each in agreements)
    low, high = (f"{100 * bound:+.1f}" for bound in gain.interval)
    text = f"it agrees with people in {new}, the old one in {old} ({100 * gain.value:+.1f} points, {low} to {high})"
    if not may:
        return f"The new judge may not replace the old one: {text}."
    worse = f" It may still be up to {-100 * gain.interval[0]:.1f} points worse." if gain.interval[0] < 0 else ""
    return f"The new judge may replace the old one: {text}.{worse}"


def judge_shifts(pairs: Sequence[GradePair]) -> list[JudgeShift]:
    """For each grader: its whole-case grades, all its criteria, and each criterion."""
    made: list[JudgeShift] = []
    for grader in dict.fromkeys(both.old.grader for both in pairs):
        own = [both for both in pairs if both.old.grader == grader]
        whole = [both for both in own if not both.old.criterion]
        parts = [both for both in own if both.old.criterion]
        made += [_shift(some, level) for level, some in ((WHOLE, whole), (ALL_PARTS, parts)) if some]
        for id in dict.fromkeys(both.old.criterion for both in parts):
            made.append(_shift([both for both in parts if both.old.criterion == id], ONE_PART, id))
    return made


def _shift(pairs: Sequence[GradePair], level: str, criterion: str = "") -> JudgeShift:
    scored = [both for both in pairs if both.old.value is not None and both.new.value is not None]
    differences = [(both.new.value or 0.0) - (both.old.value or 0.0) for both in scored]
    flipped = [both for both in scored if verdict_word(both.old.grade) != verdict_word(both.new.grade)]
    part = next((both.old.grade.part for both in pairs if both.old.grade and both.old.grade.part), None)
    known = comparable_pairs(pairs)
    return JudgeShift(
        grader=pairs[0].old.grader,
        level=level,
        criterion=criterion,
        text=part.text if part and criterion else "",
        difference=Figure(
            value=fmean(differences) if differences else None, interval=mean_interval(differences), n=len(differences)
        ),
        same_verdict=rate_figure(len(scored) - len(flipped), len(scored)),
        only_old=sum(both.old.value is not None and both.new.value is None for both in pairs),
        only_new=sum(both.old.value is None and both.new.value is not None for both in pairs),
        neither=sum(both.old.value is None and both.new.value is None for both in pairs),
        old_agreement=mean_credit([both.old for both in known]),
        new_agreement=mean_credit([both.new for both in known]),
        flips=tuple(
            VerdictFlip(
                case_id=both.case_id,
                grader=both.old.grader,
                criterion=both.old.criterion,
                candidate=both.old.candidate,
                repeat=both.old.repeat,
                before=verdict_word(both.old.grade),
                after=verdict_word(both.new.grade),
            )
            for both in flipped
        ),
    )


def mean_credit(things: Sequence[GradeWithLabels]) -> Figure:
    """The mean credit; a rate with Wilson's interval where all credits are 0 or 1."""
    credits = [value for thing in things if (value := credit(thing)) is not None]
    if all(value in (0.0, 1.0) for value in credits):
        return rate_figure(int(sum(credits)), len(credits))
    return Figure(value=fmean(credits), interval=mean_interval(credits), n=len(credits))


def mean_gain(known: Sequence[GradePair]) -> Figure:
    """The mean difference of the credits, with a bootstrap interval over whole cases."""

    def mean(some: Sequence[GradePair]) -> float | None:
        return fmean((credit(both.new) or 0.0) - (credit(both.old) or 0.0) for both in some) if some else None

    enough = len({both.case_id for both in known}) >= FEWEST
    interval = bootstrap_interval(known, mean, Random(SEED), cluster=lambda both: both.case_id) if enough else None
    return Figure(value=mean(known), interval=interval, n=len(known))
