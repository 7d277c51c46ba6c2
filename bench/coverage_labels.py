"""How often the intervals about labels and judges hold the truth, by simulation: rates and differences that labels
correct, drawn in every way; kappa, F1 and correlations of few cases; agreement with several grades of a case. `rows`
gives (setting, measured, promised); false decisions are given as the share of right ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial

import numpy as np

from howsure.model.calibration import Figure
from howsure.model.score import LIKERT, Score
from howsure.services.judge.agreement import case_rate, rater_figures, rating_figures
from howsure.services.judge.labels import GradeWithLabels, Label
from howsure.services.judge.migrate import may_replace
from howsure.stats.agreement import cohen_kappa, kendall, pearson, spearman
from howsure.stats.agreement_intervals import case_tables, f1_of_fails, f1_of_passes, kappas, table_figure
from howsure.stats.draws import doubt_chances, stratum_chances
from howsure.stats.intervals import Interval
from howsure.stats.paired_differences import paired_rates
from howsure.stats.rate_correction import (
    Correction,
    JudgedAnswers,
    correct_difference,
    correct_rate,
    corrected_rate,
    label_table,
)

Random = np.random.Generator
Floats = np.ndarray[tuple[int], np.dtype[np.float64]]
PROMISED = 0.93
MOST_FALSE = 0.055
WAYS = ("random", "verdict", "doubt")


def _held(interval: Interval | None, truth: float) -> bool:
    return interval is not None and interval[0] - 1e-9 <= truth <= interval[1] + 1e-9


def _judge(random: Random, people: Floats, right: tuple[float, float]) -> Floats:
    """The judge's verdicts: how often it passes what people pass, and fails what they fail."""
    drawn = random.random(len(people))
    return np.where(people == 1, drawn < right[0], drawn >= right[1]).astype(np.float64)


def _label(random: Random, judge: Floats, people: Floats, labels: int, way: str, numbers: Floats | None = None,
           cases: np.ndarray[tuple[int], np.dtype[np.int64]] | None = None) -> JudgedAnswers:  # fmt: skip
    """Some answers are labelled: drawn as `howsure label next` draws."""
    count = len(judge)
    chances = np.ones(count)
    if way == "verdict":
        chances = np.array(stratum_chances(judge.tolist()))
    elif way == "doubt":
        # The judge is unsure where it errs, and sometimes elsewhere.
        chances = np.array(doubt_chances(np.where(judge == people, random.random(count), 1.0).tolist()))
    order = np.argsort((random.random(count) if numbers is None else numbers) / chances)[:labels]
    said = np.full(count, np.nan)
    said[order] = people[order]
    return JudgedAnswers(judge=judge, people=said, drawn=chances, cases=np.arange(count) if cases is None else cases)


def rate_draw(random: Random, truth: float, right: tuple[float, float], n: int, labels: int, way: str) -> bool:
    people = (random.random(n) < truth).astype(np.float64)
    found = correct_rate(_label(random, _judge(random, people, right), people, labels, way))
    return found is not None and _held(found.interval, truth)


def repeated_draw(random: Random, truth: float, right: tuple[float, float], n: int, labels: int, tries: int) -> bool:
    """Several tries of each case, all good or all bad."""
    people = np.repeat((random.random(n) < truth).astype(np.float64), tries)
    cases = np.repeat(np.arange(n), tries)
    found = correct_rate(_label(random, _judge(random, people, right), people, labels, "verdict", None, cases))
    return found is not None and _held(found.interval, truth)


def error_rate_draw(random: Random, truth: float, right: tuple[float, float], n: int, labels: int, way: str) -> bool:
    """Labels of one run correct another by sensitivity and specificity."""
    people = (random.random(n) < truth).astype(np.float64)
    answers = _label(random, _judge(random, people, right), people, labels, way)
    others = (random.random(n) < truth).astype(np.float64)
    judged = _judge(random, others, right)
    found = corrected_rate(label_table(answers), float(judged.sum()), n, Correction.SENSITIVITY_SPECIFICITY)
    # Where nothing can be said, nothing false is said.
    return found is None or _held(found.interval, truth)


def difference_draw(random: Random, rates: tuple[float, float], n: int, labels: int, way: str, same: bool) -> bool:
    """Two runs over the same cases, of which the judge is kinder to the second."""
    alike, easy, numbers = random.random(n) < 0.7, random.random(n), random.random(n)
    first = (easy < rates[0]).astype(np.float64)
    second = (np.where(alike, easy, random.random(n)) < rates[1]).astype(np.float64)
    sides = [
        _label(random, _judge(random, people, right), people, labels, way, numbers if same else None)
        for people, right in ((first, (0.95, 0.8)), (second, (0.97, 0.6)))
    ]
    found = correct_difference(sides[0], sides[1])
    return found is not None and _held(found.interval, rates[1] - rates[0])


