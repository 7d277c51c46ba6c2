"""What is remembered of the runs that tests made: by the process that makes them, and by the controller of xdist."""

from __future__ import annotations

from msgspec import Struct, field

from howsure.model.run import Spent
from howsure.model.summary import Summary


class Note(Struct, frozen=True, kw_only=True):
    """One run. `place` is the test it belongs to, without its case; `inconclusive` says what an undecided gate is.
    `left_out`: so many cases were not selected.
    `whole`: it was run by `howsure_run`, which has ended it already."""

    run_id: str
    place: str
    inconclusive: str = "fail"
    spent: Spent | None = None
    left_out: int = 0
    whole: bool = False
    database: str = ""


class Noted(Struct, kw_only=True):
    """All of them, and, at the end, what came of each."""

    notes: list[Note] = field(default_factory=list)
    summaries: list[Summary] = field(default_factory=list)
