"""The same case tried several times: pass@k (at least one of k tries passes) and pass^k (all k pass). Unbiased: every
choice of k among the tries counts once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import comb

from msgspec import Struct

from howsure.stats.estimates import estimate_mean, estimate_rate
from howsure.stats.intervals import Estimate

Tries = tuple[int, int]
"""The tries of one case: (passed, judged)."""


def pass_at_k(passed: int, judged: int, k: int) -> float | None:
    """The probability that at least one of k tries passes. None if fewer than k were judged."""
    return None if _too_few(passed, judged, k) else 1 - comb(judged - passed, k) / comb(judged, k)


def pass_hat_k(passed: int, judged: int, k: int) -> float | None:
    """pass^k: the probability that all of k tries pass. None if fewer than k were judged."""
    return None if _too_few(passed, judged, k) else comb(passed, k) / comb(judged, k)


class Reliability(Struct, frozen=True, kw_only=True):
    """pass@k (`at`) and pass^k (`hat`) over the cases that were judged at least k times. None if there is no such
    case."""

    k: int
    at: Estimate | None
    hat: Estimate | None
    cases: int


def reliability(
    cases: Sequence[Tries],
    k: int,
    clusters: Sequence[Hashable] | None = None,
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> Reliability:
    """pass@k and pass^k of a run. Every case counts the same. The intervals are over the cases (and their clusters):
    more tries of the same cases say nothing about other cases."""
    usable = [place for place, (_, judged) in enumerate(cases) if judged >= k]
    usable_clusters = None if clusters is None else [clusters[place] for place in usable]
    tries = [cases[place] for place in usable]
    at = [pass_at_k(*each, k) or 0.0 for each in tries]
    hat = [pass_hat_k(*each, k) or 0.0 for each in tries]
    return Reliability(
        k=k,
        at=_estimate(at, usable_clusters, confidence, seed),
        hat=_estimate(hat, usable_clusters, confidence, seed),
        cases=len(tries),
    )


def _estimate(
    values: Sequence[float], clusters: Sequence[Hashable] | None, confidence: float, seed: int
) -> Estimate | None:
    if all(value in (0, 1) for value in values):
        return estimate_rate([value == 1 for value in values], clusters=clusters, confidence=confidence)
    return estimate_mean(values, clusters, confidence, bounds=(0.0, 1.0), seed=seed)


def _too_few(passed: int, judged: int, k: int) -> bool:
    if not 0 <= passed <= judged:
        raise ValueError(f"{passed} of {judged} is not a rate")
    if k < 1:
        raise ValueError(f"k counts tries, from 1, not {k}")
    return judged < k
