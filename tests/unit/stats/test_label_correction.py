"""Corrections by labels that were drawn with known chances: by hand, against an independent computation, and how often
their intervals hold."""

from __future__ import annotations

import numpy as np
import pytest
from bench.coverage_labels import rows

from howsure.services.judge.agreement import case_rate
from howsure.stats.agreement_intervals import band_agreement, case_tables, table_figure, weighted_rate
from howsure.stats.draws import inclusion_probabilities
from howsure.stats.rate_correction import (
    JudgedAnswers,
    correct_difference,
    correct_rate,
    label_table,
)

Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


def test_kappa_has_an_interval_wherever_it_has_a_value() -> None:
    both = np.array([[1.0, 0, 0, 0]] * 30)
    assert table_figure(both) == (None, None), "two who always say the same one verdict"
    value, interval = table_figure(np.array([[1.0, 0, 0, 0]] * 29 + [[0, 1.0, 0, 0]]))
    assert value == 0 and interval is not None and interval[0] <= 0 < interval[1] < 1
    # Two verdicts of each case, of which one case differs: most draws of whole cases do not have it.
    value, interval = table_figure(np.array([[2.0, 0, 0, 0]] * 39 + [[1.0, 0, 0, 1.0]]))
    assert value == 1 and interval is not None and interval[0] < 0.9 and interval[1] == 1


def answers(judge: Floats, people: Floats, drawn: Floats | None = None, cases: Floats | None = None) -> JudgedAnswers:
    return JudgedAnswers(
        judge=judge,
        people=people,
        drawn=np.ones(len(judge)) if drawn is None else drawn,
        cases=np.arange(len(judge)) if cases is None else cases.astype(np.int64),
    )


def failed_and_passed(labelled_errors: int = 4) -> JudgedAnswers:
    """400 answers, of which the judge fails 40. 20 of each verdict are labelled; people fail some that it passed."""
    judge = np.repeat([0.0, 1.0], [40, 360])
    people = np.full(400, np.nan)
    people[:20] = 0.0
    people[40:60] = 1.0
    people[40 : 40 + labelled_errors] = 0.0
    return answers(judge, people, drawn=np.repeat([9.0, 1.0], [40, 360]))


def test_labels_stand_for_all_answers_and_none_is_likelier_than_sure() -> None:
    assert inclusion_probabilities([1.0, 1.0, 1.0], 12) == [0.25, 0.25, 0.25]
    # 20 at nine times the chance of 20 others stand for 40 and 360 of 400: 20 / 40 and 20 / 360.
    found = inclusion_probabilities([9.0] * 20 + [1.0] * 20, 400)
    assert [found[0], found[-1]] == pytest.approx([0.5, 1 / 18])
    # A chance that would be above 1 is 1, and the others stand for what is left: 1 + 2 / (2 / 5).
    assert inclusion_probabilities([50.0, 1.0, 1.0], 6) == pytest.approx([1.0, 0.4, 0.4])
    assert inclusion_probabilities([3.0, 1.0], 2) == [1.0, 1.0]


def test_an_error_among_the_rarely_drawn_counts_for_many() -> None:
    # People fail 40 + 360 × 4 / 20 = 112 of 400: 72 % pass. Counted alike it would be 16 of 40.
    found = correct_rate(failed_and_passed(), folds=1)
    assert found is not None
    assert found.value == pytest.approx(0.72)
    assert found.judge_rate == 0.9
    assert (found.labels, found.judged) == (40, 360)
    table = label_table(failed_and_passed())
    # Of what people fail, the judge passes 72 of 112; the 24 labels on these are worth (20 + 4 × 9)² / (20 + 4 × 81).
    assert table.fail_pass / (table.fail_pass + table.fail_fail) == pytest.approx(72 / 112)
    assert table.fail_pass + table.fail_fail == pytest.approx(56**2 / 344)


