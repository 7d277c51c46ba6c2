"""From labelled things to figures: agreement, kappa, precision and recall of verdicts; correlation and distance of
numbers; agreement of people among themselves. Intervals are Wilson's for rates, and drawn from whole cases (bootstrap,
with a fixed seed) for everything else: answers to one case are no independent observations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from random import Random
from statistics import fmean

from msgspec import Struct

from howsure.model.score import Scale, Score
from howsure.model.trust import (
    ClassFigures,
    Coverage,
    Figure,
    Group,
    RaterFigures,
    RatingFigures,
    VerdictFigures,
)
from howsure.services.trust.pairing import Outcome, Thing
from howsure.stats.agreement import Weights, cohen_kappa, fleiss_counts, fleiss_kappa
from howsure.stats.bootstrap import bootstrap_interval
from howsure.stats.correlation import kendall, mean_absolute_error, pearson, spearman
from howsure.stats.intervals import rate_interval
from howsure.stats.krippendorff import Level, krippendorff_alpha

SEED = 20_240_229
FEWEST = 5
"""Cases below which drawing cases again says nothing about the spread."""
MANY = 400
PASS, FAIL, SILENT = "pass", "fail", "none"
WHOLE, ALL_PARTS, ONE_PART = "case", "criteria", "criterion"
STEPS = 10
"""A closed scale of whole numbers with at most so many steps has a weighted kappa."""


class Plain(Struct, frozen=True):
    """A labelled thing, its consensus worked out: drawing thousands of times must not work it out again."""

    case_id: str
    passed: bool | None
    people_passed: bool | None
    value: float
    people_value: float
    people_category: float
    said: tuple[Hashable, ...]
    judge_said: Hashable | None


Statistic = Callable[[Sequence[Plain]], float | None]


def _plain(thing: Thing) -> Plain:
    return Plain(
        thing.case_id,
        thing.passed,
        thing.people_passed,
        thing.value or 0.0,
        thing.people_value,
        thing.people_category,
        tuple(_category(label.value) for label in thing.labels),
        _verdict(thing),
    )


def rate(held: int, n: int) -> Figure:
    """A share with Wilson's interval."""
    return Figure(value=held / n if n else None, interval=rate_interval(held, n) if n else None, n=n)


def drawn(things: Sequence[Thing], statistic: Statistic) -> Figure:
    """A statistic with the interval that drawing whole cases again gives."""
    plain = list(map(_plain, things))
    value = statistic(plain)
    cases = len({thing.case_id for thing in plain})
    interval = None
    if value is not None and cases >= FEWEST:
        draws = 1000 if len(plain) <= MANY else 400
        interval = bootstrap_interval(plain, statistic, Random(SEED), draws=draws, cluster=lambda each: each.case_id)
    return Figure(value=value, interval=interval, n=len(plain))


def groups(things: Sequence[Thing]) -> list[Group]:
    """Every grader: its whole-case grades, all its criteria together, each criterion; then the slices of each."""
    made: list[Group] = []
    for grader in dict.fromkeys(thing.grader for thing in things):
        own = [thing for thing in things if thing.grader == grader]
        whole = [thing for thing in own if not thing.criterion]
        parts = [thing for thing in own if thing.criterion]
        for level, some in ((WHOLE, whole), (ALL_PARTS, parts)):
            if some:
                made.append(group(some, level))
                slices = _together(some, lambda thing: thing.where)
                made += [group(slice, level, where=where) for where, slice in slices.items() if where]
        criteria = _together(parts, lambda thing: thing.criterion)
        made += [group(own_ones, ONE_PART, criterion=id) for id, own_ones in criteria.items()]
    return made


def _together(things: Sequence[Thing], key: Callable[[Thing], str]) -> dict[str, list[Thing]]:
    found: dict[str, list[Thing]] = {}
    for thing in things:
        found.setdefault(key(thing), []).append(thing)
    return found


def group(things: Sequence[Thing], level: str, *, criterion: str = "", where: str = "") -> Group:
    part = next((thing.grade.part for thing in things if thing.grade and thing.grade.part), None)
    return Group(
        grader=things[0].grader,
        level=level,
        criterion=criterion,
        text=part.text if part and criterion else "",
        where=where,
        coverage=coverage(things),
        verdicts=verdict_figures(things),
        ratings=rating_figures(things),
        raters=rater_figures(things),
    )


def coverage(things: Sequence[Thing]) -> Coverage:
    became = Counter(thing.outcome for thing in things)
    counted = {outcome.value: became[outcome] for outcome in Outcome}
    return Coverage(labels=sum(len(thing.labels) for thing in things), things=len(things), **counted)


def verdict_figures(things: Sequence[Thing]) -> VerdictFigures | None:
    """None where nobody's verdict can be told: numbers without a pass mark."""
    known = [thing for thing in things if thing.people_passed is not None and thing.passed is not None]
    silent = [thing for thing in things if thing.outcome is Outcome.UNREADABLE and _said(thing) is not None]
    if not known and not silent:
        return None
    agreed = sum(thing.passed == thing.people_passed for thing in known)
    return VerdictFigures(
        agreement=rate(agreed, len(known)),
        with_silence=rate(agreed, len(known) + len(silent)),
        kappa=drawn(known, _kappa),
        classes={PASS: _class(known, True), FAIL: _class(known, False)},
        confusion=_confusion(known, silent),
    )


