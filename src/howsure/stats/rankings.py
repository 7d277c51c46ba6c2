"""Strengths from pairs: Bradley and Terry's model with ties (Davidson 1970) and controls for irrelevant effects, such
as which answer was shown first. One side wins with odds exp(its strength less the other's); strengths sum to zero.
Intervals come from leaving out one cluster at a time, because comparisons of one case belong together. Ranks have
intervals too."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.stats import t as student

from howsure.stats.intervals import Interval

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

FEWEST = 5
"""With fewer clusters no spread is estimated."""
STEPS = 100
CLOSE = 1e-10


class Comparisons(Struct, frozen=True, kw_only=True):
    """Comparisons: indices of the two sides; 1 if the first won, 0 if the second did, 0.5 for a tie; the cluster of
    each comparison; and controls, one column each, whose sign changes when the sides are swapped."""

    first: Whole
    second: Whole
    outcome: Floats
    cluster: Whole
    controls: Floats


class StrengthModel(Struct, frozen=True, kw_only=True):
    """`effects` are those of the controls. `tie` is the logarithm of Davidson's tie parameter, None without ties.
    `bounded`: some side never won or never lost, so half a win each way was added between all sides. `covariance` is
    that of strengths, then effects; None where there are too few clusters."""

    strengths: Floats
    effects: Floats
    tie: float | None
    covariance: Floats | None
    freedom: int
    bounded: bool


def bradley_terry(sides: int, seen: Comparisons) -> StrengthModel | None:
    """The most likely strengths. None: some sides are not connected by comparisons, not even through others."""
    met = np.zeros((sides, sides))
    np.add.at(met, (seen.first, seen.second), seen.outcome)
    np.add.at(met, (seen.second, seen.first), 1 - seen.outcome)
    if connected_components(met, connection="weak")[0] > 1:
        return None
    # Ties hold nobody back: a side that wins or ties, and never loses, has no largest likelihood.
    won = np.zeros((sides, sides))
    np.add.at(won, (seen.first, seen.second), seen.outcome == 1)
    np.add.at(won, (seen.second, seen.first), seen.outcome == 0)
    bounded = bool(connected_components(won, connection="strong")[0] > 1)
    weight = np.ones(len(seen.first))
    rows = _with_half_wins(sides, seen) if bounded else seen
    weight = np.append(weight, np.full(len(rows.first) - len(seen.first), 0.5))
    basis = np.linalg.svd(np.eye(sides) - 1 / sides)[0][:, : sides - 1]  # strengths that sum to zero
    design = np.hstack([basis[rows.first] - basis[rows.second], rows.controls])
    ties = bool(np.any(rows.outcome == 0.5))
    found = _climb(design, rows.outcome, weight, ties)
    back = np.zeros((sides + seen.controls.shape[1], design.shape[1]))
    back[:sides, : sides - 1], back[sides:, sides - 1 :] = basis, np.eye(seen.controls.shape[1])
    values = back @ found[: design.shape[1]]
    clusters = len(np.unique(seen.cluster))
    covariance = None
    if clusters >= FEWEST:
        spread = _spread(design, rows.outcome, weight, found, seen.cluster)
        covariance = back @ spread[: design.shape[1], : design.shape[1]] @ back.T
    return StrengthModel(
        strengths=values[:sides],
        effects=values[sides:],
        tie=float(found[-1]) if ties else None,
        covariance=covariance,
        freedom=max(clusters - 1, 1),
        bounded=bounded,
    )


def _with_half_wins(sides: int, seen: Comparisons) -> Comparisons:
    ones, others = (places.astype(np.int64) for places in np.triu_indices(sides, 1))
    added = 2 * len(ones)
    return Comparisons(
        first=np.concatenate([seen.first, ones, ones]),
        second=np.concatenate([seen.second, others, others]),
        outcome=np.concatenate([seen.outcome, np.ones(len(ones)), np.zeros(len(ones))]),
        cluster=np.append(seen.cluster, np.full(added, -1)),
        controls=np.vstack([seen.controls, np.zeros((added, seen.controls.shape[1]))]),
    )


def _shares(design: Floats, found: Floats, ties: bool) -> tuple[Floats, Floats, Floats]:
    """The probabilities that the first wins, that the second wins, and of a tie."""
    gap = np.clip(design @ found[: design.shape[1]], -60, 60) / 2
    one, other = np.exp(gap), np.exp(-gap)
    tie = np.full(len(gap), np.exp(found[-1]) if ties else 0.0)
    total = one + other + tie
    return one / total, other / total, tie / total


def _likelihood(design: Floats, outcome: Floats, weight: Floats, found: Floats, ties: bool) -> float:
    one, other, tie = _shares(design, found, ties)
    chosen = np.where(outcome == 1, one, np.where(outcome == 0, other, tie))
    return float(weight @ np.log(np.maximum(chosen, 1e-300)))


def _slopes(design: Floats, outcome: Floats, weight: Floats, found: Floats, ties: bool) -> tuple[Floats, ...]:
    """Derivatives of the log-likelihood of each comparison by the gap and by the tie parameter: first ones, then the
    second ones with their sign turned."""
    one, other, tie = _shares(design, found, ties)
    lead = one - other
    by_gap, by_tie = weight * (outcome - 0.5 - lead / 2), weight * ((outcome == 0.5) - tie)
    return by_gap, by_tie, weight * (one + other - lead**2) / 4, -weight * lead * tie / 2, weight * tie * (1 - tie)


def _information(design: Floats, slopes: tuple[Floats, ...], ties: bool) -> Floats:
    """The information matrix of these comparisons."""
    _, _, gap, cross, tie = slopes
    inner: Floats = design.T @ (design * gap[:, None])
    if not ties:
        return inner
    beside = design.T @ cross
    return np.block([[inner, beside[:, None]], [beside[None, :], np.array([[tie.sum()]])]])


def _score(design: Floats, slopes: tuple[Floats, ...], ties: bool) -> Floats:
    return np.append(design.T @ slopes[0], slopes[1].sum()) if ties else design.T @ slopes[0]


def _climb(design: Floats, outcome: Floats, weight: Floats, ties: bool) -> Floats:
    """Newton's method, with shorter steps if a full one would lower the likelihood."""
    found = np.zeros(design.shape[1] + ties)
    now = _likelihood(design, outcome, weight, found, ties)
    for _ in range(STEPS):
        slopes = _slopes(design, outcome, weight, found, ties)
        step = np.linalg.lstsq(_information(design, slopes, ties), _score(design, slopes, ties), rcond=None)[0]
        while (then := _likelihood(design, outcome, weight, found + step, ties)) < now - CLOSE:
            step = step / 2
        found, now = found + step, then
        if np.max(np.abs(step), initial=0.0) < CLOSE:
            break
    return found


