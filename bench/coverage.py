"""How often every interval holds the truth, every test raises a false alarm, every plan and gate keeps its promise: by
simulation, at 8 to 1,000 cases, at the extremes, with clusters and repeats. `make coverage` prints the table of
docs/statistics.md; `python -m bench coverage --draws 200` is quicker. Parts that are kept apart (labels, looking after
every case, models) add their own rows: `rows(draws, seed)` in a module `bench/coverage_….py`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from math import exp
from typing import Any

import numpy as np
from scipy.stats import binom, fisher_exact
from scipy.stats import t as student

from howsure.stats.clusters import ClusterSums, cluster_rate
from howsure.stats.estimates import estimate_mean, estimate_percentile, estimate_rate, reliability
from howsure.stats.intervals import Interval, wilson
from howsure.stats.paired_differences import holm, mcnemar, paired_means, paired_rates, tango
from howsure.stats.power import PairedRates, UnpairedRates, cases_needed
from howsure.stats.sample_sizes import cases_for_rate, cases_for_value, is_equal, pairs_to_settle
from howsure.stats.trend import RunRates, count_rates, paired_rates_of_runs, trend

Row = tuple[str, float, float]
"""The setting, what was measured, and what is promised: at least 0.93 for intervals, at most 0.055 for false alarms,
0.8 for plans, and at most 1.25 for a width beside that of the method named."""

HELD, ALARM, POWER, WIDTH = 0.93, 0.055, 0.8, 1.25
OTHERS = ("coverage_labels", "coverage_sure", "coverage_models", "coverage_widths")
DRAWS, SEED = 2000, 11
GRADES = (1.0, 2.0, 3.0, 4.0, 5.0)
CEILING = (0.02, 0.03, 0.05, 0.2, 0.7)
SHAPES = {
    "at the ceiling": CEILING,
    "nearly all 4 or 5": (0.0, 0.0, 0.02, 0.38, 0.6),
    "of 4 and 5, with one 1 in twenty": (0.05, 0.0, 0.0, 0.38, 0.57),
    "at the floor": CEILING[::-1],
}
Random = np.random.Generator
TENFOLD = "costs of which one in ten is tenfold"
AMOUNTS: dict[str, tuple[Callable[[Random, tuple[int, int]], Any], float]] = {
    "lognormal costs": (lambda random, size: random.lognormal(0, 1, size), exp(0.5)),
    "lognormal costs of spread 0.5": (lambda random, size: random.lognormal(0, 0.5, size), exp(0.125)),
    "lognormal costs of spread 1.5": (lambda random, size: random.lognormal(0, 1.5, size), exp(1.125)),
    "exponential latencies": (lambda random, size: random.exponential(1, size), 1.0),
    "gamma latencies of shape 0.5": (lambda random, size: random.gamma(0.5, 1, size), 0.5),
    "gamma latencies of shape 2": (lambda random, size: random.gamma(2, 1, size), 2.0),
    TENFOLD: (
        lambda random, size: random.lognormal(0, 0.5, size) * random.choice((1, 10), size, p=(0.9, 0.1)),
        1.9 * exp(0.125),
    ),
}
SHOWN = {TENFOLD: 30}
"""From so many on: among fewer there may be none of the kind that counts most."""


def holds(interval: Interval | None, truth: float) -> bool:
    return interval is not None and interval[0] - 1e-12 <= truth <= interval[1] + 1e-12


def share(made: Callable[[], bool], draws: int) -> float:
    return sum(made() for _ in range(draws)) / draws


def rate_rows(draws: int, random: Random) -> Iterator[Row]:
    for n in (8, 15, 30, 100, 300, 1000):
        for rate in (0.5, 0.9, 0.99):
            limits = [estimate_rate(passed, n) for passed in range(n + 1)]
            held = sum(
                float(binom.pmf(place, n, rate)) * holds(each.interval if each else None, rate)
                for place, each in enumerate(limits)
            )
            yield f"rate of {n} cases, {rate:.0%} (exactly)", held, HELD
    for clusters in (5, 20, 50):
        for rate in (0.5, 0.9, 0.97):
            held = share(lambda c=clusters, r=rate: _clustered(random, c, r), min(draws, 600))  # type: ignore[misc]
            yield f"rate of {clusters} clusters of 10, {rate:.0%}, resemblance 0.3", held, HELD
            held = sum(
                float(binom.pmf(passed, clusters, rate))
                for passed in range(clusters + 1)
                if holds(_cluster_interval(np.repeat([10.0, 0.0], [passed, clusters - passed])), rate)
            )
            yield f"rate of {clusters} clusters of 10 copies, {rate:.0%} (exactly)", held, HELD
    for clusters in (4, 10, 15, 20, 31, 40, 100, 200):
        yield f"the worst rate from 50% to 99.5% of {clusters} clusters of copies (exactly)", _copies(clusters), HELD


def _copies(clusters: int) -> float:
    counts = np.arange(clusters + 1)
    limits = [_cluster_interval(np.repeat([10.0, 0.0], [passed, clusters - passed])) for passed in counts]
    rates = np.arange(0.5, 0.996, 0.005)
    return min(float(binom.pmf(counts, clusters, rate) @ [holds(each, rate) for each in limits]) for rate in rates)


def _clustered(random: Random, clusters: int, rate: float) -> bool:
    own = random.beta(rate * 7 / 3, (1 - rate) * 7 / 3, clusters)
    return holds(_cluster_interval(random.binomial(10, own).astype(np.float64)), rate)


def _cluster_interval(sums: Any) -> Interval | None:
    return cluster_rate(ClusterSums(sums=sums, sizes=np.full(len(sums), 10.0))).interval


def mean_rows(draws: int, random: Random) -> Iterator[Row]:
    for n in (8, 15, 30, 100, 1000):
        for word, shares in SHAPES.items():
            # So near the promise that more draws are needed to see it.
            own = random.choice(GRADES, size=(min(2 * draws, 1_000_000 // n), n), p=shares)
            found = [estimate_mean(each, bounds=(1.0, 5.0)) for each in own.tolist()]
            yield f"mean of {n} grades of 1 to 5 {word}", _held(found, float(np.dot(GRADES, shares))), HELD
            if n >= 30:
                ours = [each.interval[1] - each.interval[0] for each in found if each and each.interval]
                plain = 2 * student.ppf(0.975, n - 1) * own.std(axis=1, ddof=1) / np.sqrt(n)
                width = float(np.median(ours) / np.median(plain))
                yield f"its median width beside Student's t, {n} grades {word}", width, WIDTH
    for word, (draw, truth) in AMOUNTS.items():
        for n in (8, 15, 30, 60, 300, 1000):
            if n >= SHOWN.get(word, 0):
                amounts = draw(random, (min(5 * draws, 1_000_000 // n), n))
                yield f"mean of {n} {word}", _held([estimate_mean(each) for each in amounts.tolist()], truth), HELD
    for n in (10, 20, 100):
        ease = random.beta(3, 0.5, size=(draws, n))
        tries = random.binomial(4, ease).tolist()
        truth = 1 - _unlucky(3, 0.5)
        again = [reliability([(passed, 4) for passed in each], 2, every=False) for each in tries]
        yield f"pass@2 of {n} cases tried 4 times", _held(again, truth), HELD
    for n in (10, 30):
        values = np.clip(
            random.choice((2, 4, 5), size=(draws, n, 1), p=(0.08, 0.22, 0.7))
            + random.choice((-1, 0, 0, 0), size=(draws, n, 3)), 1, 5
        )  # fmt: skip
        names = np.repeat(np.arange(n), 3).tolist()
        truth = 0.08 * 1.75 + 0.22 * 3.75 + 0.7 * 4.75
        found = [estimate_mean(each.ravel().tolist(), names, bounds=(1.0, 5.0)) for each in values.astype(np.float64)]
        yield f"mean grade of {n} cases tried 3 times", _held(found, truth), HELD
    for n, at in ((30, 0.5), (100, 0.95)):
        times = random.exponential(1, size=(draws, n))
        quantiles = [estimate_percentile(each, at) for each in times.tolist()]
        yield f"p{100 * at:g} of {n} latencies", _held(quantiles, float(-np.log(1 - at))), HELD


def _unlucky(good: float, bad: float) -> float:
    """The mean of (1 − p)² over a beta distribution."""
    return bad * (bad + 1) / ((good + bad) * (good + bad + 1))


def _held(found: list[Any], truth: float) -> float:
    return sum(each is not None and holds(each.interval, truth) for each in found) / len(found)


def comparison_rows(draws: int, random: Random) -> Iterator[Row]:
    for n in (10, 30, 100, 1000):
        for flips in (0.05, 0.2):
            counts = random.multinomial(n, (flips / 2, flips / 2, 1 - flips), size=draws)
            alarms = [mcnemar(int(up), int(down)) <= 0.05 for up, down, _ in counts]
            yield f"compare {n} verdicts, {flips:.0%} flip, no difference: false alarms", float(np.mean(alarms)), ALARM
            held = [holds(tango(int(up), int(down), n), 0.0) for up, down, _ in counts]
            yield f"the same: interval of the difference", float(np.mean(held)), HELD  # noqa: F541
    for n in (10, 50, 200):
        worse = random.binomial(n, 0.05, size=draws)
        wrong = [_is_equal(0, int(lost), n) for lost in worse]
        yield f"{n} cases, worse by 5 points, margin 5: wrongly called equal", float(np.mean(wrong)), ALARM
    fewer = min(draws, 400)
    for n, tries in ((12, 1), (40, 3)):
        found = [paired_means(*_scores(random, n, tries)) for _ in range(fewer)]
        wrong_means = [each is not None and each.p_value <= 0.05 for each in found]
        yield (
            f"compare {n} mean grades of {tries} tries, no difference: false alarms",
            float(np.mean(wrong_means)),
            ALARM,
        )
    families = [
        min(holm([mcnemar(*map(int, pair)) for pair in random.multinomial(80, (0.1, 0.1, 0.8), size=20)[:, :2]]))
        <= 0.05
        for _ in range(fewer)
    ]
    yield "20 slices of 80 cases, no difference: any false alarm", float(np.mean(families)), ALARM


def _scores(random: Random, n: int, tries: int) -> tuple[list[float], list[float]]:
    ease = random.normal(3, 1, (n, 1))
    one, other = (np.clip(ease + random.normal(0, 1, (n, tries)), 1, 5).mean(axis=1) for _ in range(2))
    return one.tolist(), other.tolist()


def _is_equal(gained: int, lost: int, n: int, margin: float = 0.05) -> bool:
    found = paired_rates(
        [0.0] * gained + [1.0] * (n - gained), [1.0] * gained + [0.0] * lost + [1.0] * (n - gained - lost)
    )
    return found is not None and is_equal(found, margin)


def plan_rows(draws: int, random: Random) -> Iterator[Row]:
    for flips, apart in ((0.2, 0.1), (0.3, 0.2), (0.2, 0.05)):
        n = cases_needed(PairedRates(discordant=flips), apart) or 0
        drawn = random.multinomial(n, ((flips + apart) / 2, (flips - apart) / 2, 1 - flips), size=draws)
        seen = [mcnemar(int(up), int(down)) <= 0.05 for up, down, _ in drawn]
        yield f"plan, paired, {100 * apart:g} points of {flips:.0%} flips: {n} cases", float(np.mean(seen)), POWER
    for rate, other in ((0.7, 0.6), (0.9, 0.7)):
        n = cases_needed(UnpairedRates(rate=rate), other - rate) or 0
        drawn = random.binomial(n, (rate, other), size=(draws, 2))
        seen = [fisher_exact([[one, n - one], [two, n - two]]).pvalue <= 0.05 for one, two in drawn.tolist()]
        yield f"plan, unpaired, {rate:.0%} against {other:.0%}: {n} cases each", float(np.mean(seen)), POWER
    for flips, apart, alike in ((0.2, 0.1, 0.5), (0.2, 0.1, 0.2)):
        n = cases_needed(PairedRates(discordant=flips, repeats=5, correlation=alike), apart) or 0
        seen = [_seen_again(random, n, flips, apart, alike) for _ in range(min(draws, 600))]
        yield f"plan, paired, 5 tries that correlate by {alike:g}: {n} cases", float(np.mean(seen)), POWER
    for gained, lost, n in ((10, 10, 100), (20, 6, 100), (12, 6, 100)):
        before, after = (
            [0.0] * gained + [1.0] * (n - gained),
            [1.0] * gained + [0.0] * lost + [1.0] * (n - gained - lost),
        )
        found = paired_rates(before, after)
        needed = (pairs_to_settle(found, 0.05) if found else None) or 0
        drawn = random.multinomial(needed, (gained / n, lost / n, 1 - (gained + lost) / n), size=min(draws, 1000))
        settled = [
            (mcnemar(int(up), int(down)) <= 0.05 and not holds(tango(int(up), int(down), needed), 0.0))
            or _is_equal(int(up), int(down), needed)
            for up, down, _ in drawn
        ]
        yield f"“{needed} pairs would tell” after {gained} gained, {lost} lost of {n}", float(np.mean(settled)), POWER


def _seen_again(random: Random, n: int, flips: float, apart: float, alike: float) -> bool:
    shares = ((flips + apart) / 2, (flips - apart) / 2, 1 - flips)
    shared, own = random.choice((1, -1, 0), size=(n, 1), p=shares), random.choice((1, -1, 0), size=(n, 5), p=shares)
    difference = np.where(random.random((n, 1)) < alike, shared, own).mean(axis=1)
    found = paired_rates(0.5 - difference / 2, 0.5 + difference / 2)
    return found is not None and found.p_value <= 0.05 and not holds(found.interval, 0.0)


def gate_rows(draws: int, random: Random) -> Iterator[Row]:
    for n in (20, 100, 1000):
        passed = random.binomial(n, 0.9, size=draws)
        found = [estimate_rate(int(count), n) for count in passed]
        for word, wrong in (
            ("held", [bool(each and each.interval and each.interval[0] > 0.9) for each in found]),
            ("failed", [bool(each and each.interval and each.interval[1] < 0.9) for each in found]),
        ):
            yield f"gate at its limit of 90 %, {n} cases: wrongly {word}", float(np.mean(wrong)), ALARM
    for passed_of, limit in (((45, 50), 0.8), ((85, 100), 0.8), ((92, 100), 0.9)):
        needed = cases_for_rate(*passed_of, limit) or 0
        counts = random.binomial(needed, passed_of[0] / passed_of[1], size=draws)
        told = [estimate_rate(int(count), needed) for count in counts]
        decided = [bool(each and not holds(each.interval, limit)) for each in told]
        yield (
            f"gate, “{needed} cases would settle it” after {passed_of[0]} of {passed_of[1]}",
            float(np.mean(decided)),
            POWER,
        )
    shares = (0.1, 0.1, 0.2, 0.3, 0.3)
    mean = float(np.dot(GRADES, shares))
    half = 2.0227 * float(np.sqrt(np.dot((np.array(GRADES) - mean) ** 2, shares) / 40))
    needed = cases_for_value(mean, (mean - half, mean + half), 40, 3.3) or 0
    drawn = random.choice(GRADES, size=(min(draws, 1000), needed), p=shares).tolist()
    means = [estimate_mean(row, bounds=(1.0, 5.0)) for row in drawn]
    settled = [bool(each and not holds(each.interval, 3.3)) for each in means]
    yield f"gate on a mean grade, “{needed} cases would settle it” after 40", float(np.mean(settled)), POWER


def trend_rows(draws: int, random: Random) -> Iterator[Row]:
    def shared(runs: int) -> RunRates:
        ease = random.beta(2, 0.5, 100)
        return _paired((random.random((runs, 100)) < ease).astype(np.float64))

    def wobbling(runs: int) -> RunRates:
        own = np.clip(0.85 + random.normal(0, 0.04, runs), 0, 1)
        return count_rates([(int(passed), 300) for passed in random.binomial(300, own)])

    def together(runs: int) -> RunRates:
        return _paired(np.repeat(random.random((runs, 20)) < random.beta(4, 1, 20), 10, axis=1).astype(np.float64))

    def chance(runs: int) -> RunRates:
        return count_rates([(int(passed), 100) for passed in random.binomial(100, 0.8, runs)])

    series = {
        "chance alone": chance,
        "the same cases": shared,
        "wobble of 4 points": wobbling,
        "flips of ten together": together,
    }
    for word, made in series.items():
        for runs in (5, 10, 20):
            alarms = [bool(trend(made(runs), draws=1999, seed=place)) for place in range(min(draws, 1000))]
            yield f"trend of {runs} runs, {word}: false alarms", float(np.mean(alarms)), ALARM


def _paired(values: Any) -> RunRates:
    found = paired_rates_of_runs(values)
    assert found is not None
    return found


def reference_rows(draws: int, random: Random) -> Iterator[Row]:
    """Widths beside named methods, from thirty cases on."""
    for n in (30, 100, 1000):
        ours, theirs = [], []
        for passed in random.binomial(n, 0.9, size=min(draws, 500)).tolist():
            found, other = estimate_rate(passed, n), wilson(passed, n)
            if found and found.interval and other:
                ours.append(found.interval[1] - found.interval[0])
                theirs.append(other[1] - other[0])
        yield (
            f"rate of {n} cases, 90 %: median width beside Wilson's",
            float(np.median(ours) / np.median(theirs)),
            WIDTH,
        )


PARTS = (rate_rows, mean_rows, comparison_rows, plan_rows, gate_rows, trend_rows, reference_rows)


def rows(draws: int = DRAWS, seed: int = SEED) -> Iterator[Row]:
    """Every row of this file, and those of the other parts."""
    for part in PARTS:
        yield from part(draws, np.random.default_rng(seed))
    for name in OTHERS:
        yield from import_module(f"bench.{name}").rows(draws, seed)


def kept(row: Row, slack: float = 0.0) -> bool:
    """Whether the promise is kept, up to the noise of the draws."""
    _, measured, promised = row
    if promised == POWER:
        return POWER - 0.015 - slack <= measured
    return measured >= promised - slack if 0.5 < promised < 1 else measured <= promised + slack


def main() -> None:
    draws = int(sys.argv[sys.argv.index("--draws") + 1]) if "--draws" in sys.argv else DRAWS
    print("| setting | measured | promised |\n| --- | --- | --- |")
    for row in rows(draws):
        word = "at most " if row[2] <= 0.5 or row[2] > 1 else "at least " if row[2] != POWER else "about "
        shown = [f"{value:.2f} ×" if row[2] > 1 else f"{100 * value:.1f} %" for value in row[1:]]
        print(f"| {row[0]} | {shown[0]}{'' if kept(row, 0.01) else ' **!**'} | {word}{shown[1]} |", flush=True)


if __name__ == "__main__":
    main()
