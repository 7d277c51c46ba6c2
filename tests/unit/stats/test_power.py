"""Power and numbers of cases against published values and enumeration."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from howsure.stats.estimates import estimate_rate
from howsure.stats.paired_differences import mcnemar
from howsure.stats.power import (
    TABLED,
    Design,
    PairedMeans,
    PairedRates,
    UnpairedMeans,
    UnpairedRates,
    _rejecting,
    _search_cases_needed,
    _table,
    cases_for_rate,
    cases_for_value,
    cases_needed,
    detectable_difference,
    power,
)


# The printed results of R's help pages for power.t.test and power.prop.test, and Cohen's tables (1988).
@pytest.mark.parametrize(
    ("design", "difference", "sure", "cases"),
    [
        (UnpairedMeans(deviation=1), 0.5, 0.8, 64),
        (UnpairedMeans(deviation=1), 0.2, 0.8, 394),
        (UnpairedMeans(deviation=1), 0.8, 0.8, 26),
        (PairedMeans(deviation=1), 0.5, 0.8, 34),
        (PairedMeans(deviation=1), 0.2, 0.8, 199),
        (UnpairedRates(rate=0.5), 0.25, 0.9, 77),
    ],
)
def test_the_needed_cases_of_the_tables(design: Design, difference: float, sure: float, cases: int) -> None:
    assert cases_needed(design, difference, sure) == cases
    assert cases_needed(design, -difference, sure) == cases


def test_the_power_of_the_help_page() -> None:
    assert round(power(UnpairedMeans(deviation=1), 20, 1), 4) == 0.8690


def test_the_power_of_mcnemar_s_test_enumerated() -> None:
    rising, falling, n = 0.5, 0.1, 12
    expected = 0.0
    for gained in range(n + 1):
        for lost in range(n - gained + 1):
            chance = (
                comb(n, gained) * comb(n - gained, lost) * rising**gained * falling**lost * 0.4 ** (n - gained - lost)
            )
            expected += chance * (mcnemar(gained, lost) <= 0.05)
    assert power(PairedRates(discordant=0.6), n, 0.4) == pytest.approx(expected)


def test_a_difference_of_nothing_is_found_at_most_as_often_as_the_level() -> None:
    for cases in (10, 50, 333):
        assert power(PairedRates(discordant=0.3), cases, 0.0) <= 0.05
    assert power(PairedMeans(deviation=2), 30, 0.0) == pytest.approx(0.05)


def test_paired_runs_need_half_the_cases() -> None:
    """The usual formula says 621 and 150 for McNemar's test by the normal curve; the exact test needs some more."""
    paired, apart = cases_needed(PairedRates(discordant=0.2), 0.05), cases_needed(UnpairedRates(rate=0.7), 0.05)
    assert (paired, apart) == (658, 1251)
    assert cases_needed(PairedRates(discordant=0.2), 0.10) == 168


def test_the_needed_number_holds_for_those_that_follow() -> None:
    design = PairedRates(discordant=0.2)
    cases = cases_needed(design, 0.1)
    assert cases is not None
    assert all(power(design, more, 0.1) >= 0.8 for more in range(cases, cases + 20))
    assert power(design, cases - 1, 0.1) < 0.8


@pytest.mark.parametrize(
    "design",
    [PairedRates(discordant=0.2), UnpairedRates(rate=0.4), PairedMeans(deviation=3), UnpairedMeans(deviation=0.2)],
)
def test_what_is_detectable_is_detected_as_often_as_wanted(design: Design) -> None:
    difference = detectable_difference(design, 200, 0.9)
    assert difference is not None
    assert power(design, 200, difference) == pytest.approx(0.9, abs=1e-6)


def test_from_a_high_rate_one_can_only_fall() -> None:
    difference = detectable_difference(UnpairedRates(rate=0.95), 100)
    assert difference is not None
    assert power(UnpairedRates(rate=0.95), 100, -difference) == pytest.approx(0.8, abs=1e-6)


def test_twenty_cases_of_which_four_differ_show_nothing() -> None:
    assert detectable_difference(PairedRates(discordant=0.2), 20) is None
    assert detectable_difference(PairedMeans(deviation=1), 1) is None


def test_what_repeats_are_worth() -> None:
    def cases(repeats: int, correlation: float) -> int | None:
        return cases_needed(PairedMeans(deviation=1, repeats=repeats, correlation=correlation), 0.2)

    assert cases(1, 0.5) == 199
    assert cases(4, 1.0) == 199, "tries that are all alike tell nothing new"
    assert cases(4, 0.0) == 52, "independent ones are as good as cases, but for what the t test costs"
    assert cases(4, 0.5) == 125
    assert cases_needed(PairedRates(discordant=0.2, repeats=3, correlation=0.3), 0.05) == 333
    assert cases_needed(UnpairedRates(rate=0.5, repeats=2, correlation=0.0), 0.25, 0.9) == 39


