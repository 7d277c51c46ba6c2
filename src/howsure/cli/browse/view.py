"""What the browser shows: frozen, pure, without a terminal or a store. pressing.py has what keys do to it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from howsure.model.verdict import Verdict

FURNITURE = 3
"""Lines of the screen that are not the list or the page: the head, the message and the keys."""


class Entry(Struct, frozen=True):
    """One result, as the list knows it."""

    position: int
    case_id: str
    candidate: str
    repeat: int
    verdict: Verdict


class Shown(Enum):
    """Which results are listed; `f` goes on to the next."""

    NOT_PASSED = "failed and errored"
    FAILED = "failed"
    ERRORED = "errored"
    SKIPPED = "skipped"
    PASSED = "passed"
    ALL = "all"

    @property
    def verdicts(self) -> Collection[Verdict]:
        if self is Shown.NOT_PASSED:
            return Verdict.FAILED, Verdict.ERRORED
        return tuple(Verdict) if self is Shown.ALL else (Verdict(self.value),)


class Page(Enum):
    """Pages about the whole run."""

    SUMMARY = "summary"
    TRIAGE = "triage"


class Mode(Enum):
    """What the screen is."""

    LIST = "list"
    PAGE = "page"
    TYPING = "typing"


class Open(Struct, frozen=True):
    """Fetch one result and show it."""

    position: int


class Turn(Struct, frozen=True):
    """Show a page about the whole run."""

    page: Page


class Search(Struct, frozen=True):
    """Look for a text in the results that are listed."""

    text: str


class Quit(Struct, frozen=True):
    """Leave."""


Act = Open | Turn | Search | Quit


class View(Struct, frozen=True, kw_only=True):
    """`listed` are the entries that filter and search leave; `cursor` and `top` are places in it. `scroll` is the first
    line shown of a page of `length` lines. `typed` is what has been typed of a search. `height` is the screen's."""

    entries: tuple[Entry, ...]
    listed: tuple[Entry, ...] = ()
    height: int = 24
    shown: Shown = Shown.NOT_PASSED
    query: str = ""
    found: frozenset[int] | None = None
    mode: Mode = Mode.LIST
    cursor: int = 0
    top: int = 0
    scroll: int = 0
    length: int = 0
    of_run: bool = False
    typed: str = ""
    message: str = ""

    @property
    def room(self) -> int:
        """Lines for the list or the page."""
        return max(1, self.height - FURNITURE)

    @property
    def window(self) -> Sequence[Entry]:
        return self.listed[self.top : self.top + self.room]

    @property
    def chosen(self) -> Entry | None:
        return self.listed[self.cursor] if self.listed else None


def opened(entries: Sequence[Entry], height: int) -> View:
    """The first view of a run."""
    return listing(View(entries=tuple(entries), height=height))


def resized(view: View, height: int) -> View:
    return moved(replace(view, height=height), view.cursor) if view.height != height else view


def paged(view: View, length: int, *, of_run: bool = False) -> View:
    """A page of this many lines is open; scrolled to its beginning."""
    return replace(view, mode=Mode.PAGE, scroll=0, length=length, of_run=of_run, message="")


def gone(view: View) -> View:
    """What was to be opened is no longer stored."""
    return replace(view, mode=Mode.LIST, length=0, message="this result is no longer stored")


def remeasured(view: View, length: int) -> View:
    """The same page, broken into lines anew."""
    return scrolled(replace(view, length=length), view.scroll)


def searched(view: View, text: str, found: frozenset[int]) -> View:
    said = f"{len(found):,} of those listed hold “{text}”" if found else f"nothing listed holds “{text}”"
    if not found:
        return replace(view, mode=Mode.LIST, typed="", message=said)
    return listing(replace(view, mode=Mode.LIST, typed="", query=text, found=found, message=said))


def listing(view: View) -> View:
    """The list anew, after the filter or the search changed; the cursor stays on its result where that is listed."""
    wanted, found, chosen = view.shown.verdicts, view.found, view.chosen
    listed = tuple(
        entry for entry in view.entries if entry.verdict in wanted and (found is None or entry.position in found)
    )
    place = next((place for place, entry in enumerate(listed) if chosen and entry.position >= chosen.position), 0)
    return moved(replace(view, listed=listed), place)


def moved(view: View, cursor: int) -> View:
    """The cursor there, or as near as there is a result, and in sight."""
    cursor = max(0, min(cursor, len(view.listed) - 1))
    top = min(max(view.top, cursor - view.room + 1), cursor)
    return replace(view, cursor=cursor, top=max(0, min(top, len(view.listed) - view.room)))


def scrolled(view: View, line: int) -> View:
    return replace(view, scroll=max(0, min(line, view.length - view.room)))
