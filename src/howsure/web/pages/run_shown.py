"""Which results of a run are on the page, and which they are of how many."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from msgspec import Struct

from howsure.model.result import Result
from howsure.reports.figures import counted
from howsure.store.browsing import Listed
from howsure.web.filtering import Filter
from howsure.web.pages.run_cases import Tries
from howsure.web.sharing import place_of

LIMIT = 16


class Shown(Struct, frozen=True, kw_only=True):
    """The results on the page, and which they are of how many."""

    results: Sequence[Result]
    chosen: Filter
    listed: Listed
    tries: Tries


class LookedThrough(Struct, frozen=True):
    """Where only a part was looked through for words: from which result in the list to which, of how many."""

    first: int
    last: int
    of: int


def looked_through(listed: Listed) -> LookedThrough | None:
    """None: all were, or there was nothing to look for."""
    if listed.looked_at is None:
        return None
    return LookedThrough(listed.start + 1, listed.start + listed.looked_at, listed.total)


def showing(shown: Shown, completed: int) -> str:
    """A filter never repaints the headline: it says how much of the whole it shows."""
    listed, part = shown.listed, looked_through(shown.listed)
    if part is not None:
        rest = " (the rest was not looked through yet)" if part.last < part.of else ""
        return f"{len(shown.results):,} found in results {part.first:,}–{part.last:,} of {part.of:,}{rest}"
    if not shown.results:
        return f"none of {counted(completed, 'result')} is like that"
    first, matching = listed.first or 0, listed.matching or 0
    every = "" if matching == completed else f" that match, of {counted(completed, 'result')}"
    return f"{first + 1:,}–{first + len(shown.results):,} of {matching:,}{every}"


def behind(after: str | None) -> int | None:
    """The position that the page begins behind."""
    return int(after) if after is not None and after.isdecimal() else None


def further(run_id: str, shown: Shown) -> str:
    if shown.listed.further is None:
        return ""
    after = urlencode({"after": place_of(str(shown.listed.further))})
    return f"/runs/{run_id}?{'&'.join(part for part in (shown.chosen.query(), after) if part)}#cases"
