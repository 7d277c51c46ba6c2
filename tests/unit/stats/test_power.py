"""Power and numbers of cases against published values and enumeration."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from scipy.stats import binom, fisher_exact

from howsure.stats.paired_differences import mcnemar
from howsure.stats.power import (
    TABLED,
    Design,
    PairedMeans,
    PairedRates,
    UnpairedRates,
    _search_cases_needed,
    _table,
    cases_needed,
    detectable_difference,
    power,
    rejecting,
)


# The printed results of R's help page for power.t.test, and Cohen's tables (1988).
@pytest.mark.parametrize(
    ("design", "difference", "sure", "cases"),
    [
        (PairedMeans(deviation=1), 0.5, 0.8, 34),
        (PairedMeans(deviation=1), 0.2, 0.8, 199),
    ],
)
def test_the_needed_cases_of_the_tables(design: Design, difference: float, sure: float, cases: int) -> None:
    assert cases_needed(design, difference, sure) == cases
    assert cases_needed(design, -difference, sure) == cases


@pytest.mark.parametrize(("rate", "other", "n"), [(0.5, 0.9, 20), (0.9, 0.6, 31), (0.1, 0.1, 25)])
def test_the_power_of_fisher_s_test_enumerated(rate: float, other: float, n: int) -> None:
    expected = sum(
        float(binom.pmf(one, n, rate) * binom.pmf(two, n, other))
        for one in range(n + 1)
        for two in range(n + 1)
        if fisher_exact([[one, n - one], [two, n - two]]).pvalue <= 0.05
    )
    assert power(UnpairedRates(rate=rate), n, other - rate) == pytest.approx(expected, abs=1e-9)


def test_beyond_what_is_summed_the_corrected_curve_goes_on() -> None:
    exact, curve = (power(UnpairedRates(rate=0.7), cases, -0.05) for cases in (1500, 1501))
    assert curve == pytest.approx(exact, abs=0.002)


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
    assert (paired, apart) == (658, 1289)
    assert cases_needed(PairedRates(discordant=0.2), 0.10) == 168


@pytest.mark.parametrize(
    ("design", "difference"),
    [(PairedRates(discordant=0.2), 0.1), (PairedRates(discordant=0.5), 0.4), (UnpairedRates(rate=0.9), -0.2)],
)
def test_no_smaller_number_would_do(design: Design, difference: float) -> None:
    cases = cases_needed(design, difference)
    assert cases is not None
    assert 0.8 <= power(design, cases, difference) <= 0.825
    assert all(power(design, fewer, difference) < 0.8 for fewer in range(2, cases))


@pytest.mark.parametrize(
    "design",
    [PairedRates(discordant=0.2), UnpairedRates(rate=0.4), PairedMeans(deviation=3)],
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
    assert cases_needed(PairedRates(discordant=0.2, repeats=3, correlation=0.3), 0.05) == 340
    assert cases_needed(UnpairedRates(rate=0.5, repeats=2, correlation=0.0), 0.25, 0.9) == 38


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
    assert [int(each) for each in rejecting(0.05, beyond)] == [1984, 1985, 24780]


def test_the_same_question_is_answered_once() -> None:
    _search_cases_needed.cache_clear()
    first = cases_needed(PairedRates(discordant=0.2), 0.07)
    assert (first, cases_needed(PairedRates(discordant=0.2), 0.07)) == (338, 338)
    assert (_search_cases_needed.cache_info().misses, _search_cases_needed.cache_info().hits) == (1, 1)
