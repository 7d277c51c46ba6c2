"""Two runs on the same cases: by how much they differ, how sure that is, and in which direction. Repeats of a case are
averaged first; only cases that both runs judged are compared, and the others are counted."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from enum import Enum
from typing import TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from howsure.model.score import Direction
from howsure.stats.clusters import ClusterSums, Floats, cluster_sums
from howsure.stats.discordance import mcnemar, tango
from howsure.stats.intervals import Interval
from howsure.stats.sign_flips import Tossed, sign_flip

K = TypeVar("K", bound=Hashable)


class Method(Enum):
    """Which test gave the p-value."""

    MCNEMAR = "exact_mcnemar"
    ALL_FLIPS = "exact_sign_flips"
    DRAWN_FLIPS = "drawn_sign_flips"
    STUDENT = "paired_t"
    FISHER = "fisher_exact"
    WELCH = "welch_t"


class Difference(Struct, frozen=True, kw_only=True):
    """After less before. `n` cases (before, after: where they are not the same, `n` is the smaller number) in
    `clusters` independent groups; `raised`, `lowered` and `same` count cases by where their value went."""

    before: float
    after: float
    interval: Interval | None
    p_value: float
    method: Method
    n: int
    clusters: int
    raised: int = 0
    lowered: int = 0
    same: int = 0
    direction: Direction = Direction.HIGHER
    confidence: float = 0.95

    @property
    def difference(self) -> float:
        return self.after - self.before

    @property
    def gain(self) -> float | None:
        """By how much it got better: the sign is that of the direction. None where neither end is good."""
        sign = _SIGN[self.direction]
        return sign * self.difference if sign else None

    @property
    def gain_interval(self) -> Interval | None:
        sign = _SIGN[self.direction]
        if self.interval is None or not sign:
            return None
        low, high = sorted(sign * end for end in self.interval)
        return low, high

    @property
    def conclusive(self) -> bool:
        """Both the test and the interval exclude that nothing changed."""
        sure = self.p_value <= 1 - self.confidence
        return sure and self.interval is not None and not self.interval[0] <= 0 <= self.interval[1]


_SIGN = {Direction.HIGHER: 1, Direction.LOWER: -1, Direction.NEITHER: 0}


class Matched(Struct, frozen=True, kw_only=True):
    """The cases that both runs judged, in order, with the mean of each one's repeats; and what only one run judged."""

    cases: tuple[Hashable, ...]
    before: Floats
    after: Floats
    only_before: int
    only_after: int


def matched(before: Mapping[K, Sequence[float | None]], after: Mapping[K, Sequence[float | None]]) -> Matched:
    """Average the repeats of each case (None: not judged) and keep the cases that have a value on both sides."""
    ones, others = _averaged(before), _averaged(after)
    cases = tuple(case for case in ones if case in others)
    return Matched(
        cases=cases,
        before=np.fromiter((ones[case] for case in cases), np.float64, len(cases)),
        after=np.fromiter((others[case] for case in cases), np.float64, len(cases)),
        only_before=len(ones) - len(cases),
        only_after=len(others) - len(cases),
    )


def paired_rates(
    before: Sequence[float] | Floats,
    after: Sequence[float] | Floats,
    clusters: Sequence[Hashable] | None = None,
    *,
    direction: Direction = Direction.HIGHER,
    confidence: float = 0.95,
    seed: int = 0,
) -> Difference | None:
    """The difference of two pass rates on the same cases. Each value is the share of a case's repeats that passed.
    Single verdicts: McNemar's exact test and Tango's interval; repeats or clusters: sign flips. None without cases."""
    ones, others = _arrays(before, after)
    if not len(ones):
        return None
    if ones.min() < 0 or others.min() < 0 or ones.max() > 1 or others.max() > 1:
        raise ValueError("a pass rate lies between 0 and 1")
    whole = bool(np.isin(ones, (0, 1)).all() and np.isin(others, (0, 1)).all())
    if whole and (clusters is None or len(set(clusters)) == len(clusters)):
        return _verdicts(ones, others, direction, confidence)
    found = _flipped(ones, others, clusters, direction, confidence, seed)
    return found if found.interval is not None else _no_change(found)


