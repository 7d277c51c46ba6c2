"""Raters without a known truth: against expectation and maximisation written out in loops, and against known truths."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

from howsure.stats.raters import MISSING, accuracies, dawid_skene, misfit

TABLE = np.array(
    [[1, 1, 1], [1, 1, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 0, 1], [0, 0, 1], [1, 1, MISSING], [0, MISSING, 0],
     [1, 1, 1], [0, 0, 0], [1, 0, 1], [1, 1, 1], [0, 0, 1], [1, 1, 0]]
)  # fmt: skip


def written_out(table: NDArray[np.int64], classes: int, prior: float) -> tuple[list[float], list[list[float]]]:
    """The shares of the classes and the chances of each item, by 3,000 rounds of the plainest loops."""
    items = [{rater: said for rater, said in enumerate(row) if said != MISSING} for row in table.tolist()]
    chances = [[sum(said == k for said in item.values()) / len(item) for k in range(classes)] for item in items]
    shares: list[float] = []
    for _ in range(3000):
        shares = [(sum(each[k] for each in chances) + prior) / (len(items) + classes * prior) for k in range(classes)]
        confusion = {}
        for rater in range(table.shape[1]):
            for true in range(classes):
                counts = [prior * (1 + (said == true)) for said in range(classes)]
                for item, each in zip(items, chances, strict=True):
                    if rater in item:
                        counts[item[rater]] += each[true]
                confusion[rater, true] = [count / sum(counts) for count in counts]
        for place, item in enumerate(items):
            weights = [shares[k] for k in range(classes)]
            for rater, said in item.items():
                weights = [weights[k] * confusion[rater, k][said] for k in range(classes)]
            chances[place] = [weight / sum(weights) for weight in weights]
    return shares, chances


@pytest.mark.parametrize("prior", [0.01, 0.5])
def test_it_is_dawid_and_skene_s_model(prior: float) -> None:
    shares, chances = written_out(TABLE, 2, prior)
    model = dawid_skene(TABLE, 2, prior=prior)
    assert model.shares == pytest.approx(shares, abs=1e-5)
    assert model.answers == pytest.approx(np.array(chances), abs=1e-4)


def test_three_classes_too() -> None:
    table = np.random.default_rng(3).integers(0, 3, (40, 4))
    table[:, 1] = table[:, 0]
    shares, chances = written_out(table, 3, 0.5)
    model = dawid_skene(table, 3)
    assert model.shares == pytest.approx(shares, abs=1e-4)
    assert model.answers == pytest.approx(np.array(chances), abs=1e-3)


def rated(count: int, rates: tuple[float, ...], seed: int = 1) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    random = np.random.default_rng(seed)
    truth = (random.random(count) < 0.7).astype(np.int64)
    right = random.random((count, len(rates))) < np.array(rates)
    return truth, np.where(right, truth[:, None], 1 - truth[:, None])


def test_one_good_rater_outweighs_two_poor_ones() -> None:
    truth, table = rated(2000, (0.98, 0.62, 0.62))
    model = dawid_skene(table, 2)
    found = [value for value, _ in accuracies(model, table)]
    assert found == pytest.approx([0.98, 0.62, 0.62], abs=0.04)
    most = (table.mean(axis=1) > 0.5).astype(np.int64)
    assert (most == truth).mean() < 0.87
    assert (model.answers.argmax(axis=1) == truth).mean() > 0.96
    disputed = (table == np.array([1, 0, 0])).all(axis=1)
    assert set(model.answers[disputed].argmax(axis=1)) == {1}


def test_certainty_is_as_often_right_as_it_says() -> None:
    truth, table = rated(4000, (0.9, 0.8, 0.7, 0.7))
    model = dawid_skene(table, 2)
    chance, right = model.answers.max(axis=1), model.answers.argmax(axis=1) == truth
    for low, high in ((0.5, 0.8), (0.8, 0.95), (0.95, 1.0)):
        among = (chance > low) & (chance <= high)
        assert right[among].mean() == pytest.approx(chance[among].mean(), abs=0.05)


def test_ordered_classes_have_a_lean_and_a_spread() -> None:
    random, steps = np.random.default_rng(5), np.arange(5)
    truth = random.integers(0, 5, 4000)
    columns = []
    for lean, spread in ((0.0, 0.5), (0.6, 0.8), (-0.4, 1.0), (0.0, 0.6)):
        chances = norm.pdf(steps[None, :], steps[:, None] + lean, spread)
        chances /= chances.sum(axis=1, keepdims=True)
        columns.append([random.choice(5, p=chances[true]) for true in truth])
    model = dawid_skene(np.array(columns).T, 5, ordered=True)
    assert model.leans is not None and model.spreads is not None
    assert model.leans == pytest.approx([0.0, 0.6, -0.4, 0.0], abs=0.1)
    assert model.spreads == pytest.approx([0.5, 0.8, 1.0, 0.6], abs=0.1)


def test_raters_who_copy_each_other_show_from_four_raters_on() -> None:
    random = np.random.default_rng(9)
    _, table = rated(400, (0.8, 0.8, 0.8, 0.8, 0.8))
    fit = misfit(dawid_skene(table, 2), table)
    assert fit is not None and fit > 0.05
    copied = table.copy()
    copied[:, 4] = np.where(random.random(400) < 0.9, table[:, 3], table[:, 4])
    # The copies look like the truth, and the others like a conspiracy: which of them it is cannot be told.
    assert (misfit(dawid_skene(copied, 2), copied) or 0.0) < 1e-6
    assert misfit(dawid_skene(copied[:, 2:], 2), copied[:, 2:]) is None