def table_draw(
    random: Random, truth: float, right: tuple[float, float], n: int, statistic: Callable[[Floats], Floats]
) -> bool:
    cells = np.array([truth * right[0], truth * (1 - right[0]), (1 - truth) * (1 - right[1]), (1 - truth) * right[1]])
    people = (random.random(n) < truth).astype(np.float64)
    judge = _judge(random, people, right)
    tables = case_tables((people == 1).tolist(), (judge == 1).tolist(), range(n), [1.0] * n)
    interval = table_figure(tables, statistic)[1]
    # Where kappa is undefined, nothing is said.
    return interval is None or _held(interval, float(statistic(cells[None, :])[0]))


def _grades(random: Random, alike: float, n: int) -> tuple[list[float], list[float]]:
    """Grades of 1 to 5 by people and by a judge."""
    people = random.normal(size=n)
    judge = alike * people + np.sqrt(1 - alike**2) * random.normal(size=n)
    first, second = (np.digitize(each, (-1.2, -0.5, 0.2, 0.9)) + 1.0 for each in (people, judge))
    return first.tolist(), second.tolist()


TRUE_GRADES = cache(lambda alike: _grades(np.random.default_rng(1), alike, 20_000))


def correlation_draw(random: Random, figure: str, alike: float, n: int) -> bool:
    known = {"spearman": spearman, "kendall": kendall, "pearson": pearson, "kappa": cohen_kappa}
    truth = known[figure](*TRUE_GRADES(alike))
    things = [
        GradeWithLabels(
            case_id=f"c{place}",
            grader="g",
            labels=(Label(case_id=f"c{place}", grader="g", value=person),),
            grade=Score(name="g", value=judge, scale=LIKERT),
        )
        for place, (person, judge) in enumerate(zip(*_grades(random, alike, n), strict=True))
    ]
    found = rating_figures(things)
    assert found is not None and truth is not None
    interval = {"spearman": found.spearman, "kendall": found.kendall, "pearson": found.pearson, "kappa": found.kappa}
    return interval[figure].value is None or _held(interval[figure].interval, truth)


def alpha_draw(random: Random, wrong: float, n: int) -> bool:
    """Three people who err independently."""

    def said(number: int) -> list[GradeWithLabels]:
        truth, errs = random.random(number) < 0.6, random.random((number, 3)) < wrong
        return [
            GradeWithLabels(
                case_id=f"c{place}",
                grader="g",
                labels=tuple(
                    Label(case_id=f"c{place}", grader="g", value=bool(right ^ err), annotator=name)
                    for name, err in zip("abc", row, strict=True)
                ),
            )
            for place, (right, row) in enumerate(zip(truth.tolist(), errs.tolist(), strict=True))
        ]

    found = rater_figures(said(n))
    # Two raters agree by chance in p² + q², and in truth with (1 - wrong)² + wrong².
    rate = 0.6 * (1 - wrong) + 0.4 * wrong
    alike, chance = (1 - wrong) ** 2 + wrong**2, rate**2 + (1 - rate) ** 2
    assert found is not None
    return found.fleiss.value is None or _held(found.fleiss.interval, (alike - chance) / (1 - chance))


def agreement_draw(random: Random, truth: float, cases: int, grades: int) -> bool:
    """Several grades of each case; some cases are hard for the judge."""
    hardness = random.beta(2 * truth, 2 * (1 - truth), size=cases)
    held = (random.random((cases, grades)) < hardness[:, None]).ravel().tolist()
    names = [str(number) for number in range(cases) for _ in range(grades)]
    return _held(case_rate(held, names).interval, truth)


def migration_draw(random: Random, worse: float, labels: int) -> bool:
    """Whether a judge that is worse by more than the margin is rightly not let in."""
    old = (random.random(labels) < 0.9).astype(np.float64)
    new = (random.random(labels) < 0.9 - worse).astype(np.float64)
    found = paired_rates(old, new)
    assert found is not None
    return may_replace(Figure(value=found.difference, interval=found.interval, n=labels)) is not True


Setting = tuple[str, Callable[[Random], bool], float]


STRICT, KIND, FAIR = (0.97, 0.8), (0.99, 0.5), (0.9, 0.7)
"""Judges: how often they pass what people pass, and fail what they fail."""


