"""From labelled grades to figures: agreement, kappa, precision and recall of verdicts; correlation and distance of
numbers; agreement among people. Rates have Wilson's interval; everything else has a bootstrap interval over whole
cases, with a fixed seed, because answers to one case are not independent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from random import Random
from statistics import fmean

from msgspec import Struct

from howsure.model.calibration import (
    AgreementGroup,
    ClassFigures,
    Figure,
    LabelCoverage,
    RaterFigures,
    RatingFigures,
    VerdictFigures,
)
from howsure.model.score import Scale, Score
from howsure.services.judge.labels import GradeWithLabels, LabelOutcome
from howsure.stats.agreement import (
    KappaWeights,
    MeasurementLevel,
    cohen_kappa,
    fleiss_counts,
    fleiss_kappa,
    krippendorff_alpha,
)
from howsure.stats.correlation import kendall, mean_absolute_error, pearson, spearman
from howsure.stats.intervals import bootstrap_interval, rate_interval

SEED = 20_240_229
FEWEST = 5
"""With fewer cases a bootstrap says nothing about the spread."""
MANY = 400
PASS, FAIL, SILENT = "pass", "fail", "none"
WHOLE, ALL_PARTS, ONE_PART = "case", "criteria", "criterion"
STEPS = 10
"""A closed scale of whole numbers with at most this many steps has a weighted kappa."""


class LabelledValues(Struct, frozen=True):
    """A labelled grade with its consensus computed once: the bootstrap reads it thousands of times."""

    case_id: str
    passed: bool | None
    people_passed: bool | None
    value: float
    people_value: float
    people_category: float
    said: tuple[Hashable, ...]
    judge_said: Hashable | None


Statistic = Callable[[Sequence[LabelledValues]], float | None]


def _plain(thing: GradeWithLabels) -> LabelledValues:
    return LabelledValues(
        thing.case_id,
        thing.passed,
        thing.people_passed,
        thing.value or 0.0,
        thing.people_value,
        thing.people_category,
        tuple(_category(label.value) for label in thing.labels),
        _verdict(thing),
    )


def rate_figure(held: int, n: int) -> Figure:
    """A share with Wilson's interval."""
    return Figure(value=held / n if n else None, interval=rate_interval(held, n) if n else None, n=n)


def bootstrap_figure(things: Sequence[GradeWithLabels], statistic: Statistic) -> Figure:
    """A statistic with its bootstrap interval over whole cases."""
    plain = list(map(_plain, things))
    value = statistic(plain)
    cases = len({thing.case_id for thing in plain})
    interval = None
    if value is not None and cases >= FEWEST:
        draws = 1000 if len(plain) <= MANY else 400
        interval = bootstrap_interval(plain, statistic, Random(SEED), draws=draws, cluster=lambda each: each.case_id)
    return Figure(value=value, interval=interval, n=len(plain))


def agreement_groups(things: Sequence[GradeWithLabels]) -> list[AgreementGroup]:
    """For each grader: its whole-case grades, all its criteria together, each criterion; and the slices of each."""
    made: list[AgreementGroup] = []
    for grader in dict.fromkeys(thing.grader for thing in things):
        own = [thing for thing in things if thing.grader == grader]
        whole = [thing for thing in own if not thing.criterion]
        parts = [thing for thing in own if thing.criterion]
        for level, some in ((WHOLE, whole), (ALL_PARTS, parts)):
            if some:
                made.append(agreement_group(some, level))
                slices = _together(some, lambda thing: thing.where)
                made += [agreement_group(slice, level, where=where) for where, slice in slices.items() if where]
        criteria = _together(parts, lambda thing: thing.criterion)
        made += [agreement_group(own_ones, ONE_PART, criterion=id) for id, own_ones in criteria.items()]
    return made


def _together(
    things: Sequence[GradeWithLabels], key: Callable[[GradeWithLabels], str]
) -> dict[str, list[GradeWithLabels]]:
    found: dict[str, list[GradeWithLabels]] = {}
    for thing in things:
        found.setdefault(key(thing), []).append(thing)
    return found


def agreement_group(
    things: Sequence[GradeWithLabels], level: str, *, criterion: str = "", where: str = ""
) -> AgreementGroup:
    part = next((thing.grade.part for thing in things if thing.grade and thing.grade.part), None)
    return AgreementGroup(
        grader=things[0].grader,
        level=level,
        criterion=criterion,
        text=part.text if part and criterion else "",
        where=where,
        coverage=label_coverage(things),
        verdicts=verdict_figures(things),
        ratings=rating_figures(things),
        raters=rater_figures(things),
    )


def label_coverage(things: Sequence[GradeWithLabels]) -> LabelCoverage:
    became = Counter(thing.outcome for thing in things)
    counted = {outcome.value: became[outcome] for outcome in LabelOutcome}
    return LabelCoverage(labels=sum(len(thing.labels) for thing in things), things=len(things), **counted)


def verdict_figures(things: Sequence[GradeWithLabels]) -> VerdictFigures | None:
    """The figures of verdicts; None where there are none: numbers without a pass mark."""
    known = [thing for thing in things if thing.people_passed is not None and thing.passed is not None]
    silent = [thing for thing in things if thing.outcome is LabelOutcome.UNREADABLE and _said(thing) is not None]
    if not known and not silent:
        return None
    agreed = sum(thing.passed == thing.people_passed for thing in known)
    both = Counter((thing.people_passed, thing.passed) for thing in known)
    unread = Counter(_said(thing) for thing in silent)
    return VerdictFigures(
        agreement=rate_figure(agreed, len(known)),
        with_silence=rate_figure(agreed, len(known) + len(silent)),
        kappa=bootstrap_figure(
            known, lambda some: cohen_kappa([one.people_passed for one in some], [one.passed for one in some])
        ),
        classes={PASS: _class(known, True), FAIL: _class(known, False)},
        confusion={
            word: {PASS: both[true, True], FAIL: both[true, False], SILENT: unread[true]}
            for word, true in ((PASS, True), (FAIL, False))
        },
    )


