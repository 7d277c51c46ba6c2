"""Which results of a run are on the page, and which they are of how many."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from msgspec import Struct

from assay.model.result import Result
from assay.reports.figures import counted
from assay.web.filtering import Filter
from assay.web.pages.run_cases import Tries
from assay.web.sharing import place_of

LIMIT = 25


class Shown(Struct, frozen=True, kw_only=True):
    """The results on the page, and which they are of how many."""

    results: Sequence[Result]
    chosen: Filter
    matching: int
    first: int
    tries: Tries
    further: str = ""


def showing(shown: Shown, completed: int) -> str:
    """A filter never repaints the headline: it says how much of the whole it shows."""
    if not shown.results:
        return f"none of {counted(completed, 'result')} is like that"
    last = shown.first + len(shown.results)
    every = "" if shown.matching == completed else f" that match, of {counted(completed, 'result')}"
    return f"{shown.first + 1:,}–{last:,} of {shown.matching:,}{every}"


def first_of(found: Sequence[int], after: str | None) -> int:
    """Where the page begins: behind the result at this position; at the start where it is not there any more."""
    if after is None or not after.isdecimal():
        return 0
    return next((place for place, position in enumerate(found, 1) if position == int(after)), 0)


def further(run_id: str, chosen: Filter, found: Sequence[int], first: int) -> str:
    last = first + LIMIT
    if last >= len(found):
        return ""
    after = urlencode({"after": place_of(str(found[last - 1]))})
    return f"/runs/{run_id}?{'&'.join(part for part in (chosen.query(), after) if part)}#cases"
