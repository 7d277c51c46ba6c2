"""McNemar's test and the intervals of paired rates against textbook tables and brute force."""

from __future__ import annotations

from itertools import product
from math import sqrt

import pytest
from scipy.optimize import minimize_scalar
from scipy.special import xlogy

from howsure.stats.discordance import mcnemar, newcombe, tango
from howsure.stats.intervals import Interval


def printed(interval: Interval | None, digits: int) -> tuple[float, float]:
    assert interval is not None
    return round(interval[0], digits), round(interval[1], digits)


@pytest.mark.parametrize(
    ("gained", "lost", "digits", "p_value"),
    [
        (12, 2, 4, 0.0129),  # Armitage and Berry (1994), two media for culturing tubercle bacilli
        (1, 7, 4, 0.0703),  # Fagerland, Lydersen and Laake (2013), airway hyper-responsiveness
        (6, 0, 5, 0.03125),
        (5, 0, 4, 0.0625),
        (3, 3, 1, 1.0),
        (0, 0, 1, 1.0),
    ],
)
def test_the_exact_p_value_of_the_textbooks(gained: int, lost: int, digits: int, p_value: float) -> None:
    assert round(mcnemar(gained, lost), digits) == p_value
    assert mcnemar(lost, gained) == mcnemar(gained, lost)


def test_the_mid_p_of_the_textbook() -> None:
    assert round(mcnemar(1, 7, mid=True), 4) == 0.0391


def test_every_split_of_eight_by_brute_force() -> None:
    for gained in range(9):
        far = abs(2 * gained - 8)
        as_far = sum(abs(2 * sum(toss) - 8) >= far for toss in product((0, 1), repeat=8))
        assert mcnemar(gained, 8 - gained) == pytest.approx(as_far / 256)


def test_many_discordant_cases_agree_with_the_sum_of_few() -> None:
    assert mcnemar(540, 461) == pytest.approx(mcnemar(540, 460), rel=0.1)
    assert mcnemar(25_400, 24_600) == pytest.approx(0.000352, abs=2e-6)


# Newcombe, Statistics in Medicine 17 (1998), 2635–2650, method 10.
@pytest.mark.parametrize(
    ("table", "limits"),
    [
        ((20, 12, 2, 16), (0.0562, 0.3292)),
        ((36, 12, 2, 0), (0.0569, 0.3404)),
    ],
)
def test_newcombe_s_interval_as_he_printed_it(table: tuple[int, int, int, int], limits: tuple[float, float]) -> None:
    assert printed(newcombe(*table), 4) == limits


def test_both_intervals_of_the_airway_data() -> None:
    """Fagerland, Lydersen and Laake, Statistics in Medicine 33 (2014), 2850–2875."""
    assert printed(newcombe(1, 1, 7, 12), 3) == (-0.507, -0.026)
    assert printed(tango(1, 7, 21), 3) == (-0.517, -0.026)


def score_by_search(gained: int, lost: int, n: int, difference: float) -> float:
    """Tango's statistic with the likelihood maximised by a search instead of his closed form."""

    def unlikely(falling: float) -> float:
        rising = falling + difference
        same = 1 - rising - falling
        return -float(xlogy(gained, rising) + xlogy(lost, falling) + xlogy(n - gained - lost, same))

    low, high = max(0.0, -difference), (1 - difference) / 2
    falling = minimize_scalar(unlikely, bounds=(low + 1e-12, high - 1e-12), options={"xatol": 1e-13}).x
    variance = (2 * falling + difference - difference**2) / n
    return float(((gained - lost) / n - difference) / sqrt(variance))


@pytest.mark.parametrize(("gained", "lost", "n"), [(12, 2, 50), (1, 7, 21), (40, 20, 160), (3, 3, 10)])
def test_at_tango_s_ends_the_score_is_exactly_two_sigma(gained: int, lost: int, n: int) -> None:
    found = tango(gained, lost, n)
    assert found is not None
    assert score_by_search(gained, lost, n, found[0]) == pytest.approx(1.95996, abs=1e-3)
    assert score_by_search(gained, lost, n, found[1]) == pytest.approx(-1.95996, abs=1e-3)


@pytest.mark.parametrize(
    ("gained", "lost", "n", "limits"),
    [
        (0, 0, 50, (-0.0713, 0.0713)),
        (50, 0, 50, (0.8573, 1.0)),
        (0, 50, 50, (-1.0, -0.8573)),
    ],
    ids=["none differs", "all gained", "all lost"],
)
def test_tango_has_width_and_bounds_at_the_ends(gained: int, lost: int, n: int, limits: tuple[float, float]) -> None:
    assert printed(tango(gained, lost, n), 4) == limits


def test_of_no_case_nothing_is_known_and_no_counts_are_refused() -> None:
    assert tango(0, 0, 0) is None
    assert newcombe(0, 0, 0, 0) is None
    with pytest.raises(ValueError, match="3 gained and 2 lost are not among 4 cases"):
        tango(3, 2, 4)
    with pytest.raises(ValueError, match="no counts"):
        mcnemar(-1, 2)
    with pytest.raises(ValueError, match="between 0 and 1"):
        tango(1, 1, 4, confidence=2)


def test_a_table_with_an_empty_margin_has_an_interval() -> None:
    assert printed(newcombe(10, 0, 0, 0), 4) == (-0.2775, 0.2775)
