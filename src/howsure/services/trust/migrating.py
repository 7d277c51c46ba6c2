"""`howsure judge migrate`: two judges on the same answers and the same labels. What shifts, which verdicts flip, and
whether the new one may take the old one's place."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from random import Random
from statistics import fmean

from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import PlanRefused
from howsure.model.run import Run
from howsure.model.score import Score
from howsure.model.trust import Figure, Flip, Migration, Shift
from howsure.services.judging import NONE
from howsure.services.options import RunOptions
from howsure.services.runs import Watching, start
from howsure.services.trust.bench import word
from howsure.services.trust.calibrating import label_pin, labelled
from howsure.services.trust.calibrations import pin_of_run
from howsure.services.trust.figures import ALL_PARTS, FEWEST, ONE_PART, SEED, WHOLE, coverage, rate
from howsure.services.trust.labels import Labels, read_labels
from howsure.services.trust.pairing import Outcome, Thing
from howsure.services.workspace import Workspace
from howsure.stats.bootstrap import bootstrap_interval
from howsure.stats.intervals import mean_interval


class Which(Enum):
    """One of the two judges."""

    OLD = "old"
    NEW = "new"


class Swap(Struct, frozen=True, kw_only=True):
    """Which judge is to be replaced by which, judged by whose labels; the judge of the options is not used."""

    old: str
    new: str
    labels: Path
    options: RunOptions

    def spec(self, which: Which) -> str:
        return self.old if which is Which.OLD else self.new


class Both(Struct, frozen=True):
    """One labelled grade, by both judges."""

    old: Thing
    new: Thing

    @property
    def case_id(self) -> str:
        return self.old.case_id


async def judged_by(work: Workspace, swap: Swap, which: Which, watch: Watching) -> Run:
    """The run of one of the two judges, with the graders that the labels name."""
    for each in Which:
        if swap.spec(each) in ("", NONE):
            raise PlanRefused(f"{each.name} must be a judge: offline, recorded:FILE or provider:model")
    labels = read_labels(swap.labels, work.kit)
    options = replace(
        swap.options, graders=labels.graders, judge=swap.spec(which), name=f"migration, {which.value} judge"
    )
    return (await start(work, options, watch)).run


async def migrate(work: Workspace, swap: Swap, old: Run, new: Run) -> Migration:
    """Compare the two runs, and say whether the new judge may replace the old one."""
    labels = read_labels(swap.labels, work.kit)
    async with await work.store(read_only=True) as store:
        before = await labelled(store, old.id, labels)
        after = await labelled(store, new.id, labels)
    return compared((old, new), labels, [Both(*pair) for pair in zip(before, _in_order(before, after), strict=True)])


def _in_order(before: Sequence[Thing], after: Sequence[Thing]) -> list[Thing]:
    """The same things of the other run: a criterion without a grade in one of them has the label's name there."""
    lines = {label.line: thing for thing in after for label in thing.labels}
    return [lines[thing.labels[0].line] for thing in before]


def compared(runs: tuple[Run, Run], labels: Labels, pairs: Sequence[Both]) -> Migration:
    known = comparable(pairs)
    old, new = agreement_of([both.old for both in known]), agreement_of([both.new for both in known])
    gain = gain_of(known)
    may = allowed(gain)
    return Migration(
        old=pin_of_run(runs[0].pins),
        new=pin_of_run(runs[1].pins),
        old_run=runs[0].id,
        new_run=runs[1].id,
        labels=label_pin(labels),
        old_agreement=old,
        new_agreement=new,
        gain=gain,
        may_replace=may,
        sentence=sentence(may, gain, (old, new)),
        old_coverage=coverage([both.old for both in pairs]),
        new_coverage=coverage([both.new for both in pairs]),
        shifts=tuple(shifts(pairs)),
    )


def comparable(pairs: Sequence[Both]) -> list[Both]:
    """What both can be held to: people's word is clear, and at least one of the judges was asked."""
    return [
        both
        for both in pairs
        if credit(both.old) is not None
        and credit(both.new) is not None
        and not both.old.outcome is both.new.outcome is Outcome.MISSING
    ]


def credit(thing: Thing) -> float | None:
    """How far a judge agrees with people on one thing: 1 or 0 for verdicts, nearness on the scale for numbers, 0 where
    it could not say. None: people's labels do not tell what would be right."""
    if thing.by_verdict and thing.people_passed is None:
        return None
    if thing.outcome is Outcome.UNMARKED:
        return None
    if thing.outcome is not Outcome.COMPARED or not isinstance(thing.grade, Score):
        return 0.0
    if thing.by_verdict:
        return float(thing.passed == thing.people_passed)
    distance, scale = abs(thing.grade.value - thing.people_value), thing.grade.scale
    return float(distance == 0) if scale.high is None else 1 - distance / (scale.high - scale.low)


