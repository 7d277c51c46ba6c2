"""The one rule about cases that ask or expect something else in the second run: nothing is concluded from them. They
are named and counted, and a comparison still lists those that came out otherwise."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from msgspec.structs import replace

from howsure.model.case import Case
from howsure.model.run import Run
from howsure.services.comparison.pairing import Aligned
from howsure.store.store import Store

Changed = Sequence[tuple[Case, Case]]
"""Cases of the same id, as they were and as they are."""


async def changed_between(store: Store, first: Run, second: Run) -> Changed:
    """Files of the same content hold the same cases; only where they differ is the database asked."""
    ours, theirs = ([pin.sha256 for pin in run.pins.datasets] for run in (first, second))
    if first.id == second.id or (ours == theirs and first.pins.criteria_from == second.pins.criteria_from):
        return []
    return await store.changed_cases(first.id, second.id)


def changed_ids(changed: Changed) -> frozenset[str]:
    return frozenset(before.id for before, _ in changed)


def unchanged(aligned: Aligned, ids: Collection[str]) -> Aligned:
    """Only the pairs whose case is the same on both sides: those that a difference may be concluded from."""
    if not ids:
        return aligned
    keys = aligned.first.keys
    kept = np.fromiter((keys[place] not in ids for place in aligned.in_first.tolist()), np.bool_, len(aligned.in_first))
    return replace(
        aligned,
        in_first=aligned.in_first[kept],
        in_second=aligned.in_second[kept],
        changed=int(np.count_nonzero(~kept)),
    )
