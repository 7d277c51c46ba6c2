"""The pass rate that people would have given, from the verdicts of a judge on all answers and of people on a few. A
judge that is too lenient moves the whole rate; the labels of people show by how much. Prediction-powered: the labels
are drawn from the answers themselves, each with a known chance, and count the more the rarer they were drawn. The
interval covers both samples, and answers to one case count as one. The difference of two runs is corrected in the same
way. By sensitivity and specificity: the labels may be about other answers."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from math import sqrt

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.special import betaincinv
from scipy.stats import norm
from scipy.stats import t as student

from howsure.stats.draws import inclusion_probabilities
from howsure.stats.intervals import Interval, clip_interval

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

FEWEST_LABELS = 20
"""With fewer labels there is no correction."""
MORE_LABELS = 20
"""How many more labels `RateCorrection.with_more` assumes."""
FOLDS = 5
PSEUDO = 0.5
"""Pseudo-labels added to each of the four outcomes: thirty labels without an error do not prove a perfect judge."""
UNIT: Interval = (0.0, 1.0)
NOTHING = 1e-12


class Correction(Enum):
    """Prediction-powered: the labels were drawn from the answers of the run. Sensitivity and specificity: labels may
    come from other answers, if the judge errs there as it does here."""

    PREDICTION_POWERED = "prediction_powered"
    SENSITIVITY_SPECIFICITY = "sensitivity_specificity"


class LabelTable(Struct, frozen=True, kw_only=True):
    """The answers with a verdict of a person and of the judge, counted by both. `pass_fail`: the person says pass, the
    judge fail. Weighted labels give broken numbers."""

    pass_pass: float
    pass_fail: float
    fail_pass: float
    fail_fail: float

    @property
    def n(self) -> float:
        return self.pass_pass + self.pass_fail + self.fail_pass + self.fail_fail

    @property
    def people_passed(self) -> float:
        return self.pass_pass + self.pass_fail

    @property
    def judge_passed(self) -> float:
        return self.pass_pass + self.fail_pass


class RateCorrection(Struct, frozen=True, kw_only=True):
    """`judge_rate` is the value by the judge, `value` what people would have given: a rate, or the difference of two.
    `judged` counts the answers without a label. `weight` (prediction-powered only) is how much the judge counts: 0 not
    at all, 1 fully. `with_more` is the width that the interval would have with twenty more labels."""

    value: float
    interval: Interval
    judge_rate: float
    labels: int
    judged: int
    method: Correction
    weight: float | None = None
    with_more: float | None = None
    confidence: float = 0.95


class JudgedAnswers(Struct, frozen=True, kw_only=True):
    """All answers of one side that the judge decided: its verdict (1 or 0), that of people (1, 0, or not a number where
    nobody labelled), how likely each labelled one was to be drawn (only ratios matter), and the number of its case."""

    judge: Floats
    people: Floats
    drawn: Floats
    cases: Whole

    @property
    def labelled(self) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = ~np.isnan(self.people)
        return found


class _CorrectedSide(Struct, frozen=True, kw_only=True):
    """One side, corrected. `judged` and `labelled` are what each case adds to the error of the estimate: through the
    judge's verdicts, and through the labels. `labels` is what the labels are worth; `unseen` is the variance that the
    made-up labels add, and `share` is their share of all labels."""

    value: float
    judged: Floats
    labelled: Floats
    weight: float
    labels: float
    label_cases: int
    share: float
    unseen: float


def _correct_side(answers: JudgedAnswers, cases: int, folds: int) -> _CorrectedSide:
    known, count = answers.labelled, len(answers.judge)
    weights = 1 / np.array(inclusion_probabilities(answers.drawn[known].tolist(), count))
    weights /= weights.sum()
    people, judge, own = answers.people[known], answers.judge[known], answers.cases[known]
    slopes = _slopes(people, judge, weights, own, folds)
    mean = float(answers.judge.mean())
    value = float((weights * (people - slopes * (judge - mean))).sum())
    residuals = people - slopes * (judge - mean) - value
    weight = float((weights * slopes).sum())
    by_case = _sum_by_case(weights, own, cases)
    labels = 1 / float((by_case**2).sum())
    cells = np.array([one - weight * (other - mean) - value for one in (0, 1) for other in (0, 1)])
    share = 4 * PSEUDO / (labels + 4 * PSEUDO)
    return _CorrectedSide(
        value=value,
        judged=_sum_by_case(weight * (answers.judge - mean) / count, answers.cases, cases),
        labelled=_sum_by_case(weights * residuals, own, cases),
        weight=weight,
        labels=labels,
        label_cases=len(np.unique(own)),
        share=share,
        unseen=share * float((cells**2).mean()) / labels,
    )


def _sum_by_case(values: Floats, cases: Whole, count: int) -> Floats:
    return np.bincount(cases, weights=values, minlength=count).astype(np.float64)


def _slopes(people: Floats, judge: Floats, weights: Floats, cases: Whole, folds: int) -> Floats:
    """The weight of the judge for each label, fitted on the other labels (cross-fitting). With one fold, on all
    labels."""
    names, numbers = np.unique(cases, return_inverse=True)
    fold = np.random.default_rng(0).permutation(len(names))[numbers] % max(1, min(folds, len(names)))
    slopes = np.zeros(len(people))
    for each in range(int(fold.max()) + 1):
        others = fold != each if folds > 1 else np.ones(len(people), np.bool_)
        share = weights[others] / weights[others].sum()
        from_mean = judge[others] - (share * judge[others]).sum()
        variance = float((share * from_mean**2).sum())
        best = float((share * from_mean * people[others]).sum()) / variance if variance > NOTHING else 0.0
        slopes[fold == each] = min(1.0, max(0.0, best))
    return slopes


def correct_rate(answers: JudgedAnswers, *, folds: int = FOLDS, confidence: float = 0.95) -> RateCorrection | None:
    """The pass rate that people would have given. The interval is exact (Clopper and Pearson) for the number of
    independent labels that the estimate is worth (Korn and Graubard, 1998). None: too few labels."""
    cases = int(answers.cases.max(initial=-1)) + 1
    if np.count_nonzero(answers.labelled) < FEWEST_LABELS:
        return None
    side = _correct_side(answers, cases, folds)
    value = min(1.0, max(0.0, side.value))
    smooth = (side.labels * value + 2 * PSEUDO) / (side.labels + 4 * PSEUDO)

    def interval(factor: float) -> Interval:
        worth = min(smooth * (1 - smooth) / max(_variance([side], factor), NOTHING), len(answers.judge))
        quantile = _quantile([side], confidence, factor)
        return exact_interval(value, worth * (float(norm.ppf((1 + confidence) / 2)) / quantile) ** 2, confidence)

    return _correction(value, float(answers.judge.mean()), [answers], [side], interval, confidence)


def correct_difference(
    first: JudgedAnswers, second: JudgedAnswers, *, folds: int = FOLDS, confidence: float = 0.95
) -> RateCorrection | None:
    """The difference, second minus first, of the pass rates that people would have given. Answers of both sides to one
    case have the same number. Student's t interval. None: a side has too few labels."""
    both = [first, second]
    cases = max(int(each.cases.max(initial=-1)) for each in both) + 1
    if min(np.count_nonzero(each.labelled) for each in both) < FEWEST_LABELS:
        return None
    sides = [_correct_side(each, cases, folds) for each in both]
    value = sides[1].value - sides[0].value

    def interval(factor: float) -> Interval:
        half = _quantile(sides, confidence, factor) * sqrt(_variance(sides, factor))
        return clip_interval((value - half, value + half), (-1.0, 1.0))

    judge = float(second.judge.mean() - first.judge.mean())
    return _correction(value, judge, both, sides, interval, confidence)