def allowed(gain: Figure) -> bool | None:
    """The rule: not worse beyond the interval. None: there is no interval, for the labels are too few."""
    return None if gain.interval is None else gain.interval[1] >= 0


def sentence(may: bool | None, gain: Figure, agreements: tuple[Figure, Figure]) -> str:
    if may is None or gain.interval is None or gain.value is None:
        return f"It cannot be told whether the new judge may replace the old one: {FEWEST} labelled cases are needed."
    old, new = (f"{100 * (each.value or 0.0):.1f} %" for each in agreements)
    low, high = (f"{100 * bound:+.1f}" for bound in gain.interval)
    said = f"it agrees with people in {new}, the old one in {old} ({100 * gain.value:+.1f} points, {low} to {high})"
    if not may:
        return f"The new judge may not replace the old one: {said}."
    worse = f" It may still be up to {-100 * gain.interval[0]:.1f} points worse." if gain.interval[0] < 0 else ""
    return f"The new judge may replace the old one: {said}.{worse}"


def shifts(pairs: Sequence[Both]) -> list[Shift]:
    """Each grader: its whole-case grades, all its criteria, each criterion."""
    made: list[Shift] = []
    for grader in dict.fromkeys(both.old.grader for both in pairs):
        own = [both for both in pairs if both.old.grader == grader]
        whole = [both for both in own if not both.old.criterion]
        parts = [both for both in own if both.old.criterion]
        made += [_shift(some, level) for level, some in ((WHOLE, whole), (ALL_PARTS, parts)) if some]
        for id in dict.fromkeys(both.old.criterion for both in parts):
            made.append(_shift([both for both in parts if both.old.criterion == id], ONE_PART, id))
    return made


def _shift(pairs: Sequence[Both], level: str, criterion: str = "") -> Shift:
    scored = [both for both in pairs if both.old.value is not None and both.new.value is not None]
    differences = [(both.new.value or 0.0) - (both.old.value or 0.0) for both in scored]
    flipped = [both for both in scored if word(both.old.grade) != word(both.new.grade)]
    part = next((both.old.grade.part for both in pairs if both.old.grade and both.old.grade.part), None)
    known = comparable(pairs)
    return Shift(
        grader=pairs[0].old.grader,
        level=level,
        criterion=criterion,
        text=part.text if part and criterion else "",
        difference=Figure(
            value=fmean(differences) if differences else None,
            interval=mean_interval(differences),
            n=len(differences),
        ),
        same_verdict=rate(len(scored) - len(flipped), len(scored)),
        only_old=sum(both.old.value is not None and both.new.value is None for both in pairs),
        only_new=sum(both.old.value is None and both.new.value is not None for both in pairs),
        neither=sum(both.old.value is None and both.new.value is None for both in pairs),
        old_agreement=agreement_of([both.old for both in known]),
        new_agreement=agreement_of([both.new for both in known]),
        flips=tuple(map(_flip, flipped)),
    )


def _flip(both: Both) -> Flip:
    return Flip(
        case_id=both.case_id,
        grader=both.old.grader,
        criterion=both.old.criterion,
        candidate=both.old.candidate,
        repeat=both.old.repeat,
        before=word(both.old.grade),
        after=word(both.new.grade),
    )


def agreement_of(things: Sequence[Thing]) -> Figure:
    """The mean credit; a rate with Wilson's interval where all of them are 0 or 1."""
    credits = [given for thing in things if (given := credit(thing)) is not None]
    if all(given in (0.0, 1.0) for given in credits):
        return rate(int(sum(credits)), len(credits))
    return Figure(value=fmean(credits), interval=mean_interval(credits), n=len(credits))


def gain_of(known: Sequence[Both]) -> Figure:
    """The mean difference of the credits, with the interval that drawing whole cases again gives."""

    def mean(some: Sequence[Both]) -> float | None:
        return fmean((credit(both.new) or 0.0) - (credit(both.old) or 0.0) for both in some) if some else None

    enough = len({both.case_id for both in known}) >= FEWEST
    interval = bootstrap_interval(known, mean, Random(SEED), cluster=lambda both: both.case_id) if enough else None
    return Figure(value=mean(known), interval=interval, n=len(known))
