"""Two halves put side by side: the units both tried, the values of both for anything measured, and an account of what
could not be paired and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from howsure.model.comparison import Absence, Pairing
from howsure.services.comparison.halves import NOT_GRADED, Flags, Floats, Half, Means, Whole
from howsure.store.queries.columns import Face

Measuring = Callable[[Half], Means]


class Aligned(Struct, frozen=True, kw_only=True):
    """Pair i is the unit `in_first[i]` of the first half and `in_second[i]` of the second; in the first's order.
    `changed` pairs were taken out: their case is not the same on both sides."""

    first: Half
    second: Half
    in_first: Whole
    in_second: Whole
    changed: int = 0

    @property
    def only_first(self) -> int:
        return len(self.first.keys) + self.first.unread - len(self.in_first) - self.changed

    @property
    def only_second(self) -> int:
        return len(self.second.keys) + self.second.unread - len(self.in_second) - self.changed


class Values(Struct, frozen=True, kw_only=True):
    """The values of the pairs that have one on both sides; `pairs` says which these are."""

    before: Floats
    after: Floats
    pairs: Whole
    pairing: Pairing


def align(first: Half, second: Half) -> Aligned:
    known = {key: place for place, key in enumerate(first.keys)}
    found = np.fromiter((known.get(key, -1) for key in second.keys), np.int64, len(second.keys))
    in_second = np.flatnonzero(found >= 0).astype(np.int64)
    order = np.argsort(found[in_second], kind="stable")
    return Aligned(first=first, second=second, in_first=found[in_second][order], in_second=in_second[order])


def values(aligned: Aligned, measuring: Measuring, among: Flags | None = None) -> Values:
    """What was measured on both sides; `among` keeps some of the pairs only, and then what one side lacks is not
    counted: it is not known which slice it would be in."""
    before, after = measuring(aligned.first), measuring(aligned.second)
    chosen = np.ones(len(aligned.in_first), np.bool_) if among is None else among
    ones, others = before.known[aligned.in_first], after.known[aligned.in_second]
    pairs = np.flatnonzero(chosen & ones & others).astype(np.int64)
    lacking = np.flatnonzero(chosen & ~(ones & others))
    return Values(
        before=_mean(before, aligned.in_first[pairs]),
        after=_mean(after, aligned.in_second[pairs]),
        pairs=pairs,
        pairing=Pairing(
            paired=len(pairs),
            only_first=aligned.only_first if among is None else 0,
            only_second=aligned.only_second if among is None else 0,
            without=len(lacking),
            changed=aligned.changed if among is None else 0,
            absences=(
                *_absences(before, aligned.in_first[lacking], second=False),
                *_absences(after, aligned.in_second[lacking], second=True),
            ),
        ),
    )


def _mean(means: Means, units: Whole) -> Floats:
    found: Floats = means.sums[units] / means.counts[units]
    return found


def _absences(means: Means, units: Whole, *, second: bool) -> list[Absence]:
    without = units[~means.known[units]]
    codes = Counter(means.why[without].tolist())
    named = {code: NOT_GRADED if code < 0 else means.reasons[code] for code in codes}
    return [Absence(second=second, why=named[code], count=codes[code]) for code in sorted(codes)]


def faces(aligned: Aligned) -> list[Face]:
    """What each pair can be sliced by: the first side's case."""
    own = aligned.first
    known, empty = own.columns.faces, Face(id="")
    first_cases = own.first_cases()
    return [known.get(own.case_id(case), empty) for case in first_cases[aligned.in_first].tolist()]


def clusters(aligned: Aligned, seen: Sequence[Face], label: str) -> list[str] | None:
    """The cluster of each pair: the value of the label; a case without one is a cluster of its own. None: no label, or
    no two pairs share one."""
    if not label:
        return None
    keys = aligned.first.keys
    named = [
        f"={value}" if (value := face.labels.get(label)) is not None else f"#{keys[place]}"
        for face, place in zip(seen, aligned.in_first.tolist(), strict=True)
    ]
    return named if len(set(named)) < len(named) else None
