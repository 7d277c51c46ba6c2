"""How wide intervals are, beside a reference, from thirty cases on. The reference is Wald's interval of somebody who
knows the spread of the estimate: 3.92 standard deviations of it over all draws, which nobody can know from one sample.
For rates that are looked at after every case it is the beta-binomial mixture, for percentiles the normal curve;
coverage.py has Wilson's and Student's for plain rates and means."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from bench import coverage, coverage_labels, coverage_models, coverage_sure
from howsure.services.judge.agreement import case_rate
from howsure.stats.agreement_intervals import case_tables, table_figure
from howsure.stats.clusters import ClusterSums, cluster_rate
from howsure.stats.estimates import estimate_mean, estimate_percentile, reliability
from howsure.stats.intervals import Interval
from howsure.stats.items import shrink_rates
from howsure.stats.paired_differences import PairedDifference, paired_means, paired_rates
from howsure.stats.rankings import value_interval
from howsure.stats.rate_correction import correct_difference, correct_rate
from howsure.stats.raters import accuracies, dawid_skene

Random = np.random.Generator
Found = tuple[float, Interval | None]
Setting = tuple[str, Callable[[Random], Found]]
WALD, WIDTH = 3.92, 1.25
MOST_DRAWS, MOST_SLOW = 400, 100
COST_DRAWS = 2_000
COSTS = ("lognormal costs", "lognormal costs of spread 1.5", "exponential latencies", "gamma latencies of shape 2")
"""A few great costs decide the spread: fewer draws measure it badly."""


def clustered(random: Random, clusters: int, rate: float) -> Found:
    own = random.beta(rate * 7 / 3, (1 - rate) * 7 / 3, clusters)
    sums = random.binomial(10, own).astype(np.float64)
    found = cluster_rate(ClusterSums(sums=sums, sizes=np.full(clusters, 10.0)))
    return found.value, found.interval


def amounts(random: Random, n: int, word: str) -> Found:
    found = estimate_mean(coverage.AMOUNTS[word][0](random, (1, n))[0].tolist())
    assert found is not None
    return found.value, found.interval


def copies(random: Random, clusters: int) -> Found:
    sums = np.where(random.random(clusters) < 0.8, 10.0, 0.0)
    found = cluster_rate(ClusterSums(sums=sums, sizes=np.full(clusters, 10.0)))
    return found.value, found.interval


def bootstrap_widths(random: Random, n: int, word: str) -> tuple[float, float]:
    """Ours, and that of the bootstrap-t (Efron, 1981)."""
    drawn = coverage.AMOUNTS[word][0](random, (1, n))[0]
    found = estimate_mean(drawn.tolist())
    assert found is not None and found.interval is not None
    again = drawn[random.integers(0, n, (999, n))]
    # A sample of one value again and again has no spread.
    t = (again.mean(axis=1) - drawn.mean()) / np.maximum(again.std(axis=1), 1e-9)
    ends = np.quantile(t, (0.025, 0.975))
    return found.interval[1] - found.interval[0], float((ends[1] - ends[0]) * drawn.std())


def grades(random: Random, n: int, tries: int) -> Found:
    ease = random.choice((2, 4, 5), size=(n, 1), p=(0.08, 0.22, 0.7))
    values = np.clip(ease + random.choice((-1, 0, 0, 0), size=(n, tries)), 1, 5).ravel().astype(np.float64)
    found = estimate_mean(values.tolist(), np.repeat(np.arange(n), tries).tolist(), bounds=(1.0, 5.0))
    assert found is not None
    return found.value, found.interval


def tries(random: Random, n: int) -> Found:
    found = reliability([(passed, 4) for passed in random.binomial(4, random.beta(3, 0.5, n)).tolist()], 2, every=False)
    assert found is not None
    return found.value, found.interval


def percentile_widths(random: Random, n: int, share: float) -> tuple[float, float]:
    """Ours, and that between Conover's ranks (1980): the normal curve in place of the binomial distribution."""
    times = np.sort(random.exponential(1, n))
    found = estimate_percentile(times.tolist(), share)
    assert found is not None and found.interval is not None
    half = 1.96 * np.sqrt(n * share * (1 - share))
    first, last = (min(int(np.ceil(n * share + side * half)), n) for side in (-1, 1))
    return found.interval[1] - found.interval[0], float(times[last - 1] - times[first - 1])


def flips(random: Random, n: int, share: float) -> Found:
    up, down, same = random.multinomial(n, (share / 2, share / 2, 1 - share)).tolist()
    return _difference(paired_rates([0.0] * up + [1.0] * (n - up), [1.0] * up + [0.0] * down + [1.0] * same))


def paired_grades(random: Random, n: int) -> Found:
    ease = random.normal(3, 1, (n, 1))
    one, other = (np.clip(ease + random.normal(0, 1, (n, 3)), 1, 5).mean(axis=1) for _ in range(2))
    return _difference(paired_means(one.tolist(), other.tolist()))


def _difference(found: PairedDifference | None) -> Found:
    assert found is not None
    return found.difference, found.interval


def by_people(random: Random, labels: int, way: str) -> Found:
    people = (random.random(1000) < 0.7).astype(np.float64)
    judge = coverage_labels._judge(random, people, coverage_labels.FAIR)
    found = correct_rate(coverage_labels._label(random, judge, people, labels, way))
    assert found is not None
    return found.value, found.interval


