"""What each key does to a view of the browser: pure. A key gives the next view and, where something must be fetched,
what to do."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from howsure.cli.browse.keys import Key, Named, Typed
from howsure.cli.browse.view import Act, Mode, Open, Page, Quit, Search, Shown, Turn, View, listing, moved, scrolled

Step = tuple[View, Act | None]


def press(view: View, key: Key) -> Step:
    """What a key does."""
    view = replace(view, message="") if view.message else view
    match view.mode:
        case Mode.LIST:
            return _in_list(view, key)
        case Mode.PAGE:
            return _in_page(view, key)
        case Mode.TYPING:
            return _typing(view, key)


Motion = Callable[[View, int], int]
"""From the view and where it is, to where it goes."""

MOTIONS: dict[Key, Motion] = {
    Named.UP: lambda view, at: at - 1,
    Named.DOWN: lambda view, at: at + 1,
    Typed("k"): lambda view, at: at - 1,
    Typed("j"): lambda view, at: at + 1,
    Named.PAGE_UP: lambda view, at: at - view.room,
    Named.PAGE_DOWN: lambda view, at: at + view.room,
    Typed(" "): lambda view, at: at + view.room,
    Named.HOME: lambda view, at: 0,
    Typed("g"): lambda view, at: 0,
    Named.END: lambda view, at: max(len(view.listed), view.length),
    Typed("G"): lambda view, at: max(len(view.listed), view.length),
}


def _in_list(view: View, key: Key) -> Step:
    if (motion := MOTIONS.get(key)) is not None:
        return moved(view, motion(view, view.cursor)), None
    match key:
        case Named.ENTER | Named.RIGHT | Typed("l"):
            return view, Open(view.chosen.position) if view.chosen else None
        case Typed("n"):
            return moved(view, view.cursor + 1), None
        case Typed("p"):
            return moved(view, view.cursor - 1), None
        case Named.ESCAPE if view.query:
            return listing(replace(view, query="", found=None, message="search cleared")), None
        case _:
            return _anywhere(view, key)


def _in_page(view: View, key: Key) -> Step:
    if (motion := MOTIONS.get(key)) is not None:
        return scrolled(view, motion(view, view.scroll)), None
    match key:
        case Named.ESCAPE | Named.LEFT | Named.BACKSPACE | Typed("h"):
            return replace(view, mode=Mode.LIST, length=0), None
        case Typed("n"):
            return _turned(view, 0 if view.of_run else 1)
        case Typed("p"):
            return _turned(view, 0 if view.of_run else -1)
        case _:
            return _anywhere(view, key)


def _turned(view: View, by: int) -> Step:
    """To the next or the previous result; from a page about the run to the one chosen."""
    place = view.cursor + by
    if not 0 <= place < len(view.listed):
        return replace(view, message="that was the last one" if by > 0 else "that was the first one"), None
    view = moved(view, place)
    return view, Open(view.listed[place].position)


def _anywhere(view: View, key: Key) -> Step:
    match key:
        case Typed("q"):
            return view, Quit()
        case Typed("f"):
            following = list(Shown)[(list(Shown).index(view.shown) + 1) % len(Shown)]
            changed = replace(view, shown=following, query="", found=None, mode=Mode.LIST, length=0)
            return listing(replace(changed, message=f"listed: {following.value}")), None
        case Typed("/"):
            return replace(view, mode=Mode.TYPING, typed="", length=0), None
        case Typed("s"):
            return view, Turn(Page.SUMMARY)
        case Typed("t"):
            return view, Turn(Page.TRIAGE)
        case _:
            return view, None


def _typing(view: View, key: Key) -> Step:
    match key:
        case Named.ENTER if view.typed.strip():
            return view, Search(view.typed.strip())
        case Named.ENTER:
            return listing(replace(view, mode=Mode.LIST, typed="", query="", found=None)), None
        case Named.ESCAPE:
            return replace(view, mode=Mode.LIST, typed=""), None
        case Named.BACKSPACE:
            return replace(view, typed=view.typed[:-1]), None
        case Typed(text=text):
            return replace(view, typed=view.typed + text), None
        case _:
            return view, None
