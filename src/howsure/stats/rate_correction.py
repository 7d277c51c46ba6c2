"""The pass rate that people would have given, from the verdicts of a judge on all cases and of people on a few. A judge
that is too lenient moves the whole rate; the labels of people on some cases show by how much. The interval includes
both uncertainties: few cases, and few labels."""

from __future__ import annotations

from enum import Enum
from math import exp, log, sqrt

from msgspec import Struct
from scipy.stats import norm
from scipy.stats import t as student

from howsure.stats.intervals import Interval, clip_interval

FEWEST_LABELS = 10
"""With fewer labels there is no correction."""
UNIT: Interval = (0.0, 1.0)


class Correction(Enum):
    """Prediction-powered: the labels are a random sample of the cases of the run. Sensitivity and specificity: labels
    may come from other cases, if the judge errs there as it does here."""

    PREDICTION_POWERED = "prediction_powered"
    SENSITIVITY_SPECIFICITY = "sensitivity_specificity"


class LabelTable(Struct, frozen=True, kw_only=True):
    """The cases with a verdict of a person and of the judge, counted by both. `pass_fail`: the person says pass, the
    judge fail."""

    pass_pass: int
    pass_fail: int
    fail_pass: int
    fail_fail: int

    @property
    def n(self) -> int:
        return self.pass_pass + self.pass_fail + self.fail_pass + self.fail_fail

    @property
    def people_passed(self) -> int:
        return self.pass_pass + self.pass_fail

    @property
    def judge_passed(self) -> int:
        return self.pass_pass + self.fail_pass


class RateCorrection(Struct, frozen=True, kw_only=True):
    """`judge_rate` is the rate by the judge, `value` the rate that people would have given. `weight`
    (prediction-powered only) is how much the judge counts: 0 not at all, 1 fully."""

    value: float
    interval: Interval
    judge_rate: float
    labels: int
    judged: int
    method: Correction
    weight: float | None = None
    confidence: float = 0.95


def corrected_rate(
    labels: LabelTable,
    judge_passed: int,
    judged: int,
    method: Correction = Correction.PREDICTION_POWERED,
    confidence: float = 0.95,
) -> RateCorrection | None:
    """The corrected rate. `judge_passed` of `judged` are the verdicts of the judge on the cases *without* a label.
    None: fewer than ten labels, nothing judged, or (by sensitivity and specificity) a judge that is no better than a
    coin or errs differently here than on the labels."""
    if not 0 <= judge_passed <= judged:
        raise ValueError(f"{judge_passed} of {judged} is not a rate")
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, not at {confidence}")
    if labels.n < FEWEST_LABELS or judged == 0:
        return None
    match method:
        case Correction.PREDICTION_POWERED:
            return _prediction_powered(labels, judge_passed, judged, confidence)
        case Correction.SENSITIVITY_SPECIFICITY:
            return _by_error_rates(labels, judge_passed, judged, confidence)


class _Table(Struct, frozen=True):
    """The shares of the label table, and the variances that follow from them."""

    both: float
    people: float
    judge: float

    @property
    def judge_variance(self) -> float:
        return self.judge * (1 - self.judge)

    @property
    def covariance(self) -> float:
        return self.both - self.people * self.judge

    def residual_variance(self, weight: float) -> float:
        """The variance of the verdict of people minus the weighted verdict of the judge."""
        own = self.people * (1 - self.people)
        return max(0.0, own - 2 * weight * self.covariance + weight * weight * self.judge_variance)


def _prediction_powered(labels: LabelTable, judge_passed: int, judged: int, confidence: float) -> RateCorrection:
    """Power-tuned: the judge gets the weight between 0 and 1 that gives the smallest variance."""
    table, unlabelled = _table(labels, 0.0), judge_passed / judged
    weight = _weight(table, labels.n, judged)
    value = table.people + weight * (unlabelled - table.judge)
    # Half a case is added to each cell: thirty labels without an error do not prove a perfect judge.
    smooth = _table(labels, 0.5)
    tuned = _weight(smooth, labels.n, judged)
    other = (judge_passed + 1) / (judged + 2)
    error = sqrt(smooth.residual_variance(tuned) / labels.n + tuned**2 * other * (1 - other) / judged)
    quantile = float(student.ppf((1 + confidence) / 2, labels.n - 1))
    centre = smooth.people + tuned * (unlabelled - smooth.judge)
    return RateCorrection(
        value=min(1.0, max(0.0, value)),
        interval=_include_value(value, _logit_interval(min(0.999, max(0.001, centre)), error, quantile)),
        judge_rate=(judge_passed + labels.judge_passed) / (judged + labels.n),
        labels=labels.n,
        judged=judged,
        method=Correction.PREDICTION_POWERED,
        weight=weight,
        confidence=confidence,
    )


def _weight(table: _Table, labels: int, judged: int) -> float:
    if table.judge_variance == 0:
        return 0.0
    best = table.covariance / (table.judge_variance * (1 + labels / judged))
    return min(1.0, max(0.0, best))


def _table(labels: LabelTable, added: float) -> _Table:
    n = labels.n + 4 * added
    return _Table(
        (labels.pass_pass + added) / n, (labels.people_passed + 2 * added) / n, (labels.judge_passed + 2 * added) / n
    )


def _logit_interval(centre: float, error: float, quantile: float) -> Interval:
    """On the scale of log odds, so that no end lies outside 0 to 1."""
    place, half = log(centre / (1 - centre)), quantile * error / (centre * (1 - centre))
    low, high = (1 / (1 + exp(-min(700.0, max(-700.0, end)))) for end in (place - half, place + half))
    return low, high


def _include_value(value: float, interval: Interval) -> Interval:
    """The interval clipped to the scale and widened to hold the value: smoothing moves its centre away from the
    ends."""
    return clip_interval((min(value, interval[0]), max(value, interval[1])), UNIT)


def _by_error_rates(labels: LabelTable, judge_passed: int, judged: int, confidence: float) -> RateCorrection | None:
    """Rogan and Gladen's estimate with the interval of Lang and Reiczigel."""
    good, bad = labels.people_passed, labels.n - labels.people_passed
    if not good or not bad:
        return None
    skill = labels.pass_pass / good + labels.fail_fail / bad - 1
    sensitivity, specificity = (labels.pass_pass + 1) / (good + 2), (labels.fail_fail + 1) / (bad + 2)
    if skill <= 0 or sensitivity + specificity <= 1:
        return None
    value = (judge_passed / judged - 1 + labels.fail_fail / bad) / skill
    z = float(norm.ppf((1 + confidence) / 2))
    apparent = (judge_passed + z * z / 2) / (judged + z * z)
    centre = (apparent + specificity - 1) / (sensitivity + specificity - 1)
    of_good = sensitivity * (1 - sensitivity) / (good + 2)
    of_bad = specificity * (1 - specificity) / (bad + 2)
    variance = apparent * (1 - apparent) / (judged + z * z) + centre**2 * of_good + (1 - centre) ** 2 * of_bad
    half = z * sqrt(variance) / (sensitivity + specificity - 1)
    moved = centre + 2 * z * z * (centre * of_good - (1 - centre) * of_bad)
    # No rate between 0 and 1 explains the verdicts: the judge errs differently here than on the labels.
    if moved - half >= 1 or moved + half <= 0:
        return None
    return RateCorrection(
        value=min(1.0, max(0.0, value)),
        interval=_include_value(value, (moved - half, moved + half)),
        judge_rate=judge_passed / judged,
        labels=labels.n,
        judged=judged,
        method=Correction.SENSITIVITY_SPECIFICITY,
        confidence=confidence,
    )