def test_what_nobody_can_plan_is_refused_with_what_is_missing() -> None:
    with pytest.raises(ValueError, match="give it"):
        PairedMeans(deviation=1, repeats=3)
    with pytest.raises(ValueError, match="at least once"):
        PairedMeans(deviation=1, repeats=0)
    with pytest.raises(ValueError, match="correlation of tries"):
        PairedMeans(deviation=1, repeats=2, correlation=1.5)
    with pytest.raises(ValueError, match="discordant"):
        PairedRates(discordant=0)
    with pytest.raises(ValueError, match="pass rate"):
        UnpairedRates(rate=1)
    with pytest.raises(ValueError, match="difference of 0"):
        cases_needed(PairedMeans(deviation=1), 0)
    with pytest.raises(ValueError, match=r"needs more than 0\.2 discordant"):
        cases_needed(PairedRates(discordant=0.2), 0.3)
    with pytest.raises(ValueError, match=r"needs more than 0\.2 discordant"):
        cases_needed(PairedRates(discordant=0.2, repeats=2, correlation=0.5), 0.3)
    with pytest.raises(ValueError, match="cannot change by"):
        power(UnpairedRates(rate=0.9), 10, 0.2)


def test_a_difference_too_small_for_ten_million_cases() -> None:
    assert cases_needed(PairedMeans(deviation=1), 1e-5) is None
    assert power(PairedMeans(deviation=1), 1, 5.0) == 0
    assert power(PairedMeans(deviation=0), 5, 1.0) == 1


def test_what_is_looked_up_is_what_is_computed() -> None:
    """McNemar's test of n discordant cases rejects up to a number; more than that, and never less."""
    for n in range(60):
        most = int(_table(0.05)[n])
        assert most == max((fewer for fewer in range(n // 2 + 1) if mcnemar(fewer, n - fewer) <= 0.05), default=-1)
    beyond = np.array([TABLED, TABLED + 1, 50_000])
    assert [int(each) for each in _rejecting(0.05, beyond)] == [1984, 1985, 24780]


def test_the_same_question_is_answered_once() -> None:
    _search_cases_needed.cache_clear()
    first = cases_needed(PairedRates(discordant=0.2), 0.07)
    assert (first, cases_needed(PairedRates(discordant=0.2), 0.07)) == (338, 338)
    assert (_search_cases_needed.cache_info().misses, _search_cases_needed.cache_info().hits) == (1, 1)


@pytest.mark.parametrize(
    ("passed", "judged", "limit", "expected"),
    [
        (10, 10, 0.9, 36),
        (0, 10, 0.1, 36),
        (20, 20, 0.95, 72),
        (100, 100, 0.9, 100),
        (9, 10, 0.9, None),
        (0, 0, 0.9, None),
    ],
    ids=["0.9 to the 36th is 0.0225", "the same from below", "0.95 to the 72nd is 0.0249", "settled already",
         "on the limit", "nothing judged"],
)  # fmt: skip
def test_the_cases_that_settle_a_rate(passed: int, judged: int, limit: float, expected: int | None) -> None:
    assert cases_for_rate(passed, judged, limit) == expected


@pytest.mark.parametrize(("passed", "judged", "limit"), [(45, 50, 0.8), (30, 50, 0.7), (190, 200, 0.93), (3, 20, 0.3)])
def test_so_many_cases_really_settle_it(passed: int, judged: int, limit: float) -> None:
    enough = cases_for_rate(passed, judged, limit)
    assert enough is not None and enough > judged
    found = estimate_rate(round(passed / judged * enough), enough)
    assert found is not None and found.interval is not None
    assert found.interval[0] > limit or found.interval[1] < limit


@pytest.mark.parametrize(
    ("value", "interval", "n", "limit", "expected"),
    [
        (4.2, (3.8, 4.6), 25, 4.0, 100),
        (-0.01, (-0.05, 0.03), 100, -0.02, 1600),
        (2.0, (1.0, 3.0), 10, 2.5, 40),
        (4.0, (3.5, 4.5), 25, 4.0, None),
        (4.0, (3.9, 4.1), 25, 3.0, 25),
        (4.000001, (3.0, 5.0), 25, 4.0, None),
    ],
    ids=["half the width takes four times", "a drop", "from below", "on the limit", "settled already", "too near"],
)
def test_other_intervals_shrink_with_the_root(
    value: float, interval: tuple[float, float], n: int, limit: float, expected: int | None
) -> None:
    assert cases_for_value(value, interval, n, limit) == expected
