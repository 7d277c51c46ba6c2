"""Change points: found where they are, not where they are not, and with the p-value of all arrangements."""

from __future__ import annotations

from itertools import product
from math import comb, log

import numpy as np
import pytest

from howsure.stats.trend import trend


def fit(passed: int, judged: int) -> float:
    return sum(count * log(count / judged) for count in (passed, judged - passed) if count)


def gain(passed: tuple[int, ...], judged: tuple[int, ...]) -> float:
    """Of the best cut."""
    whole = fit(sum(passed), sum(judged))
    cuts = range(1, len(passed))
    return max(fit(sum(passed[:at]), sum(judged[:at])) + fit(sum(passed[at:]), sum(judged[at:])) - whole for at in cuts)


def test_the_p_value_is_that_of_all_arrangements() -> None:
    passed, judged = (4, 3, 1), (5, 4, 5)
    seen, ways, as_good = gain(passed, judged), 0, 0
    for other in product(*(range(n + 1) for n in judged)):
        if sum(other) == sum(passed):
            weight = comb(5, other[0]) * comb(4, other[1]) * comb(5, other[2])
            ways += weight
            as_good += weight * (gain(other, judged) >= seen - 1e-9)
    (change,) = trend(list(zip(passed, judged, strict=True)), level=0.99, draws=20_000).changes
    assert change.index == 2
    assert change.p_value == pytest.approx(as_good / ways, abs=0.01)


RUNS = [(80, 100), (82, 100), (79, 100), (60, 100), (62, 100), (58, 100), (90, 100), (88, 100)]


def test_a_fall_and_a_rise_are_found_where_they_are() -> None:
    found = trend(RUNS)
    assert [(level.start, level.end) for level in found.levels] == [(0, 3), (3, 6), (6, 8)]
    assert [round(level.rate.value, 3) for level in found.levels if level.rate] == [0.803, 0.6, 0.89]
    fall, rise = found.changes
    assert (fall.index, round(fall.before, 3), fall.after) == (3, 0.803, 0.6)
    assert fall.interval == pytest.approx((-0.273, -0.131), abs=1e-3)
    assert (rise.index, rise.before, rise.after) == (6, 0.6, 0.89)
    assert fall.p_value < 0.001 and rise.p_value < 0.001
    assert trend(RUNS) == found, "the same runs, the same answer"


def test_ups_and_downs_of_chance_are_no_change() -> None:
    found = trend([(16, 20), (14, 20), (17, 20), (15, 20), (18, 20)])
    assert found.changes == ()
    (level,) = found.levels
    assert level.rate is not None
    assert (level.start, level.end, level.rate.value) == (0, 5, 0.8)


def test_chance_is_mistaken_for_a_change_in_about_five_series_of_a_hundred() -> None:
    random = np.random.default_rng(7)
    series = random.binomial(100, 0.8, size=(400, 10)).tolist()
    wrong = [trend([(passed, 100) for passed in each], draws=199).changes != () for each in series]
    assert sum(wrong) / 400 < 0.08


@pytest.mark.parametrize("runs", [[], [(3, 4)], [(0, 0), (0, 0), (3, 4)], [(5, 5), (5, 5)], [(0, 5), (0, 5), (0, 5)]])
def test_too_little_has_no_change(runs: list[tuple[int, int]]) -> None:
    found = trend(runs)
    assert found.changes == ()
    assert len(found.levels) == min(1, len(runs))


def test_a_run_that_judged_nothing_changes_nothing() -> None:
    found = trend([(50, 50), (0, 0), (49, 50), (10, 50), (12, 50)])
    assert [change.index for change in found.changes] == [3]


def test_the_same_counts_always_give_the_same_p_value() -> None:
    changes = trend([(5, 9), (3, 9), (8, 9), (2, 7)], level=0.5).changes
    assert {change.index: change.p_value for change in changes}[3] == 0.3805


def test_runs_of_different_sizes_weigh_by_their_cases() -> None:
    found = trend([(900, 1000), (1, 2), (890, 1000), (600, 1000)])
    assert [change.index for change in found.changes] == [3]


def test_what_is_no_rate_is_refused() -> None:
    with pytest.raises(ValueError, match="3 of 2 is not a rate"):
        trend([(1, 2), (3, 2)])