def rate_settings() -> Iterator[Setting]:
    for truth, right in ((0.99, STRICT), (0.99, KIND), (0.95, STRICT), (0.875, FAIR), (0.7, FAIR), (0.5, FAIR)):
        for n, labels in ((100, 20), (400, 40), (1000, 80), (1000, 150)):
            for way in WAYS:
                judge = f"judge {right[0]:g}/{right[1]:g}"
                name = f"people's rate {truth:g}, {labels} labels of {n}, drawn by {way}, {judge}"
                yield name, partial(rate_draw, truth=truth, right=right, n=n, labels=labels, way=way), PROMISED
    for truth in (0.7, 0.9):
        for tries in (3, 10):
            name = f"people's rate {truth:g}, 80 labels of 100 cases with {tries} tries"
            yield name, partial(repeated_draw, truth=truth, right=FAIR, n=100, labels=80, tries=tries), PROMISED
        for way in ("random", "verdict"):
            name = f"people's rate {truth:g} by error rates, 100 labels of another run, drawn by {way}"
            yield name, partial(error_rate_draw, truth=truth, right=FAIR, n=500, labels=100, way=way), PROMISED


def difference_settings() -> Iterator[Setting]:
    for rates in ((0.7, 0.7), (0.7, 0.8), (0.9, 0.95), (0.98, 0.99)):
        for n, labels in ((100, 20), (400, 40), (1000, 100)):
            for way, same in (("random", True), ("verdict", True), ("verdict", False), ("doubt", True)):
                cases = "the same" if same else "other"
                name = (
                    f"difference {rates[0]:g} to {rates[1]:g}, {labels} + {labels} labels of {n}, {cases} cases, {way}"
                )
                yield name, partial(difference_draw, rates=rates, n=n, labels=labels, way=way, same=same), PROMISED


def figure_settings() -> Iterator[Setting]:
    for truth, right in ((0.95, (0.99, 0.5)), (0.97, (0.98, 0.6)), (0.8, (0.9, 0.0)), (0.9, (0.9, 0.1))):
        for n in (8, 10, 20, 30, 100, 300, 1000):
            name = f"kappa, {n} cases, people pass {truth:g}, judge {right[0]:g}/{right[1]:g}"
            yield name, partial(table_draw, truth=truth, right=right, n=n, statistic=kappas), PROMISED
    for truth, right in ((0.5, (0.9, 0.9)), (0.7, (0.95, 0.95)), (0.8, (0.9, 0.5)), (0.9, (0.95, 0.7))):
        for n in (10, 20, 30, 80, 300):
            name = f"kappa, {n} cases, people pass {truth:g}, judge {right[0]:g}/{right[1]:g}"
            yield name, partial(table_draw, truth=truth, right=right, n=n, statistic=kappas), PROMISED
            for word, statistic in (("passes", f1_of_passes), ("fails", f1_of_fails)):
                name = f"F1 of {word}, {n} cases, people pass {truth:g}, judge {right[0]:g}/{right[1]:g}"
                yield name, partial(table_draw, truth=truth, right=right, n=n, statistic=statistic), PROMISED
    for alike in (0.3, 0.7, 0.95):
        for n in (10, 20, 30, 100):
            for figure in ("spearman", "kendall", "pearson", "kappa"):
                name = f"{figure} of {n} grades of 1 to 5, {alike:g} alike"
                yield name, partial(correlation_draw, figure=figure, alike=alike, n=n), PROMISED
    for wrong in (0.1, 0.25):
        for n in (10, 20, 30, 100):
            name = f"Fleiss' kappa of three people, {n} cases, {wrong:.0%} wrong"
            yield name, partial(alpha_draw, wrong=wrong, n=n), PROMISED


def agreement_settings() -> Iterator[Setting]:
    for truth in (0.7, 0.9):
        for cases, grades in ((30, 5), (60, 10), (100, 12)):
            name = f"agreement {truth:g}, {cases} cases with {grades} grades"
            yield name, partial(agreement_draw, truth=truth, cases=cases, grades=grades), PROMISED
    for worse in (0.05, 0.1):
        for labels in (20, 50, 100, 400):
            name = f"migrate: a judge {100 * worse:g} points worse is not let in, {labels} labels"
            yield name, partial(migration_draw, worse=worse, labels=labels), 1 - MOST_FALSE


def settings() -> list[Setting]:
    """Every setting: its name, one draw, and what is promised."""
    return [*rate_settings(), *difference_settings(), *figure_settings(), *agreement_settings()]


def rows(draws: int, seed: int) -> Iterator[tuple[str, float, float]]:
    """Every setting, what was measured in so many draws, and what is promised."""
    for number, (name, draw, promised) in enumerate(settings()):
        random = np.random.default_rng([seed, number])
        yield name, sum(draw(random) for _ in range(draws)) / draws, promised