def paired_means(
    before: Sequence[float] | Floats,
    after: Sequence[float] | Floats,
    clusters: Sequence[Hashable] | None = None,
    *,
    direction: Direction = Direction.HIGHER,
    confidence: float = 0.95,
    seed: int = 0,
) -> Difference | None:
    """The difference of two means on the same cases, by sign flips. None without cases; no interval where all
    differences are the same."""
    ones, others = _arrays(before, after)
    return _flipped(ones, others, clusters, direction, confidence, seed) if len(ones) else None


def _verdicts(before: Floats, after: Floats, direction: Direction, confidence: float) -> Difference:
    raised, lowered = _counts(after - before)
    return Difference(
        before=float(before.mean()),
        after=float(after.mean()),
        interval=tango(raised, lowered, len(before), confidence),
        p_value=mcnemar(raised, lowered),
        method=Method.MCNEMAR,
        n=len(before),
        clusters=len(before),
        raised=raised,
        lowered=lowered,
        same=len(before) - raised - lowered,
        direction=direction,
        confidence=confidence,
    )


def _flipped(
    before: Floats,
    after: Floats,
    clusters: Sequence[Hashable] | None,
    direction: Direction,
    confidence: float,
    seed: int,
) -> Difference:
    apart = after - before
    grouped = _grouped(apart, clusters)
    tossed = sign_flip(grouped, confidence=confidence, seed=seed)
    spread = len(grouped.sums) > 1 and bool(np.ptp(grouped.sums / grouped.sizes) > 0)
    raised, lowered = _counts(apart)
    return Difference(
        before=float(before.mean()),
        after=float(after.mean()),
        interval=tossed.interval if spread else None,
        p_value=tossed.p_value,
        method=_method(tossed),
        n=len(apart),
        clusters=len(grouped.sums),
        raised=raised,
        lowered=lowered,
        same=len(apart) - raised - lowered,
        direction=direction,
        confidence=confidence,
    )


def _no_change(found: Difference) -> Difference:
    """All cases moved alike (mostly: not at all). As for single verdicts, the interval keeps a width: each cluster
    counts as one case that did not differ from the others."""
    reach = tango(0, 0, found.clusters, found.confidence)
    if reach is None:
        return found
    low, high = max(-1.0, found.difference + reach[0]), min(1.0, found.difference + reach[1])
    return replace(found, interval=(low, high))


def _grouped(apart: Floats, clusters: Sequence[Hashable] | None) -> ClusterSums:
    if clusters is None:
        return ClusterSums(sums=apart, sizes=np.ones(len(apart)))
    return cluster_sums(apart, clusters)


def _method(tossed: Tossed) -> Method:
    if tossed.exact:
        return Method.ALL_FLIPS
    return Method.DRAWN_FLIPS if tossed.drawn else Method.STUDENT


def _counts(apart: Floats) -> tuple[int, int]:
    return int(np.count_nonzero(apart > 0)), int(np.count_nonzero(apart < 0))


def _arrays(before: Sequence[float] | Floats, after: Sequence[float] | Floats) -> tuple[Floats, Floats]:
    ones, others = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    if len(ones) != len(others):
        raise ValueError(f"{len(ones)} values cannot be paired with {len(others)}")
    if not (np.isfinite(ones).all() and np.isfinite(others).all()):
        raise ValueError("a difference needs finite values")
    return ones, others


def _averaged(repeats: Mapping[K, Sequence[float | None]]) -> dict[K, float]:
    known = ((case, [value for value in values if value is not None]) for case, values in repeats.items())
    return {case: sum(values) / len(values) for case, values in known if values}
