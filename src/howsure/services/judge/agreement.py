"""From labelled grades to figures: agreement, kappa, precision and recall of verdicts; correlation and distance of
numbers; agreement among people. Rates have Wilson's interval, or one over whole cases where a case has several grades,
because answers to one case are not independent. Kappa, F1, correlations: see `stats/agreement_intervals.py`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from importlib import import_module
from statistics import fmean
from typing import TypeVar

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
from howsure.model.score import Scale, Score, Unscored
from howsure.services.judge.labels import GradeWithLabels, LabelOutcome
from howsure.stats.agreement import (
    MeasurementLevel,
    cohen_kappa,
    fleiss_counts,
    fleiss_kappa,
    kendall,
    krippendorff_alpha,
    pearson,
    spearman,
)
from howsure.stats.intervals import Interval, rate_interval

T = TypeVar("T")

FEWEST = 10
"""With fewer cases nothing is said about the spread."""
GROUPS = 50
"""Groups of cases that are left out in turn to see how far a figure moves."""
PASS, FAIL, SILENT = "pass", "fail", "none"
WHOLE, ALL_PARTS, ONE_PART = "case", "criteria", "criterion"
STEPS = 10
"""A closed scale of whole numbers with at most this many steps has a weighted kappa."""


class LabelledValues(Struct, frozen=True):
    """A labelled grade with its consensus computed once: it is read for each group of cases that is left out."""

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


def case_rate(held: Sequence[bool], cases: Sequence[str], weights: Sequence[float] = ()) -> Figure:
    """A share with an interval over whole cases; Wilson's where each case occurs once. With `weights`, labels that were
    drawn more often than others count less."""
    if len(set(weights)) > 1:
        stats = import_module("howsure.stats.agreement_intervals")
        value, interval = stats.weighted_rate(held, cases, weights)
        return Figure(value=value, interval=interval, n=len(held))
    if len(set(cases)) == len(cases):
        return rate_figure(sum(held), len(held))
    # Imported by name: numpy is loaded only if a case has several grades.
    found = import_module("howsure.stats.clusters").clustered_rate(held, cases)
    return Figure(value=found.value, interval=found.interval, n=len(held))


def label_rate(held: Sequence[bool], things: Sequence[GradeWithLabels]) -> Figure:
    """The share of labelled grades for which `held` is true, weighed by how likely each was to be drawn."""
    return case_rate(held, [thing.case_id for thing in things], label_weights(things))


def label_weights(things: Sequence[GradeWithLabels]) -> list[float]:
    """The weight of each labelled grade: the less likely it was to be drawn, the more it counts. All are equal if that
    is not known."""
    drawn = [thing.drawn for thing in things]
    return [1 / each for each in drawn if each is not None] if None not in drawn else [1.0] * len(drawn)


def rate_figure(held: int, n: int) -> Figure:
    """A share with Wilson's interval."""
    return Figure(value=held / n if n else None, interval=rate_interval(held, n) if n else None, n=n)


def mean_figure(values: Sequence[float], cases: Sequence[Hashable], bounds: Interval | None) -> Figure:
    """A mean with the interval that fits between the ends of its scale, over whole cases where one occurs several
    times; on an open scale (`bounds` None) Student's t."""
    # Imported by name: only those who look at means wait for numpy.
    if bounds is not None:
        found = import_module("howsure.stats.estimates").estimate_mean(values, cases, bounds=bounds)
        interval = found.interval if found else None
    else:
        clusters = import_module("howsure.stats.clusters")
        found = clusters.robust_mean(clusters.cluster_sums(values, cases)) if values else None
        interval = found.interval() if found else None
    return Figure(value=fmean(values) if values else None, interval=interval, n=len(values))


def _figure(things: Sequence[GradeWithLabels], statistic: Statistic) -> Figure:
    """A correlation, or an agreement beyond chance, with an interval over whole cases."""
    plain = list(map(_plain, things))
    value, places = statistic(plain), {case: place for place, case in enumerate(dict.fromkeys(map(_case, plain)))}
    if value is None or len(places) < FEWEST:
        return Figure(value=value, n=len(plain))
    groups = min(len(places), GROUPS)
    left_out = [
        statistic([each for each in plain if places[each.case_id] % groups != group]) for group in range(groups)
    ]
    stats = import_module("howsure.stats.agreement_intervals")
    return Figure(value=value, interval=stats.correlation_interval(value, left_out, len(places)), n=len(plain))


def _case(thing: LabelledValues) -> str:
    return thing.case_id


def group_by_level(things: Sequence[T], grade: Callable[[T], GradeWithLabels]) -> Iterator[tuple[str, str, list[T]]]:
    """For each grader: its whole-case grades, all its criteria together, each criterion; with level and criterion."""
    for own in _together(things, lambda thing: grade(thing).grader).values():
        criteria = _together(own, lambda thing: grade(thing).criterion)
        if whole := criteria.pop("", []):
            yield WHOLE, "", whole
        if criteria:
            yield ALL_PARTS, "", [thing for thing in own if grade(thing).criterion]
        for id, some in criteria.items():
            yield ONE_PART, id, some


def agreement_groups(things: Sequence[GradeWithLabels]) -> list[AgreementGroup]:
    """The groups by grader and level, each with its slices."""
    made: list[AgreementGroup] = []
    for level, criterion, some in group_by_level(things, lambda thing: thing):
        made.append(agreement_group(some, level, criterion=criterion))
        slices = {} if criterion else _together(some, lambda thing: thing.where)
        made += [agreement_group(slice, level, where=where) for where, slice in slices.items() if where]
    return made


