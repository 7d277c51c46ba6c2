"""Do confidence sequences hold what they promise, with a look after every case; and what do they save? `rows` gives the
coverage, `python -m bench coverage_sure` prints the tables of docs/statistics.md. Public data is read where it is."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

from howsure.stats.confidence_sequences import anytime_interval, first_decision

Floats = NDArray[np.float64]
Drawn = tuple[Floats, Floats, Floats | float]
"""The least and the most that each value may be, and the weights."""
PROMISED = 0.95
GATES = (0.5, 0.6, 0.7, 0.8, 0.9)
AWAY = 0.1
SHARED = Path(os.environ.get("HOWSURE_SHARED", Path(__file__).parents[2] / "shared"))
OPENQA = SHARED / "data" / "openqa_eval" / "nq301.jsonl"


def passes(rate: float) -> Callable[[np.random.Generator, int], Drawn]:
    def draw(chance: np.random.Generator, n: int) -> Drawn:
        found = (chance.random(n) < rate).astype(np.float64)
        return found, found, 1.0

    return draw


def repeats(rate: float, resemblance: float, tries: int) -> Callable[[np.random.Generator, int], Drawn]:
    """Means of several tries of a case, which resemble each other."""

    def draw(chance: np.random.Generator, n: int) -> Drawn:
        strength = 1 / resemblance - 1
        found = chance.binomial(tries, chance.beta(rate * strength, (1 - rate) * strength, n)) / tries
        return found, found, 1.0

    return draw


def clusters(rate: float, resemblance: float, largest: int) -> Callable[[np.random.Generator, int], Drawn]:
    """Scenarios of one to `largest` cases; the larger the harder, so that the pooled rate is not the mean of theirs."""

    def draw(chance: np.random.Generator, n: int) -> Drawn:
        sizes, strength = chance.integers(1, largest + 1, n), 1 / resemblance - 1
        own = np.clip(rate + 0.1 * (0.5 * (largest + 1) + (largest - 1) / 6 - sizes) / largest, 0.02, 0.98)
        found = chance.binomial(sizes, chance.beta(own * strength, (1 - own) * strength)) / sizes
        return found, found, sizes / largest

    return draw


def grades(shares: tuple[float, ...]) -> Callable[[np.random.Generator, int], Drawn]:
    """Grades from 1 to 5 with these shares, on a scale from 0 to 1."""

    def draw(chance: np.random.Generator, n: int) -> Drawn:
        found = chance.choice(np.arange(5) / 4, n, p=shares)
        return found, found, 1.0

    return draw


def differences(lost: float, gained: float) -> Callable[[np.random.Generator, int], Drawn]:
    """Paired verdicts: some lost, some gained, the others alike; from 0 to 1."""

    def draw(chance: np.random.Generator, n: int) -> Drawn:
        found = chance.choice([0.0, 0.5, 1.0], n, p=[lost, 1 - lost - gained, gained])
        return found, found, 1.0

    return draw


def errors(rate: float, broken: float) -> Callable[[np.random.Generator, int], Drawn]:
    """Passes and fails of which some were not judged."""

    def draw(chance: np.random.Generator, n: int) -> Drawn:
        found, gone = (chance.random(n) < rate).astype(np.float64), chance.random(n) < broken
        return np.where(gone, 0.0, found), np.where(gone, 1.0, found), 1.0

    return draw


CEILING = (0.02, 0.02, 0.06, 0.2, 0.7)
SETTINGS: tuple[tuple[str, float | None, Callable[[np.random.Generator, int], Drawn], tuple[int, ...]], ...] = (
    *(
        (f"pass rate {100 * rate:.0f} %", rate, passes(rate), (8, 30, 100, 1_000))
        for rate in (0.02, 0.5, 0.8, 0.9, 0.98)
    ),
    ("pass rate 80 %, 3 tries of each case, resemblance .5", 0.8, repeats(0.8, 0.5, 3), (30, 300)),
    ("pass rate 95 %, 5 tries of each case, resemblance .2", 0.95, repeats(0.95, 0.2, 5), (30, 300)),
    ("pass rate, scenarios of 1 to 6 cases, larger ones harder", None, clusters(0.75, 0.3, 6), (30, 300)),
    (
        "mean of grades 1 to 5 at the ceiling",
        float(np.dot(CEILING, np.arange(5) / 4)),
        grades(CEILING),
        (8, 100, 1_000),
    ),
    ("paired difference 0, 20 % of cases flip", 0.5, differences(0.1, 0.1), (30, 300, 1_000)),
    ("paired difference -5 points, 9 % of cases flip", 0.475, differences(0.07, 0.02), (30, 300, 1_000)),
    ("pass rate 90 %, 5 % of cases errored", 0.9, errors(0.9, 0.05), (100, 1_000)),
)


def rows(draws: int, seed: int) -> Iterator[tuple[str, float, float]]:
    """Setting, the share of runs in which no look ever ruled the truth out, and the share that was promised."""
    for place, (name, mean, draw, sizes) in enumerate(SETTINGS):
        if mean is None:
            lows, _, weights = draw(np.random.default_rng(0), 1_000_000)
            mean = float(np.average(lows, weights=weights))
        for n in sizes:
            chance = np.random.default_rng([seed, place, n])
            held = 0
            for _ in range(draws):
                lows, highs, weights = draw(chance, n)
                held += first_decision(lows, highs, mean, weights) is None
            yield f"until sure: {name}, {n:,} looks", held / draws, PROMISED


def savings(n: int, gate: float, rate: float, orders: int, seed: int) -> tuple[float, float, float]:
    """Of runs over so many cases: the median share of cases asked, and how often nothing or the opposite is decided."""
    chance = np.random.default_rng([seed, n, round(100 * gate), round(100 * rate)])
    used, undecided, opposite = [], 0, 0
    for _ in range(orders):
        values, _, _ = passes(rate)(chance, n)
        found = first_decision(values, values, gate)
        used.append(found.look if found else n)
        undecided += found is None
        opposite += found is not None and found.above != (rate >= gate)
    return median(used) / n, undecided / orders, opposite / orders


def questions(path: Path = OPENQA) -> tuple[Floats, Floats]:
    """Of openqa_eval: people's verdicts by question, and how many answers each has, of the most."""
    tries: dict[str, list[bool]] = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        tries[row["question_id"]].append(row["human"] == "Yes")
    sizes = np.array([len(each) for each in tries.values()], dtype=np.float64)
    return np.array([np.mean(each) for each in tries.values()]), sizes / sizes.max()