def _said(thing: Thing) -> bool | None:
    """People's verdict on what the judge could not say; numbers are a verdict only beside the grade's own mark."""
    if thing.by_verdict:
        return thing.people_passed
    if thing.grade is None or thing.grade.pass_mark is None:
        return None
    part = thing.grade.part
    if part is not None and (part.weight or 0) < 0:  # meeting it is bad
        return thing.people_value <= thing.grade.pass_mark
    return thing.people_value >= thing.grade.pass_mark


def _kappa(things: Sequence[Plain]) -> float | None:
    return cohen_kappa([thing.people_passed for thing in things], [thing.passed for thing in things])


def _class(known: Sequence[Thing], wanted: bool) -> ClassFigures:
    said = sum(thing.passed is wanted for thing in known)
    true = sum(thing.people_passed is wanted for thing in known)
    right = sum(thing.passed is wanted and thing.people_passed is wanted for thing in known)

    def f1(things: Sequence[Plain]) -> float | None:
        hits = sum(thing.passed is wanted and thing.people_passed is wanted for thing in things)
        total = sum((thing.passed is wanted) + (thing.people_passed is wanted) for thing in things)
        return 2 * hits / total if total else None

    return ClassFigures(precision=rate(right, said), recall=rate(right, true), f1=drawn(known, f1))


def _confusion(known: Sequence[Thing], silent: Sequence[Thing]) -> dict[str, dict[str, int]]:
    met = Counter((thing.people_passed, thing.passed) for thing in known)
    quiet = Counter(_said(thing) for thing in silent)
    return {
        word: {PASS: met[true, True], FAIL: met[true, False], SILENT: quiet[true]}
        for word, true in ((PASS, True), (FAIL, False))
    }


def rating_figures(things: Sequence[Thing]) -> RatingFigures | None:
    """None where people gave verdicts, not numbers."""
    known = [thing for thing in things if thing.outcome is Outcome.COMPARED and not thing.by_verdict]
    if not known:
        return None
    same = sum(thing.value == thing.people_category for thing in known)
    return RatingFigures(
        exact=rate(same, len(known)),
        kappa=drawn(known, _categories(Weights.NONE, None)),
        weighted_kappa=_weighted(known),
        pearson=drawn(known, lambda some: pearson(_people(some), _judged(some))),
        spearman=drawn(known, lambda some: spearman(_people(some), _judged(some))),
        kendall=drawn(known, lambda some: kendall(_people(some), _judged(some))),
        mae=drawn(known, lambda some: mean_absolute_error(_people(some), _judged(some))),
        bias=drawn(known, lambda some: fmean(_judged(some)) - fmean(_people(some))),
    )


def _people(things: Sequence[Plain]) -> list[float]:
    return [thing.people_value for thing in things]


def _judged(things: Sequence[Plain]) -> list[float]:
    return [thing.value for thing in things]


def _categories(weights: Weights, categories: Sequence[float] | None) -> Statistic:
    def kappa(things: Sequence[Plain]) -> float | None:
        people = [thing.people_category for thing in things]
        return cohen_kappa(people, _judged(things), weights, categories)

    return kappa


def _weighted(known: Sequence[Thing]) -> Figure:
    scale = known[0].grade.scale if isinstance(known[0].grade, Score) else Scale(0, None)
    values = [float(number) for thing in known for number in (thing.value or 0.0, thing.people_category)]
    if scale.high is None or not 1 < scale.high - scale.low <= STEPS or not all(map(float.is_integer, values)):
        return Figure(n=len(known))
    steps = [float(step) for step in range(int(scale.low), int(scale.high) + 1)]
    return drawn(known, _categories(Weights.QUADRATIC, steps))


def rater_figures(things: Sequence[Thing]) -> RaterFigures | None:
    """None where no thing has the labels of two people."""
    several = [thing for thing in things if len(thing.labels) > 1]
    if not several:
        return None
    levels = [Level.NOMINAL] if things[0].by_verdict else list(Level)
    usual = Counter(len(thing.labels) for thing in several).most_common(1)[0][0]
    alike = [thing for thing in several if len(thing.labels) == usual]
    judged = [thing for thing in alike if _verdict(thing) is not None]
    return RaterFigures(
        annotators=tuple(dict.fromkeys(label.annotator for thing in several for label in thing.labels)),
        things=len(several),
        fleiss=drawn(alike, lambda some: fleiss_kappa(fleiss_counts([thing.said for thing in some]))),
        fleiss_with_judge=drawn(judged, _fleiss_with_judge),
        alpha={level.value: drawn(several, _alpha(level, judge=False)) for level in levels},
        alpha_with_judge={level.value: drawn(several, _alpha(level, judge=True)) for level in levels},
    )


def _fleiss_with_judge(things: Sequence[Plain]) -> float | None:
    return fleiss_kappa(fleiss_counts([(*thing.said, thing.judge_said) for thing in things]))


def _alpha(level: Level, *, judge: bool) -> Statistic:
    def alpha(things: Sequence[Plain]) -> float | None:
        units: list[list[Hashable | None]] = [[*thing.said, *([thing.judge_said] if judge else [])] for thing in things]
        return krippendorff_alpha(units, level)

    return alpha


def _verdict(thing: Thing) -> Hashable | None:
    """What the judge said, in the kind of words that people used."""
    if thing.by_verdict:
        return None if thing.passed is None else _category(thing.passed)
    return thing.value


def _category(value: bool | float) -> Hashable:
    return (PASS if value else FAIL) if isinstance(value, bool) else float(value)
