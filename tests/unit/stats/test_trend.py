"""Change points: found where they are, and not where runs only wobble or cases flip together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from howsure.stats.clusters import Floats
from howsure.stats.trend import RunRates, count_rates, paired_rates_of_runs, trend

RUNS = [(80, 100), (82, 100), (79, 100), (60, 100), (62, 100), (58, 100), (90, 100), (88, 100)]


def test_a_fall_and_a_rise_are_found_where_they_are() -> None:
    found = trend(count_rates(RUNS))
    fall, rise = found
    assert (fall.index, round(fall.before, 3), round(fall.after, 3)) == (3, 0.803, 0.6)
    assert fall.interval == pytest.approx((-0.294, -0.112), abs=1e-3)
    assert (rise.index, round(rise.before, 3), round(rise.after, 3)) == (6, 0.6, 0.89)
    assert fall.p_value < 0.02 and rise.p_value < 0.02
    assert trend(count_rates(RUNS)) == found, "the same runs, the same answer"


def test_ups_and_downs_of_chance_are_no_change() -> None:
    assert trend(count_rates([(16, 20), (14, 20), (17, 20), (15, 20), (18, 20)])) == ()


def of_counts(random: np.random.Generator, runs: int) -> RunRates:
    return count_rates([(int(passed), 100) for passed in random.binomial(100, 0.8, runs)])


def of_wobbling_runs(random: np.random.Generator, runs: int) -> RunRates:
    """The rate itself moves from run to run, by four points."""
    own = np.clip(0.85 + random.normal(0, 0.04, runs), 0, 1)
    return count_rates([(int(passed), 300) for passed in random.binomial(300, own)])


def of_shared_cases(random: np.random.Generator, runs: int) -> RunRates:
    found = paired_rates_of_runs((random.random((runs, 100)) < random.beta(2, 0.5, 100)).astype(np.float64))
    assert found is not None
    return found


def of_clusters(random: np.random.Generator, runs: int) -> RunRates:
    """Ten cases flip as one; nobody says which."""
    together = (random.random((runs, 20)) < random.beta(4, 1, 20)).astype(np.float64)
    found = paired_rates_of_runs(np.repeat(together, 10, axis=1))
    assert found is not None
    return found


@pytest.mark.parametrize(
    "made", [of_counts, of_wobbling_runs, of_shared_cases, of_clusters], ids=lambda made: made.__name__
)
@pytest.mark.parametrize("runs", [5, 10])
def test_what_only_wobbles_is_called_a_change_in_few_series_of_a_hundred(
    made: Callable[[np.random.Generator, int], RunRates], runs: int
) -> None:
    random = np.random.default_rng(7)
    wrong = [trend(made(random, runs), draws=1999) != () for _ in range(300)]
    assert sum(wrong) / 300 <= 0.065


def matrix(runs: int, cases: int, before: float, after: float, at: int) -> Floats:
    """Cases that fail are always the last ones: nothing flips but with the change."""
    values = np.ones((runs, cases))
    for run in range(runs):
        values[run, round(cases * (after if run >= at else before)) :] = 0.0
    return values


def test_runs_are_compared_on_the_cases_they_share() -> None:
    """The last three runs left out the sixty hardest cases: their raw rate rises, and nothing changed."""
    values = (np.random.default_rng(3).random((8, 100)) < np.linspace(1, 0, 100)).astype(np.float64)
    part = values.copy()
    part[5:, 40:] = np.nan
    raw = count_rates([(float(np.nansum(row)), float((~np.isnan(row)).sum())) for row in part])
    paired = paired_rates_of_runs(part)
    assert paired is not None
    assert [change.index for change in trend(raw)] == [5]
    assert trend(paired) == ()


def test_a_change_of_paired_runs_is_found() -> None:
    found = paired_rates_of_runs(matrix(6, 50, 0.9, 0.7, 3))
    assert found is not None
    (change,) = trend(found)
    assert (change.index, round(change.before, 2), round(change.after, 2)) == (3, 0.9, 0.7)


def test_runs_that_share_little_are_not_paired() -> None:
    apart = np.full((3, 90), np.nan)
    for run in range(3):
        apart[run, 30 * run : 30 * run + 30] = 1.0
    assert paired_rates_of_runs(apart) is None


@pytest.mark.parametrize("runs", [[], [(3, 4)], [(90, 100), (20, 100)], [(0, 0), (0, 0), (3, 4)], [(5, 5)] * 5])
def test_too_little_has_no_change(runs: list[tuple[int, int]]) -> None:
    assert trend(count_rates(runs)) == ()


def test_a_run_that_judged_nothing_changes_nothing() -> None:
    found = trend(count_rates([(50, 50), (0, 0), (49, 50), (48, 50), (50, 50), (10, 50), (12, 50), (11, 50)]))
    assert [change.index for change in found] == [5]


def test_what_is_no_rate_is_refused() -> None:
    with pytest.raises(ValueError, match="3 of 2 is not a rate"):
        count_rates([(1, 2), (3, 2)])