def orders_of_questions(gate: float, orders: int, seed: int, path: Path = OPENQA) -> tuple[float, float, float]:
    """The same for random orders of the questions."""
    values, weights = questions(path)
    truth, chance = float(np.average(values, weights=weights)), np.random.default_rng(seed)
    used, undecided, opposite = [], 0, 0
    for _ in range(orders):
        order = chance.permutation(len(values))
        found = first_decision(values[order], values[order], gate, weights[order])
        used.append(found.look if found else len(values))
        undecided += found is None
        opposite += found is not None and found.above != (truth >= gate)
    return median(used) / len(values), undecided / orders, opposite / orders


def beta_binomial_width(passed: int, n: int) -> float:
    """The width of the best-known confidence sequence of a rate, a uniform mixture (Robbins), for comparison."""
    means = np.linspace(0.0005, 0.9995, 1_000)
    capital = betaln(passed + 1, n - passed + 1) - passed * np.log(means) - (n - passed) * np.log1p(-means)
    left = means[capital < np.log(1 / (1 - PROMISED))]
    return float(left[-1] - left[0])


SIZES = (200, 301, 1_000)
LOOKS = (8, 30, 100, 300, 1_000)


def told(found: tuple[float, float, float]) -> str:
    """`38 % · 4 % · 0.1 %`: asked, nothing decided, the opposite decided."""
    return f"{100 * found[0]:.0f} % · {100 * found[1]:.0f} % · {100 * found[2]:.1f} %"


def main(orders: int = 1_000, seed: int = 22) -> None:
    print("| gate | true rate | " + " | ".join(f"{n:,} cases" for n in SIZES) + " |\n| --- | --- | --- | --- | --- |")
    for gate in GATES:
        for rate in (gate - AWAY, gate + AWAY):
            cells = " | ".join(told(savings(n, gate, rate, orders, seed)) for n in SIZES)
            print(f"| {100 * gate:.0f} % | {100 * rate:.0f} % | {cells} |")
    values, weights = questions()
    truth = float(np.average(values, weights=weights))
    for gate in (truth - AWAY, truth + AWAY):
        cell = told(orders_of_questions(gate, orders, seed))
        print(f"| {100 * gate:.1f} % | {100 * truth:.1f} %, `openqa_eval` | | {cell} | |")
    print("\n| setting | " + " | ".join(f"{n:,} looks" for n in LOOKS) + " |\n| --- | --- | --- | --- | --- | --- |")
    held: dict[str, dict[str, str]] = defaultdict(dict)
    for name, share, _ in rows(orders, seed):
        setting, _, looks = name.removeprefix("until sure: ").rpartition(", ")
        held[setting][looks] = f"{100 * share:.1f} %"
    for setting, cells_of in held.items():
        print(f"| {setting} | " + " | ".join(cells_of.get(f"{n:,} looks", "") for n in LOOKS) + " |")
    print("\n| rate | " + " | ".join(f"{n:,} cases" for n in LOOKS[1:]) + " |\n| --- | --- | --- | --- | --- |")
    for rate in (0.5, 0.9, 0.98):
        print(f"| {100 * rate:.0f} % | " + " | ".join(width(rate, n, seed) for n in LOOKS[1:]) + " |")


def width(rate: float, n: int, seed: int) -> str:
    """`32.6 points, × 1.05`: the median width, and beside that of the reference."""
    own, other = median_widths(rate, n, seed)
    return f"{100 * own:.1f} points, × {own / other:.2f}"


def median_widths(rate: float, n: int, seed: int) -> tuple[float, float]:
    own, other = [], []
    for passed in np.random.default_rng([seed, n]).binomial(n, rate, 100).tolist():
        found = np.repeat([1.0, 0.0], [passed, n - passed])
        low, high = anytime_interval(found, found)
        own.append(high - low)
        other.append(beta_binomial_width(passed, n))
    return median(own), median(other)


if __name__ == "__main__":
    main()
