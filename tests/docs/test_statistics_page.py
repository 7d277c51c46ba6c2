"""The numbers that docs/statistics.md shows are the ones we compute."""

from __future__ import annotations

from pathlib import Path

import pytest
from scipy.stats import fisher_exact

from howsure.stats.clusters import clustered_rate
from howsure.stats.estimates import estimate_mean, estimate_rate, reliability
from howsure.stats.intervals import Interval, wilson
from howsure.stats.paired_differences import holm, paired_rates
from howsure.stats.power import PairedRates, UnpairedRates, cases_needed, detectable_difference
from howsure.stats.rate_correction import LabelTable, corrected_rate

PAGE = (Path(__file__).parents[2] / "docs" / "statistics.md").read_text(encoding="utf-8")


def percent(interval: Interval | None) -> str:
    assert interval is not None
    return f"{100 * interval[0]:.0f}–{100 * interval[1]:.0f} %"


def test_rates() -> None:
    for counts, shown in (((9, 10), "90 % (55–100 %)"), ((8, 13), "32 % to 86 %"), ((0, 10), "may still be 31 %")):
        found = estimate_rate(*counts)
        assert found is not None and found.interval is not None
        assert all(str(round(100 * end)) in shown for end in found.interval if end)
        assert shown in PAGE


def test_means() -> None:
    found = estimate_mean([5.0] * 10, bounds=(1.0, 5.0))
    assert found is not None and found.interval is not None
    assert round(found.interval[0], 1) == 3.8
    assert "have the interval 3.8–5" in PAGE


def test_clusters() -> None:
    passed = (10, 9, 10, 2, 10, 3)
    verdicts = [place < count for count in passed for place in range(10)]
    names = [place // 10 for place in range(60)]
    together, alone = clustered_rate(verdicts, names), estimate_rate(verdicts)
    assert together is not None and alone is not None
    assert f"as 60 unrelated cases    {percent(alone.interval)}" in PAGE
    assert f"as 6 documents           {percent(together.interval)}" in PAGE


def test_two_runs() -> None:
    found = paired_rates([1.0] * 22 + [0.0] * 28, [1.0] * 20 + [0.0] * 2 + [1.0] * 12 + [0.0] * 16)
    apart = fisher_exact([[22, 28], [32, 18]])
    assert found is not None and found.interval is not None
    assert [round(100 * end) for end in found.interval] == [6, 34]
    assert "+20 points (+6 to +34), p = .013" in PAGE
    assert (round(found.p_value, 3), round(float(apart.pvalue), 3)) == (0.013, 0.070)
    assert "p = .070" in PAGE


def test_many_questions() -> None:
    raw = [0.003, 0.02, 0.04, 0.30, 0.60]
    assert holm(raw) == pytest.approx([0.015, 0.08, 0.12, 0.60, 0.60])
    assert f"with a chance of {100 * (1 - 0.95**20):.0f} %" in PAGE


def test_trying_again() -> None:
    cases = [(4, 4)] * 12 + [(3, 4)] * 5 + [(1, 4)] * 3
    at = [reliability(cases, k, every=False) for k in range(1, 5)]
    hat = [reliability(cases, k, every=True) for k in range(1, 5)]
    assert [round(each.value, 4) for each in at if each] == [0.825, 0.925, 0.9625, 1.0]
    assert [round(each.value, 4) for each in hat if each] == [0.825, 0.725, 0.6625, 0.6]
    assert hat[3] is not None
    assert f"pass^4 is {percent(hat[3].interval)}" in PAGE


def test_corrected() -> None:
    labels = LabelTable(pass_pass=54, pass_fail=6, fail_pass=12, fail_fail=28)
    found = corrected_rate(labels, 700, 1000)
    assert found is not None
    assert (round(100 * found.value), percent(found.interval)) == (62, "54–70 %")
    assert percent(wilson(766, 1100)) == "67–72 %"
    assert percent(wilson(60, 100)) == "50–69 %"


@pytest.mark.parametrize(("difference", "points"), [(0.1, 10), (0.05, 5), (0.02, 2)])
def test_needed_cases(difference: float, points: int) -> None:
    paired, apart = (
        cases_needed(PairedRates(discordant=0.2), difference),
        cases_needed(UnpairedRates(rate=0.7), difference),
    )
    assert f"| {points} points | {paired:,} | {apart:,} |" in PAGE


def test_detectable_differences() -> None:
    found = [detectable_difference(PairedRates(discordant=0.2), cases) for cases in (50, 100, 200, 500, 1000)]
    assert [round(100 * each) for each in found if each] == [18, 13, 9, 6, 4]
