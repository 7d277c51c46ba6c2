"""The state of the browser and what keys do to it: frozen and pure, without a terminal or a store. A key gives the next
view and, where something must be fetched, an action."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from howsure.model.verdict import Verdict

FIXED_LINES = 3
"""Lines besides the list or the page: the head, the message and the keys."""


class BrowserEntry(Struct, frozen=True):
    """One result, as the list knows it."""

    position: int
    case_id: str
    candidate: str
    repeat: int
    verdict: Verdict


class VerdictFilter(Enum):
    """Which results are listed; `f` goes on to the next."""

    NOT_PASSED = "failed and errored"
    FAILED = "failed"
    ERRORED = "errored"
    SKIPPED = "skipped"
    PASSED = "passed"
    ALL = "all"

    @property
    def verdicts(self) -> Collection[Verdict]:
        if self is VerdictFilter.NOT_PASSED:
            return Verdict.FAILED, Verdict.ERRORED
        return tuple(Verdict) if self is VerdictFilter.ALL else (Verdict(self.value),)


class WholeRunPage(Enum):
    """Pages about the whole run."""

    SUMMARY = "summary"
    TRIAGE = "triage"


class BrowserMode(Enum):
    """What the screen shows."""

    LIST = "list"
    PAGE = "page"
    TYPING = "typing"


class OpenResult(Struct, frozen=True):
    """Fetch one result and show it."""

    position: int


class OpenRunPage(Struct, frozen=True):
    """Show a page about the whole run."""

    page: WholeRunPage


class SearchResults(Struct, frozen=True):
    """Search for a text in the listed results."""

    text: str


class QuitBrowser(Struct, frozen=True):
    """Leave."""


BrowserAction = OpenResult | OpenRunPage | SearchResults | QuitBrowser


class BrowserView(Struct, frozen=True, kw_only=True):
    """`listed` are the entries that filter and search leave; `cursor` and `top` are places in it. `scroll` is the first
    line shown of a page of `length` lines. `typed` is what has been typed of a search. `height` is the screen's."""

    entries: tuple[BrowserEntry, ...]
    listed: tuple[BrowserEntry, ...] = ()
    height: int = 24
    shown: VerdictFilter = VerdictFilter.NOT_PASSED
    query: str = ""
    found: frozenset[int] | None = None
    mode: BrowserMode = BrowserMode.LIST
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
        return max(1, self.height - FIXED_LINES)

    @property
    def window(self) -> Sequence[BrowserEntry]:
        return self.listed[self.top : self.top + self.room]

    @property
    def chosen(self) -> BrowserEntry | None:
        return self.listed[self.cursor] if self.listed else None


def first_view(entries: Sequence[BrowserEntry], height: int) -> BrowserView:
    """The first view of a run."""
    return update_list(BrowserView(entries=tuple(entries), height=height))


def resize(view: BrowserView, height: int) -> BrowserView:
    return move_cursor(replace(view, height=height), view.cursor) if view.height != height else view


def open_page(view: BrowserView, length: int, *, of_run: bool = False) -> BrowserView:
    """Show the beginning of a page of this many lines."""
    return replace(view, mode=BrowserMode.PAGE, scroll=0, length=length, of_run=of_run, message="")


def report_missing(view: BrowserView) -> BrowserView:
    """Say that the result is no longer stored."""
    return replace(view, mode=BrowserMode.LIST, length=0, message="this result is no longer stored")


def set_page_length(view: BrowserView, length: int) -> BrowserView:
    """The same page, broken into lines again."""
    return scroll_to(replace(view, length=length), view.scroll)


def show_matches(view: BrowserView, text: str, found: frozenset[int]) -> BrowserView:
    message = f"{len(found):,} of those listed hold “{text}”" if found else f"nothing listed holds “{text}”"
    if not found:
        return replace(view, mode=BrowserMode.LIST, typed="", message=message)
    return update_list(replace(view, mode=BrowserMode.LIST, typed="", query=text, found=found, message=message))


