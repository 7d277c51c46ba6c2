"""How far the people who labelled a run agree with its judge, grader by grader, and with each other."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from howsure.model.label import HumanLabel
from howsure.model.run import Run
from howsure.services.hosting.agreeing import Agreement, Together, agreement_of, placed, together
from howsure.services.hosting.labelling import grades_about, things
from howsure.services.trust.pairing import Thing
from howsure.store.store import Store

MOST = 5_000
"""Labels that figures are drawn from: beyond, the newest count."""


class Concord(Struct, frozen=True, kw_only=True):
    """What the labels of a run come to. `compared` labels of all were looked at; `overall` is over every grader."""

    labels: int
    compared: int
    people: dict[str, int]
    opinions: dict[str, int]
    overall: Agreement
    graders: dict[str, Agreement]
    together: Together | None


async def concord(store: Store, run: Run, labels: Sequence[HumanLabel]) -> Concord:
    """`labels` in the order in which they were given."""
    newest = labels[-MOST:]
    asked = await grades_about(store, run, newest)
    about = things(newest, asked)
    # Intervals are drawn anew from whole cases: some tens of milliseconds of work, so not for the loop.
    overall, graders, several = await asyncio.to_thread(_measured, about)
    return Concord(
        labels=len(labels),
        compared=len(newest),
        people=dict(Counter(label.labeler for label in labels)),
        opinions=dict(Counter(label.opinion.value for label in labels)),
        overall=overall,
        graders=graders,
        together=several,
    )


def _measured(about: Sequence[Thing]) -> tuple[Agreement, dict[str, Agreement], Together | None]:
    where = placed(about)
    names = list(dict.fromkeys(thing.grader for thing in where))
    each = {name: agreement_of([thing for thing in where if thing.grader == name]) for name in names}
    return agreement_of(where), each, together(about)