def _variance(sides: list[_CorrectedSide], factor: float = 1.0) -> float:
    """The variance of the value, or of the second less the first, over whole cases; with `factor` times the labels."""
    judged = sides[-1].judged - (sides[0].judged if len(sides) > 1 else 0)
    labelled = sides[-1].labelled - (sides[0].labelled if len(sides) > 1 else 0)
    few = min(side.label_cases for side in sides)
    kept = (1 - max(side.share for side in sides)) * few / max(1, few - 1)
    unseen = sum(side.unseen for side in sides)
    of_labels = kept * float((labelled**2).sum()) + unseen
    total = kept * float(((judged + labelled) ** 2).sum()) + unseen
    return max(NOTHING, total - of_labels * (1 - 1 / factor))


def _quantile(sides: list[_CorrectedSide], confidence: float, factor: float) -> float:
    worth = min(min(side.labels, side.label_cases) for side in sides)
    return float(student.ppf((1 + confidence) / 2, max(1.0, factor * worth - 1)))


def exact_interval(rate: float, worth: float, confidence: float) -> Interval:
    """Clopper and Pearson's interval, for any number of cases."""
    tail, good, bad = (1 - confidence) / 2, rate * worth, (1 - rate) * worth
    low = 0.0 if good < NOTHING else float(betaincinv(good, bad + 1, tail))
    high = 1.0 if bad < NOTHING else float(betaincinv(good + 1, bad, 1 - tail))
    return min(rate, low), max(rate, high)