def update_list(view: BrowserView) -> BrowserView:
    """The list after the filter or the search changed; the cursor stays on its result where that is listed."""
    verdicts, found, chosen = view.shown.verdicts, view.found, view.chosen
    listed = tuple(
        entry for entry in view.entries if entry.verdict in verdicts and (found is None or entry.position in found)
    )
    place = next((place for place, entry in enumerate(listed) if chosen and entry.position >= chosen.position), 0)
    return move_cursor(replace(view, listed=listed), place)


def move_cursor(view: BrowserView, cursor: int) -> BrowserView:
    """Move the cursor there, or to the nearest result, and into sight."""
    cursor = max(0, min(cursor, len(view.listed) - 1))
    top = min(max(view.top, cursor - view.room + 1), cursor)
    return replace(view, cursor=cursor, top=max(0, min(top, len(view.listed) - view.room)))


def scroll_to(view: BrowserView, line: int) -> BrowserView:
    return replace(view, scroll=max(0, min(line, view.length - view.room)))


class NamedKey(Enum):
    """Keys that are not a character."""

    UP = "up"
    DOWN = "down"
    LEFT = "left"
    RIGHT = "right"
    PAGE_UP = "page up"
    PAGE_DOWN = "page down"
    HOME = "home"
    END = "end"
    ENTER = "enter"
    ESCAPE = "escape"
    BACKSPACE = "backspace"


class TypedKey(Struct, frozen=True):
    """A character."""

    text: str


Key = NamedKey | TypedKey

_ARROWS = {
    "A": NamedKey.UP,
    "B": NamedKey.DOWN,
    "C": NamedKey.RIGHT,
    "D": NamedKey.LEFT,
    "H": NamedKey.HOME,
    "F": NamedKey.END,
}
_TILDES = {
    "1": NamedKey.HOME,
    "4": NamedKey.END,
    "5": NamedKey.PAGE_UP,
    "6": NamedKey.PAGE_DOWN,
    "7": NamedKey.HOME,
    "8": NamedKey.END,
}
_CONTROLS = {
    "\r": NamedKey.ENTER,
    "\n": NamedKey.ENTER,
    "\x7f": NamedKey.BACKSPACE,
    "\x08": NamedKey.BACKSPACE,
    "\x04": NamedKey.PAGE_DOWN,
    "\x06": NamedKey.PAGE_DOWN,
    "\x02": NamedKey.PAGE_UP,
    "\x15": NamedKey.PAGE_UP,
    "\x1b": NamedKey.ESCAPE,
}
# `ESC [ 5 ~`, `ESC [ 1 ; 5 A` (with a modifier), `ESC O A` (application mode); else an escape, or one character.
_SEQUENCE = re.compile(
    r"\x1b\[(?P<number>\d*)(?:;\d+)?(?P<end>[A-Za-z~])|\x1bO(?P<letter>[A-Za-z])|(?P<one>.)", re.DOTALL
)


def decode_keys(sent: bytes) -> Iterator[Key]:
    """The keys in the bytes that a terminal sent. An unknown sequence gives no key, so that it is not taken for
    text."""
    for found in _SEQUENCE.finditer(sent.decode("utf-8", "replace")):
        key = _decode_key(found)
        if key is not None:
            yield key


def _decode_key(found: re.Match[str]) -> Key | None:
    if (letter := found["letter"]) is not None:
        return _ARROWS.get(letter)
    if (end := found["end"]) is not None:
        return _TILDES.get(found["number"]) if end == "~" else _ARROWS.get(end)
    one = found["one"]
    if one in _CONTROLS:
        return _CONTROLS[one]
    return TypedKey(one) if one.isprintable() else None


KeyOutcome = tuple[BrowserView, BrowserAction | None]


def press_key(view: BrowserView, key: Key) -> KeyOutcome:
    """What a key does."""
    view = replace(view, message="") if view.message else view
    match view.mode:
        case BrowserMode.LIST:
            return _in_list(view, key)
        case BrowserMode.PAGE:
            return _in_page(view, key)
        case BrowserMode.TYPING:
            return _typing(view, key)