def difference_by_people(random: Random, labels: int) -> Found:
    sides, numbers = [], random.random(1000)
    for rate in (0.7, 0.8):
        people = (random.random(1000) < rate).astype(np.float64)
        judge = coverage_labels._judge(random, people, coverage_labels.FAIR)
        sides.append(coverage_labels._label(random, judge, people, labels, "random", numbers))
    found = correct_difference(sides[0], sides[1])
    assert found is not None
    return found.value, found.interval


def kappa(random: Random, n: int) -> Found:
    people = (random.random(n) < 0.7).astype(np.float64)
    judge = coverage_labels._judge(random, people, (0.95, 0.8))
    value, interval = table_figure(case_tables((people == 1).tolist(), (judge == 1).tolist(), range(n), [1.0] * n))
    return value or 0.0, interval


def agreement(random: Random, cases: int, each: int) -> Found:
    held = (random.random((cases, each)) < random.beta(1.4, 0.6, size=cases)[:, None]).ravel().tolist()
    found = case_rate(held, [str(number) for number in range(cases) for _ in range(each)])
    return found.value or 0.0, found.interval


def strength(random: Random, cases: int) -> Found:
    model = coverage_models._judged_model(np.array([0.8, 0.2, -0.2, -0.8]), cases, random)
    return float(model.strengths[0]), value_interval(model, 0)


def rater(random: Random, count: int) -> Found:
    rates = np.array([0.9, 0.85, 0.8, 0.8])
    truth = random.random((count, 1)) < 0.6
    table = np.where(random.random((count, len(rates))) < rates, truth, ~truth).astype(np.int64)
    return accuracies(dawid_skene(table, 2), table)[0]


def shrunken(random: Random, judged: int) -> Found:
    truth = np.append(random.beta(16, 4, 11), 0.8)
    return shrink_rates(random.binomial(judged, truth).astype(float), np.full(12, float(judged)))[-1]


def settings() -> Iterator[Setting]:
    for clusters in (30, 100):
        yield f"rate of {clusters} clusters of 10, 80%", partial(clustered, clusters=clusters, rate=0.8)
        yield f"rate of {clusters} clusters of copies, 80%", partial(copies, clusters=clusters)
    for n in (30, 60, 1000):
        for word in COSTS:
            yield f"mean of {n} {word}", partial(amounts, n=n, word=word)
    for n in (30, 100):
        yield f"mean grade of {n} cases tried 3 times", partial(grades, n=n, tries=3)
        yield f"pass@2 of {n} cases tried 4 times", partial(tries, n=n)
        yield f"kappa, {n} cases", partial(kappa, n=n)
        yield f"strengths of four, {n} cases", partial(strength, cases=n)
        yield f"agreement, {n} cases with 5 grades", partial(agreement, cases=n, each=5)
        yield f"paired mean grades, {n} cases", partial(paired_grades, n=n)
    for n in (30, 100, 1000):
        yield f"difference of {n} verdicts, 20% flip", partial(flips, n=n, share=0.2)
    for labels in (40, 150):
        yield f"people's rate, {labels} labels of 1000", partial(by_people, labels=labels, way="random")
        yield f"difference by {labels} + {labels} labels of 1000", partial(difference_by_people, labels=labels)
    for count in (60, 200):
        yield f"raters, {count} answers", partial(rater, count=count)
    for n in (30, 100):
        yield f"slice of {n} cases, drawn to the whole", partial(shrunken, judged=n)


def rows(draws: int, seed: int) -> Iterator[tuple[str, float, float]]:
    """The median width of each, beside Wald's with the spread known."""
    for number, (name, draw) in enumerate(settings()):
        random = np.random.default_rng([seed, number])
        most = MOST_SLOW if name.startswith("slice") else MOST_DRAWS
        found = [draw(random) for _ in range(COST_DRAWS if name.endswith(COSTS) else min(draws, most))]
        widths = [interval[1] - interval[0] for _, interval in found if interval is not None]
        spread = float(np.std([value for value, _ in found], ddof=1))
        yield (
            f"{name}: median width beside Wald's, spread known",
            float(np.median(widths)) / (WALD * spread),
            WIDTH,
        )
    for n in (30, 60, 1000):
        random, name = np.random.default_rng([seed, n]), f"mean of {n} {coverage.TENFOLD}"
        both = np.median([bootstrap_widths(random, n, coverage.TENFOLD) for _ in range(min(draws, COST_DRAWS))], axis=0)
        yield f"{name}: median width beside the bootstrap-t", float(both[0] / both[1]), WIDTH
    for n, share in ((30, 0.5), (100, 0.95), (1000, 0.95)):
        random = np.random.default_rng([seed, n])
        both = np.median([percentile_widths(random, n, share) for _ in range(min(draws, MOST_DRAWS))], axis=0)
        yield f"p{100 * share:g} of {n} latencies: median width beside Conover's ranks", float(both[0] / both[1]), WIDTH
    for rate in (0.5, 0.9):
        for n in (30, 100, 300):
            ours, theirs = coverage_sure.median_widths(rate, n, seed)
            yield (
                f"until sure: {rate:.0%}, {n} looks: median width beside the beta-binomial mixture",
                ours / theirs,
                WIDTH,
            )


if __name__ == "__main__":
    for row in rows(int(sys.argv[1]) if sys.argv[1:] else MOST_DRAWS, coverage.SEED):
        print(f"{row[0]:90} {row[1]:5.2f}", flush=True)