def test_the_variance_is_that_of_an_independent_formula() -> None:
    """Plain random labels, each about a case of its own: Angelopoulos and others (2023) give the error of the
    prediction-powered mean as √(λ² var(f) / N + var(y − λ f) / n) with the judge on the unlabelled answers."""
    random = np.random.default_rng(5)
    count, labels = 5000, 400
    truth = (random.random(count) < 0.7).astype(float)
    judge = np.where(random.random(count) < 0.85, truth, 1 - truth)
    people = np.where(np.arange(count) < labels, truth, np.nan)
    found = correct_rate(answers(judge, people), folds=1)
    assert found is not None and found.weight is not None
    y, f, others = truth[:labels], judge[:labels], judge[labels:]
    weight = np.cov(y, f, bias=True)[0, 1] / f.var() / (1 + labels / len(others))
    assert found.weight == pytest.approx(weight)
    assert found.value == pytest.approx(y.mean() + weight * (others.mean() - f.mean()))
    error = np.sqrt(weight**2 * others.var() / len(others) + (y - weight * f).var() / labels)
    low, high = found.interval
    assert high - low == pytest.approx(2 * 1.966 * error, rel=0.05)


def test_a_difference_of_sides_that_share_their_cases_is_sharper() -> None:
    random = np.random.default_rng(2)
    truth = (random.random(400) < 0.7).astype(float)
    judges = [np.where(random.random(400) < 0.9, truth, 1 - truth) for _ in range(2)]
    same = [answers(judge, np.where(np.arange(400) < 60, truth, np.nan)) for judge in judges]
    other = answers(judges[1], np.where(np.arange(400) >= 340, truth, np.nan))
    near, far = correct_difference(same[0], same[1]), correct_difference(same[0], other)
    assert near is not None and far is not None
    assert near.interval[0] < 0 < near.interval[1]
    assert near.interval[1] - near.interval[0] < 0.9 * (far.interval[1] - far.interval[0])
    assert near.with_more is not None
    assert near.with_more < near.interval[1] - near.interval[0]


def test_five_grades_of_a_case_are_not_five_cases() -> None:
    held = [number % 10 != 0 for number in range(30)]
    once = case_rate(held, [str(number) for number in range(30)])
    copied = case_rate([each for each in held for _ in range(5)], [str(n) for n in range(30) for _ in range(5)])
    assert once.interval is not None and copied.interval is not None
    assert copied.value == once.value
    assert copied.interval[1] - copied.interval[0] > 0.8 * (once.interval[1] - once.interval[0])


def test_a_weighted_rate_is_worth_fewer_cases() -> None:
    value, interval = weighted_rate([True, False, False, False], "abcd", [3.0, 1.0, 1.0, 1.0])
    assert value == 0.5
    # (3 + 1 + 1 + 1)² / 12 = 3 cases: the exact interval of 1.5 of 3.
    assert interval == pytest.approx((0.0387, 0.9613), abs=1e-4)


def test_kappa_of_ten_agreeing_cases_is_not_sure() -> None:
    value, interval = table_figure(
        case_tables([True] * 5 + [False] * 5, [True] * 5 + [False] * 5, range(10), [1.0] * 10)
    )
    assert value == 1.0
    assert interval is not None and interval[0] < 0.6 and interval[1] == 1.0
    assert table_figure(case_tables([True, False], [True, False], range(2), [1.0] * 2))[1] is None


def test_bands_are_drawn_as_whole_cases() -> None:
    bands, values = [0.0, 1.0] * 40, [1.0, 2.0, 2.0, 2.0] * 20
    alone = band_agreement(bands, values, range(80))
    copied = band_agreement(bands * 4, values * 4, list(range(80)) * 4)
    assert alone.spearman_interval is not None and copied.spearman_interval is not None
    assert copied.spearman_interval == pytest.approx(alone.spearman_interval, abs=0.03)
    # Each of 40 × 40 pairs: half are 1 before 2, half are equal.
    assert (alone.ordered, alone.pairs) == (0.75, 1600)


@pytest.mark.thorough
def test_intervals_hold_what_they_promise() -> None:
    measured = list(rows(60, seed=3))
    assert len(measured) > 100
    # With 60 draws a setting that holds 95 times of 100 falls below 83 once in ten thousand.
    assert [(name, share) for name, share, promised in measured if share < promised - 0.1] == []
    assert np.mean([share for _, share, _ in measured]) > 0.94
