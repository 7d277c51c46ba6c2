"""How often the intervals of rankings, raters, predicted rates and slices hold what they promise, by simulation."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import expit

from howsure.services.few_cases import CaseVerdicts, SampleRequest, choose_cases
from howsure.stats.estimates import reliability
from howsure.stats.items import shrink_rates
from howsure.stats.rankings import Comparisons, StrengthModel, bradley_terry, rank_intervals, value_interval
from howsure.stats.raters import accuracies, dawid_skene
from howsure.stats.variance import split_variance

Row = tuple[str, float, float]
Floats = NDArray[np.float64]
COVERAGE, NO_FALSE_ALARM = 0.93, 0.945
MOST_DRAWS = {"slices": 100, "rate": 100, "noise": 1000}
"""Of what takes long; one draw has twelve slices."""


def rows(draws: int, seed: int) -> Iterator[Row]:
    """Setting, measured share, promised share. `draws` simulations of each."""
    made = [
        *_strengths(),
        *_ranks_by_verdict(),
        *_raters(),
        *_slices(),
        *_predictions(),
        *_reliability(),
        *_noise(),
    ]
    for place, (setting, promised, draw) in enumerate(made):
        random = np.random.default_rng((seed, place))
        most = min(draws, MOST_DRAWS.get(setting.partition(" ")[0], draws))
        yield setting, float(np.mean([draw(random) for _ in range(most)])), promised


Draw = Callable[[Generator], float]
Setting = tuple[str, float, Draw]


def _strengths() -> Iterator[Setting]:
    truth, equal = np.array([0.8, 0.2, -0.2, -0.8]), np.zeros(4)
    for cases in (8, 15, 30, 100, 300):
        yield f"strengths of four, {cases} cases in both orders", COVERAGE, partial(_judged, truth, cases, False)
        yield f"ranks of four, {cases} cases in both orders", COVERAGE, partial(_judged, truth, cases, True)
        yield f"four equal ones, none surely ahead, {cases} cases", NO_FALSE_ALARM, partial(_judged, equal, cases, True)


def _judged_model(truth: Floats, cases: int, random: Generator) -> StrengthModel:
    """What is made of pairs that were judged in both orders. Half of the picks in the other order repeat the first one,
    so that the two are not independent."""
    one, other = np.triu_indices(len(truth), 1)
    first, second = np.tile(one, cases), np.tile(other, cases)
    gap = truth[first] - truth[second]
    weights = np.array([np.exp(gap / 2), np.exp(-gap / 2), np.full(len(gap), 0.6)])
    ends = np.cumsum(weights / weights.sum(axis=0), axis=0)
    drawn = [np.array([1.0, 0.0, 0.5])[(random.random(len(gap)) > ends[:2]).sum(axis=0)] for _ in range(2)]
    drawn[1] = np.where(random.random(len(gap)) < 0.5, drawn[0], drawn[1])
    shown = np.repeat([1.0, -1.0], len(gap))
    model = bradley_terry(
        len(truth),
        Comparisons(
            first=np.tile(first, 2),
            second=np.tile(second, 2),
            outcome=np.concatenate(drawn),
            cluster=np.tile(np.repeat(np.arange(cases), len(one)), 2),
            controls=shown[:, None],
        ),
    )
    assert model is not None
    return model


def _judged(truth: Floats, cases: int, ranks: bool, random: Generator) -> float:
    """The share of strengths, or ranks, that lie in their intervals."""
    model = _judged_model(truth, cases, random)
    intervals = [value_interval(model, place) for place in range(len(truth))]
    held = [low <= value <= high for value, (low, high) in zip(truth, filter(None, intervals), strict=True)]
    return _ranks_held(rank_intervals(model), truth) if ranks else float(np.mean(held))


def _ranks_held(intervals: list[tuple[int, int]], truth: Floats) -> float:
    """The share of sides whose true rank is in the interval; of equal sides, all ranks that they share."""
    best = [1 + int((truth > value).sum()) for value in truth]
    worst = [int((truth >= value).sum()) for value in truth]
    held = [low <= first and last <= high for (low, high), first, last in zip(intervals, best, worst, strict=True)]
    return float(np.mean(held))


def _ranks_by_verdict() -> Iterator[Setting]:
    for rates in ((0.9, 0.7, 0.7, 0.5), (0.97, 0.95, 0.9, 0.9), (0.6, 0.6, 0.6, 0.6)):
        for cases in (15, 50, 200):
            yield f"ranks by verdict, rates {rates}, {cases} cases", COVERAGE, partial(_by_verdict, rates, cases)


def _by_verdict(rates: tuple[float, ...], cases: int, random: Generator) -> float:
    """Cases are hard for all or easy for all: one draw decides half of each verdict."""
    truth = np.array(rates)
    own, common = random.random((cases, len(truth))), random.random((cases, 1))
    passed = np.where(random.random((cases, len(truth))) < 0.5, common, own) < truth
    one, other = np.triu_indices(len(truth), 1)
    model = bradley_terry(
        len(truth),
        Comparisons(
            first=np.repeat(one, cases),
            second=np.repeat(other, cases),
            outcome=(passed[:, one].astype(float) - passed[:, other] + 1).T.ravel() / 2,
            cluster=np.tile(np.arange(cases), len(one)),
            controls=np.zeros((cases * len(one), 0)),
        ),
    )
    assert model is not None
    return _ranks_held(rank_intervals(model), truth)


def _raters() -> Iterator[Setting]:
    for rates in ((0.9, 0.8, 0.7), (0.95, 0.9, 0.85, 0.8), (0.9, 0.9, 0.9, 0.6, 0.6)):
        for count in (50, 200):
            yield f"raters {rates}, {count} answers", COVERAGE, partial(_rated, rates, count)


def _rated(rates: tuple[float, ...], count: int, random: Generator) -> float:
    truth = random.random((count, 1)) < 0.7
    table = np.where(random.random((count, len(rates))) < np.array(rates), truth, ~truth).astype(np.int64)
    found = accuracies(dawid_skene(table, 2), table)
    return float(np.mean([low <= rate <= high for rate, (_, (low, high)) in zip(rates, found, strict=True)]))


def _slices() -> Iterator[Setting]:
    for mean in (0.5, 0.8, 0.95):
        for size in (5.0, 20.0, 200.0):
            yield f"slices around {mean:.0%}, spread of {size:g} cases", COVERAGE, partial(_sliced, mean, size)


def _sliced(mean: float, size: float, random: Generator) -> float:
    truth = random.beta(mean * size, (1 - mean) * size, 12)
    judged = random.integers(3, 60, 12)
    found = shrink_rates(random.binomial(judged, truth).astype(float), judged.astype(float))
    return float(np.mean([low <= rate <= high for rate, (_, (low, high)) in zip(truth, found, strict=True)]))


def _predictions() -> Iterator[Setting]:
    for candidates in (10, 40):
        yield f"rate over 100 cases from 25, {candidates} candidates", COVERAGE, partial(_predicted, candidates)


def _predicted(candidates: int, random: Generator) -> float:
    slopes, difficulties = np.exp(random.normal(0.1, 0.4, 100)), random.normal(-0.4, 1.2, 100)
    chances = expit(slopes * (random.normal(0, 1, (candidates + 1, 1)) - difficulties))
    table = (random.random(chances.shape) < chances).astype(float)
    ids = [str(place) for place in range(100)]
    every: list[Mapping[str, float]] = [dict(zip(ids, row, strict=True)) for row in table.tolist()]
    earlier = CaseVerdicts(ids[:candidates], every[:-1])
    _, chosen = choose_cases(ids, earlier, CaseVerdicts([], []), SampleRequest(count=25))
    part = {id: value for id, value in every[-1].items() if id in chosen}
    sample, _ = choose_cases(ids, earlier, CaseVerdicts(["new"], [part]), SampleRequest(count=25))
    low, high = sample.predictions[0].interval
    return float(low <= table[-1].mean() <= high)


def _reliability() -> Iterator[Setting]:
    """All cases alike; and sure, hopeless and flaky ones."""
    for name, ease, shares in (
        ("70 %", (0.7,), (1.0,)),
        ("90 %", (0.9,), (1.0,)),
        ("a mixture", (1, 0.2, 0.7), (0.5, 0.2, 0.3)),
    ):
        for n in (8, 10, 15, 30, 100):
            for k, word, every in ((3, "pass^3", True), (2, "pass@2", False)):
                setting = f"{word} of {n} cases tried 4 times, {name} pass"
                yield setting, COVERAGE, partial(_tried, np.array(ease), np.array(shares), n, k, every)


def _tried(ease: Floats, shares: Floats, n: int, k: int, every: bool, random: Generator) -> float:
    passed = random.binomial(4, random.choice(ease, size=n, p=shares)).tolist()
    found = reliability([(each, 4) for each in passed], k, every=every)
    truth = float(shares @ (ease**k if every else 1 - (1 - ease) ** k))
    assert found is not None and found.interval is not None
    return float(found.interval[0] - 1e-12 <= truth <= found.interval[1] + 1e-12)


def _noise() -> Iterator[Setting]:
    """Parts of the noise of grades, by their standard deviations. Where nothing is said, nothing false is said."""
    for n in (8, 30, 100):
        for agent, judge in ((0.1, 1.0), (0.5, 0.5)):
            truths = {"cases": 1.0, "agent": agent**2, "judge": judge**2, "agent_and_judge": agent**2 + judge**2}
            for part, truth in truths.items():
                setting = f"noise of {part.replace('_', ' ')}, {n} cases, agent {agent:g}, judge {judge:g}"
                yield setting, COVERAGE, partial(_split, part, truth, (agent, judge), n, 1.0)
        for part, truth in (("agent", 0.25), ("agent_and_judge", 0.5)):
            setting = f"noise of {part.replace('_', ' ')}, {n} cases, three tenths of them flaky"
            yield setting, COVERAGE, partial(_split, part, truth, (0.5, 0.5), n, 0.3)


def _split(part: str, truth: float, spreads: tuple[float, float], n: int, flaky: float, random: Generator) -> float:
    """Three tries of each case, two questions to the judge. The agent's noise may be that of a share of the cases."""
    own = (random.random((n, 1, 1)) < flaky) * spreads[0] / np.sqrt(flaky)
    tries = random.normal(size=(n, 1, 1)) + own * random.normal(size=(n, 3, 1))
    found = getattr(split_variance((tries + spreads[1] * random.normal(size=(n, 3, 2))).tolist()), part)
    assert found is not None
    return float(found.interval is None or found.interval[0] <= truth <= found.interval[1])


if __name__ == "__main__":
    for setting, measured, promised in rows(int(sys.argv[1]) if sys.argv[1:] else 1000, 1):
        print(f"{setting:60} {measured:6.1%} {promised:6.1%} {'' if measured >= promised else 'BELOW'}", flush=True)
