"""The rate people would have given: by hand, at the ends, and never outside the scale."""

from __future__ import annotations

from itertools import product

import pytest

from howsure.stats.rate_correction import Correction, LabelTable, RateCorrection, corrected_rate

RATES = Correction.SENSITIVITY_SPECIFICITY
#: Of 100 labelled cases people pass 60; the judge passes 54 of those, and 12 of the other 40.
LENIENT = LabelTable(pass_pass=54, pass_fail=6, fail_pass=12, fail_fail=28)


def found(corrected: RateCorrection | None) -> RateCorrection:
    assert corrected is not None
    return corrected


def test_the_sums_of_a_table() -> None:
    labels = LabelTable(pass_pass=2, pass_fail=1, fail_pass=4, fail_fail=1)
    assert (labels.n, labels.people_passed, labels.judge_passed) == (8, 3, 6)


def test_prediction_powered_by_hand() -> None:
    # Covariance .54 − .6 × .66 = .144; variance .66 × .34 = .2244; weight .144 / (.2244 × 1.1); the judge passes 700
    # of the 1,000 others, 4 points more than of the labelled ones.
    corrected = found(corrected_rate(LENIENT, 700, 1000))
    weight = 0.144 / (0.2244 * 1.1)
    assert corrected.weight == pytest.approx(weight)
    assert corrected.value == pytest.approx(0.60 + weight * 0.04)
    assert corrected.judge_rate == pytest.approx(766 / 1100)
    assert (corrected.labels, corrected.judged) == (100, 1000)
    low, high = corrected.interval
    assert low < corrected.value < high
    # √(.24 − 2·.583·.144 + .583²·.2244) / 10 joined with .583·√(.21/1000): .039, times t of 99 degrees; exact
    # intervals are a little wider.
    assert high - low == pytest.approx(2 * 1.984 * 0.0397, rel=0.06)


def test_sensitivity_and_specificity_by_hand() -> None:
    # (.70 + .70 − 1) / (.90 + .70 − 1)
    corrected = found(corrected_rate(LENIENT, 700, 1000, RATES))
    assert corrected.value == pytest.approx(0.4 / 0.6)
    assert corrected.weight is None
    low, high = corrected.interval
    assert (round(low, 2), round(high, 2)) == (0.54, 0.80)


def test_a_judge_that_is_never_wrong_is_believed_but_not_blindly() -> None:
    perfect = LabelTable(pass_pass=24, pass_fail=0, fail_pass=0, fail_fail=6)
    corrected = found(corrected_rate(perfect, 8000, 10_000))
    assert corrected.value == pytest.approx(0.8)
    low, high = corrected.interval
    assert low < 0.73 and high > 0.85, "thirty labels cannot show a judge without error"


def test_a_judge_without_any_skill_is_not_listened_to() -> None:
    coin = LabelTable(pass_pass=20, pass_fail=20, fail_pass=20, fail_fail=20)
    corrected = found(corrected_rate(coin, 900, 1000))
    assert (corrected.weight, corrected.value) == (0.0, 0.5)
    assert corrected_rate(coin, 900, 1000, RATES) is None


def test_a_judge_that_is_always_wrong_is_not_listened_to_either() -> None:
    contrary = LabelTable(pass_pass=0, pass_fail=20, fail_pass=20, fail_fail=0)
    assert found(corrected_rate(contrary, 900, 1000)).weight == 0
    assert corrected_rate(contrary, 900, 1000, RATES) is None


def test_a_judge_that_always_passes_tells_nothing() -> None:
    yes = LabelTable(pass_pass=30, pass_fail=0, fail_pass=20, fail_fail=0)
    corrected = found(corrected_rate(yes, 1000, 1000))
    assert corrected.weight == 0.0
    assert corrected.value == pytest.approx(0.6)


def test_nineteen_labels_are_too_few_and_nothing_judged_is_nothing() -> None:
    assert corrected_rate(LabelTable(pass_pass=10, pass_fail=2, fail_pass=2, fail_fail=5), 50, 100) is None
    assert corrected_rate(LENIENT, 0, 0) is None


def test_people_who_all_pass_give_no_specificity() -> None:
    generous = LabelTable(pass_pass=20, pass_fail=5, fail_pass=0, fail_fail=0)
    assert corrected_rate(generous, 80, 100, RATES) is None
    corrected = found(corrected_rate(generous, 80, 100))
    assert corrected.value == 1.0
    assert corrected.interval[1] == 1.0
    assert corrected.interval[0] < 0.97


def test_a_judge_that_errs_otherwise_here_than_on_the_labels_cannot_correct() -> None:
    strict = LabelTable(pass_pass=10, pass_fail=90, fail_pass=0, fail_fail=100)
    assert corrected_rate(strict, 1000, 1000, RATES) is None, "it passed 10 % of the good ones, and now everything"


@pytest.mark.parametrize("method", list(Correction))
def test_never_outside_the_scale_and_never_without_its_own_estimate(method: Correction) -> None:
    for cells in product((0, 1, 10, 40), repeat=4):
        labels = LabelTable(pass_pass=cells[0], pass_fail=cells[1], fail_pass=cells[2], fail_fail=cells[3])
        for passed in (0, 1, 50, 99, 100):
            corrected = corrected_rate(labels, passed, 100, method)
            if corrected is not None:
                low, high = corrected.interval
                assert 0 <= low <= corrected.value <= high <= 1
                assert high > low


def test_more_labels_and_more_cases_make_it_surer() -> None:
    def width(labels: LabelTable, judged: int) -> float:
        low, high = found(corrected_rate(labels, judged * 7 // 10, judged)).interval
        return high - low

    tenfold = LabelTable(pass_pass=540, pass_fail=60, fail_pass=120, fail_fail=280)
    assert width(tenfold, 1000) < width(LENIENT, 1000) < width(LENIENT, 100)


def test_what_is_no_rate_is_refused() -> None:
    with pytest.raises(ValueError, match="3 of 2 is not a rate"):
        corrected_rate(LENIENT, 3, 2)
    with pytest.raises(ValueError, match="between 0 and 1"):
        corrected_rate(LENIENT, 1, 2, confidence=95)