def _together(things: Sequence[T], key: Callable[[T], str]) -> dict[str, list[T]]:
    found: dict[str, list[T]] = {}
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
    kinds = Counter(thing.grade.flag for thing in things if isinstance(thing.grade, Unscored) and thing.grade.flag)
    labels = sum(len(thing.labels) for thing in things)
    return LabelCoverage(labels=labels, things=len(things), kinds=dict(sorted(kinds.items())), **counted)


def verdict_figures(things: Sequence[GradeWithLabels]) -> VerdictFigures | None:
    """The figures of verdicts; None where there are none: numbers without a pass mark."""
    known = [thing for thing in things if thing.people_passed is not None and thing.passed is not None]
    silent = [thing for thing in things if thing.outcome is LabelOutcome.UNREADABLE and _said(thing) is not None]
    if not known and not silent:
        return None
    agreed = [thing.passed == thing.people_passed for thing in known]
    both = Counter((thing.people_passed, thing.passed) for thing in known)
    unread = Counter(_said(thing) for thing in silent)
    stats = import_module("howsure.stats.agreement_intervals")
    people, judge = [bool(thing.people_passed) for thing in known], [bool(thing.passed) for thing in known]
    tables = stats.case_tables(people, judge, [thing.case_id for thing in known], label_weights(known))
    kappa, f1_of_passes, f1_of_fails = (
        Figure(value=value, interval=interval, n=len(known))
        for value, interval in (
            stats.table_figure(tables, each) for each in (stats.kappas, stats.f1_of_passes, stats.f1_of_fails)
        )
    )
    return VerdictFigures(
        agreement=label_rate(agreed, known),
        with_silence=label_rate([*agreed, *[False] * len(silent)], [*known, *silent]),
        kappa=kappa,
        classes={PASS: _class(known, True, f1_of_passes), FAIL: _class(known, False, f1_of_fails)},
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


def _class(known: Sequence[GradeWithLabels], verdict: bool, f1: Figure) -> ClassFigures:
    judged = [thing for thing in known if thing.passed is verdict]
    true = [thing for thing in known if thing.people_passed is verdict]

    def right(some: Sequence[GradeWithLabels]) -> Figure:
        return label_rate([thing.passed is thing.people_passed for thing in some], some)

    return ClassFigures(precision=right(judged), recall=right(true), f1=f1)


def rating_figures(things: Sequence[GradeWithLabels]) -> RatingFigures | None:
    """The figures of numbers; None where people gave verdicts."""
    known = [thing for thing in things if thing.outcome is LabelOutcome.COMPARED and not thing.by_verdict]
    if not known:
        return None
    same = [thing.value == thing.people_category for thing in known]
    apart, cases = [(thing.value or 0.0) - thing.people_value for thing in known], [thing.case_id for thing in known]
    ends = known[0].grade.scale.ends if known[0].grade else None
    return RatingFigures(
        exact=label_rate(same, known),
        kappa=_figure(known, _kappa_of_categories(None)),
        weighted_kappa=_weighted(known),
        pearson=_figure(known, lambda some: pearson(_people(some), _judged(some))),
        spearman=_figure(known, lambda some: spearman(_people(some), _judged(some))),
        kendall=_figure(known, lambda some: kendall(_people(some), _judged(some))),
        mae=mean_figure([abs(each) for each in apart], cases, ends and (0.0, ends[1] - ends[0])),
        bias=mean_figure(apart, cases, ends and (ends[0] - ends[1], ends[1] - ends[0])),
    )


def _people(things: Sequence[LabelledValues]) -> list[float]:
    return [thing.people_value for thing in things]


def _judged(things: Sequence[LabelledValues]) -> list[float]:
    return [thing.value for thing in things]


def _kappa_of_categories(steps: Sequence[float] | None) -> Statistic:
    return lambda things: cohen_kappa([thing.people_category for thing in things], _judged(things), steps)


def _weighted(known: Sequence[GradeWithLabels]) -> Figure:
    scale = known[0].grade.scale if isinstance(known[0].grade, Score) else Scale(0, None)
    values = [float(number) for thing in known for number in (thing.value or 0.0, thing.people_category)]
    if scale.high is None or not 1 < scale.high - scale.low <= STEPS or not all(map(float.is_integer, values)):
        return Figure(n=len(known))
    steps = [float(step) for step in range(int(scale.low), int(scale.high) + 1)]
    return _figure(known, _kappa_of_categories(steps))


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
        fleiss=_figure(alike, lambda some: fleiss_kappa(fleiss_counts([thing.said for thing in some]))),
        fleiss_with_judge=_figure(
            judged, lambda some: fleiss_kappa(fleiss_counts([(*thing.said, thing.judge_said) for thing in some]))
        ),
        alpha={level.value: _figure(several, _alpha(level, judge=False)) for level in levels},
        alpha_with_judge={level.value: _figure(several, _alpha(level, judge=True)) for level in levels},
    )


def _alpha(level: MeasurementLevel, *, judge: bool) -> Statistic:
    return lambda things: krippendorff_alpha(
        [(*thing.said, thing.judge_said if judge else None) for thing in things], level
    )


def _verdict(thing: GradeWithLabels) -> Hashable | None:
    """The judge's grade in the same kind of words as the labels."""
    if thing.by_verdict:
        return None if thing.passed is None else _category(thing.passed)
    return thing.value


def _category(value: bool | float) -> Hashable:
    return (PASS if value else FAIL) if isinstance(value, bool) else float(value)