def _said(thing: GradeWithLabels) -> bool | None:
    """People's verdict on a grade for which the judge gave no value; numbers need the grade's own pass mark."""
    if thing.by_verdict:
        return thing.people_passed
    if thing.grade is None or thing.grade.pass_mark is None:
        return None
    part = thing.grade.part
    if part is not None and (part.weight or 0) < 0:  # meeting it is bad
        return thing.people_value <= thing.grade.pass_mark
    return thing.people_value >= thing.grade.pass_mark


def _class(known: Sequence[GradeWithLabels], verdict: bool) -> ClassFigures:
    judged = sum(thing.passed is verdict for thing in known)
    true = sum(thing.people_passed is verdict for thing in known)
    right = sum(thing.passed is verdict and thing.people_passed is verdict for thing in known)

    def f1(things: Sequence[LabelledValues]) -> float | None:
        hits = sum(thing.passed is verdict and thing.people_passed is verdict for thing in things)
        total = sum((thing.passed is verdict) + (thing.people_passed is verdict) for thing in things)
        return 2 * hits / total if total else None

    return ClassFigures(
        precision=rate_figure(right, judged), recall=rate_figure(right, true), f1=bootstrap_figure(known, f1)
    )


def rating_figures(things: Sequence[GradeWithLabels]) -> RatingFigures | None:
    """The figures of numbers; None where people gave verdicts."""
    known = [thing for thing in things if thing.outcome is LabelOutcome.COMPARED and not thing.by_verdict]
    if not known:
        return None
    same = sum(thing.value == thing.people_category for thing in known)
    return RatingFigures(
        exact=rate_figure(same, len(known)),
        kappa=bootstrap_figure(known, _categories(KappaWeights.NONE, None)),
        weighted_kappa=_weighted(known),
        pearson=bootstrap_figure(known, lambda some: pearson(_people(some), _judged(some))),
        spearman=bootstrap_figure(known, lambda some: spearman(_people(some), _judged(some))),
        kendall=bootstrap_figure(known, lambda some: kendall(_people(some), _judged(some))),
        mae=bootstrap_figure(known, lambda some: mean_absolute_error(_people(some), _judged(some))),
        bias=bootstrap_figure(known, lambda some: fmean(_judged(some)) - fmean(_people(some))),
    )


def _people(things: Sequence[LabelledValues]) -> list[float]:
    return [thing.people_value for thing in things]


def _judged(things: Sequence[LabelledValues]) -> list[float]:
    return [thing.value for thing in things]


def _categories(weights: KappaWeights, categories: Sequence[float] | None) -> Statistic:
    def kappa(things: Sequence[LabelledValues]) -> float | None:
        people = [thing.people_category for thing in things]
        return cohen_kappa(people, _judged(things), weights, categories)

    return kappa


def _weighted(known: Sequence[GradeWithLabels]) -> Figure:
    scale = known[0].grade.scale if isinstance(known[0].grade, Score) else Scale(0, None)
    values = [float(number) for thing in known for number in (thing.value or 0.0, thing.people_category)]
    if scale.high is None or not 1 < scale.high - scale.low <= STEPS or not all(map(float.is_integer, values)):
        return Figure(n=len(known))
    steps = [float(step) for step in range(int(scale.low), int(scale.high) + 1)]
    return bootstrap_figure(known, _categories(KappaWeights.QUADRATIC, steps))


def rater_figures(things: Sequence[GradeWithLabels]) -> RaterFigures | None:
    """The agreement among people; None where no grade has labels of two people."""
    several = [thing for thing in things if len(thing.labels) > 1]
    if not several:
        return None
    levels = [MeasurementLevel.NOMINAL] if things[0].by_verdict else list(MeasurementLevel)
    usual = Counter(len(thing.labels) for thing in several).most_common(1)[0][0]
    alike = [thing for thing in several if len(thing.labels) == usual]
    judged = [thing for thing in alike if _verdict(thing) is not None]
    return RaterFigures(
        annotators=tuple(dict.fromkeys(label.annotator for thing in several for label in thing.labels)),
        things=len(several),
        fleiss=bootstrap_figure(alike, lambda some: fleiss_kappa(fleiss_counts([thing.said for thing in some]))),
        fleiss_with_judge=bootstrap_figure(
            judged, lambda some: fleiss_kappa(fleiss_counts([(*thing.said, thing.judge_said) for thing in some]))
        ),
        alpha={level.value: bootstrap_figure(several, _alpha(level, judge=False)) for level in levels},
        alpha_with_judge={level.value: bootstrap_figure(several, _alpha(level, judge=True)) for level in levels},
    )


def _alpha(level: MeasurementLevel, *, judge: bool) -> Statistic:
    def alpha(things: Sequence[LabelledValues]) -> float | None:
        units: list[list[Hashable | None]] = [[*thing.said, *([thing.judge_said] if judge else [])] for thing in things]
        return krippendorff_alpha(units, level)

    return alpha


def _verdict(thing: GradeWithLabels) -> Hashable | None:
    """The judge's grade in the same kind of words as the labels."""
    if thing.by_verdict:
        return None if thing.passed is None else _category(thing.passed)
    return thing.value


def _category(value: bool | float) -> Hashable:
    return (PASS if value else FAIL) if isinstance(value, bool) else float(value)