def _spread(design: Floats, outcome: Floats, weight: Floats, found: Floats, cluster: Whole) -> Floats:
    """The jackknife covariance: how far one step moves the estimate when a cluster is left out."""
    ties = len(found) > design.shape[1]
    slopes = _slopes(design, outcome, weight, found, ties)
    whole = _information(design, slopes, ties)
    order = np.argsort(cluster, kind="stable")
    moves = []
    for rows in np.split(order, np.flatnonzero(np.diff(cluster[order])) + 1):
        own = tuple(each[rows] for each in slopes)
        left = whole - _information(design[rows], own, ties)
        moves.append(np.linalg.lstsq(left, _score(design[rows], own, ties), rcond=None)[0])
    apart = np.array(moves) - np.mean(moves, axis=0)
    clustered: Floats = (len(moves) - 1) / len(moves) * apart.T @ apart
    # Where every case ends alike the jackknife sees no spread: never less than if all comparisons were independent.
    values, vectors = np.linalg.eigh(clustered - np.linalg.pinv(whole))
    wider: Floats = clustered + vectors @ np.diag(np.maximum(-values, 0.0)) @ vectors.T
    return wider


def value_interval(model: StrengthModel, place: int, confidence: float = 0.95) -> Interval | None:
    """The interval of a strength, or of an effect (places after those of the strengths)."""
    if model.covariance is None:
        return None
    value = np.append(model.strengths, model.effects)[place]
    half = student.ppf((1 + confidence) / 2, model.freedom) * np.sqrt(model.covariance[place, place])
    return float(value - half), float(value + half)


def rank_intervals(model: StrengthModel, confidence: float = 0.95) -> list[tuple[int, int]]:
    """Best and worst rank of each side: behind those that are surely better and before those that are surely worse.
    Each interval by itself holds the true rank with this confidence (Bonferroni over the other sides)."""
    sides = len(model.strengths)
    if model.covariance is None or sides < 2:
        return [(1, sides)] * sides
    variances = model.covariance[:sides, :sides]
    own = np.diag(variances)
    wide = np.sqrt(np.maximum(own[:, None] + own[None, :] - 2 * variances, 0.0))
    wide *= student.ppf(1 - (1 - confidence) / (2 * (sides - 1)), model.freedom)
    gap = model.strengths[:, None] - model.strengths[None, :]
    sure = np.abs(gap) > wide + CLOSE
    better, worse = (sure & (gap < 0)).sum(axis=1), (sure & (gap > 0)).sum(axis=1)
    return [(1 + int(ahead), sides - int(behind)) for ahead, behind in zip(better, worse, strict=True)]