def _correction(
    value: float,
    judge: float,
    both: list[JudgedAnswers],
    sides: list[_CorrectedSide],
    interval: Callable[[float], Interval],
    confidence: float,
) -> RateCorrection:
    answers = sum(len(each.judge) for each in both)
    labels = sum(int(np.count_nonzero(each.labelled)) for each in both)
    low, high = interval(1 + MORE_LABELS / labels)
    return RateCorrection(
        value=value,
        interval=interval(1.0),
        judge_rate=judge,
        labels=labels,
        judged=answers - labels,
        method=Correction.PREDICTION_POWERED,
        weight=min(side.weight for side in sides) * (answers - labels) / answers,
        with_more=high - low,
        confidence=confidence,
    )


def label_table(answers: JudgedAnswers) -> LabelTable:
    """The labels counted by their weights. Each verdict of people counts as many labels as it is worth: those of one
    case, and those that were drawn more often than others, count less."""
    cells = []
    for verdict in (1.0, 0.0):
        own = answers.labelled & (answers.people == verdict)
        weights = 1 / answers.drawn[own]
        by_case = np.bincount(answers.cases[own], weights=weights)
        worth = float(weights.sum() ** 2 / (by_case**2).sum()) if own.any() else 0.0
        passed = worth * float((weights * answers.judge[own]).sum() / weights.sum()) if own.any() else 0.0
        cells += [passed, worth - passed]
    return LabelTable(pass_pass=cells[0], pass_fail=cells[1], fail_pass=cells[2], fail_fail=cells[3])


def corrected_rate(
    labels: LabelTable,
    judge_passed: float,
    judged: float,
    method: Correction = Correction.PREDICTION_POWERED,
    confidence: float = 0.95,
) -> RateCorrection | None:
    """The corrected rate of counted answers, each about a case of its own; the labels are a plain random draw.
    `judge_passed` of `judged` are the verdicts of the judge on the answers *without* a label. None: too few labels,
    nothing judged, or (by sensitivity and specificity) a judge that is no better than a coin or errs differently here
    than on the labels."""
    if not 0 <= judge_passed <= judged:
        raise ValueError(f"{judge_passed} of {judged} is not a rate")
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, not at {confidence}")
    if labels.n < FEWEST_LABELS or judged == 0:
        return None
    match method:
        case Correction.PREDICTION_POWERED:
            return correct_rate(_answers(labels, round(judge_passed), round(judged)), folds=1, confidence=confidence)
        case Correction.SENSITIVITY_SPECIFICITY:
            return _by_error_rates(labels, judge_passed, judged, confidence)


def _answers(labels: LabelTable, judge_passed: int, judged: int) -> JudgedAnswers:
    counts = [round(each) for each in (labels.pass_pass, labels.pass_fail, labels.fail_pass, labels.fail_fail)]
    both = np.repeat([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], counts, axis=0)
    others = np.repeat([1.0, 0.0], [judge_passed, judged - judge_passed])
    count = len(both) + judged
    return JudgedAnswers(
        judge=np.concatenate([both[:, 1], others]),
        people=np.concatenate([both[:, 0], np.full(judged, np.nan)]),
        drawn=np.ones(count),
        cases=np.arange(count),
    )


def _include_value(value: float, interval: Interval) -> Interval:
    """The interval clipped to the scale and widened to hold the value: smoothing moves its centre away from the
    ends."""
    return clip_interval((min(value, interval[0]), max(value, interval[1])), UNIT)


def _by_error_rates(labels: LabelTable, judge_passed: float, judged: float, confidence: float) -> RateCorrection | None:
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
        labels=round(labels.n),
        judged=round(judged),
        method=Correction.SENSITIVITY_SPECIFICITY,
        confidence=confidence,
    )