Motion = Callable[[BrowserView, int], int]
"""From the view and its present place to the new one."""

MOTIONS: dict[Key, Motion] = {
    NamedKey.UP: lambda view, at: at - 1,
    NamedKey.DOWN: lambda view, at: at + 1,
    TypedKey("k"): lambda view, at: at - 1,
    TypedKey("j"): lambda view, at: at + 1,
    NamedKey.PAGE_UP: lambda view, at: at - view.room,
    NamedKey.PAGE_DOWN: lambda view, at: at + view.room,
    TypedKey(" "): lambda view, at: at + view.room,
    NamedKey.HOME: lambda view, at: 0,
    TypedKey("g"): lambda view, at: 0,
    NamedKey.END: lambda view, at: max(len(view.listed), view.length),
    TypedKey("G"): lambda view, at: max(len(view.listed), view.length),
}


def _in_list(view: BrowserView, key: Key) -> KeyOutcome:
    if (motion := MOTIONS.get(key)) is not None:
        return move_cursor(view, motion(view, view.cursor)), None
    match key:
        case NamedKey.ENTER | NamedKey.RIGHT | TypedKey("l"):
            return view, OpenResult(view.chosen.position) if view.chosen else None
        case TypedKey("n"):
            return move_cursor(view, view.cursor + 1), None
        case TypedKey("p"):
            return move_cursor(view, view.cursor - 1), None
        case NamedKey.ESCAPE if view.query:
            return update_list(replace(view, query="", found=None, message="search cleared")), None
        case _:
            return _anywhere(view, key)


def _in_page(view: BrowserView, key: Key) -> KeyOutcome:
    if (motion := MOTIONS.get(key)) is not None:
        return scroll_to(view, motion(view, view.scroll)), None
    match key:
        case NamedKey.ESCAPE | NamedKey.LEFT | NamedKey.BACKSPACE | TypedKey("h"):
            return replace(view, mode=BrowserMode.LIST, length=0), None
        case TypedKey("n"):
            return _turned(view, 0 if view.of_run else 1)
        case TypedKey("p"):
            return _turned(view, 0 if view.of_run else -1)
        case _:
            return _anywhere(view, key)


def _turned(view: BrowserView, by: int) -> KeyOutcome:
    """The next or previous result; from a page about the run, the chosen one."""
    place = view.cursor + by
    if not 0 <= place < len(view.listed):
        return replace(view, message="that was the last one" if by > 0 else "that was the first one"), None
    view = move_cursor(view, place)
    return view, OpenResult(view.listed[place].position)


def _anywhere(view: BrowserView, key: Key) -> KeyOutcome:
    match key:
        case TypedKey("q"):
            return view, QuitBrowser()
        case TypedKey("f"):
            following = list(VerdictFilter)[(list(VerdictFilter).index(view.shown) + 1) % len(VerdictFilter)]
            changed = replace(view, shown=following, query="", found=None, mode=BrowserMode.LIST, length=0)
            return update_list(replace(changed, message=f"listed: {following.value}")), None
        case TypedKey("/"):
            return replace(view, mode=BrowserMode.TYPING, typed="", length=0), None
        case TypedKey("s"):
            return view, OpenRunPage(WholeRunPage.SUMMARY)
        case TypedKey("t"):
            return view, OpenRunPage(WholeRunPage.TRIAGE)
        case _:
            return view, None


def _typing(view: BrowserView, key: Key) -> KeyOutcome:
    match key:
        case NamedKey.ENTER if view.typed.strip():
            return view, SearchResults(view.typed.strip())
        case NamedKey.ENTER:
            return update_list(replace(view, mode=BrowserMode.LIST, typed="", query="", found=None)), None
        case NamedKey.ESCAPE:
            return replace(view, mode=BrowserMode.LIST, typed=""), None
        case NamedKey.BACKSPACE:
            return replace(view, typed=view.typed[:-1]), None
        case TypedKey(text=text):
            return replace(view, typed=view.typed + text), None
        case _:
            return view, None
