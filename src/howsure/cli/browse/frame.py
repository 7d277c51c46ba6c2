"""A view as lines of the screen: exactly as many as it has, each no wider than it is. Foreign text is inert."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from rich.text import Text

from howsure.cli.browse.view import Entry, Mode, View
from howsure.reports.marks import OF_VERDICT
from howsure.reports.screen import Screen

LIST_KEYS = "↑↓ move  ⏎ open  f filter  / search  s summary  t triage  q quit"
PAGE_KEYS = "↑↓ scroll  n next  p previous  esc list  f filter  / search  q quit"
TYPING_KEYS = "type a text, ⏎ search, esc cancel"
ASCII_KEYS = str.maketrans({"↑": "up/", "↓": "down", "⏎": "enter"})
ID_SHARE = 0.45
"""Of the width, for the case in a line of the list."""

UUID = re.compile(r"([0-9a-f]{8})-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
SHORTER = r"\1…"
"""Nobody reads the whole of one; the page of the result has it."""


def frame(view: View, screen: Screen, title: str, notes: Mapping[int, str], page: Sequence[Text]) -> list[Text]:
    """Head, list or page, message, keys. `notes` say why, by position, as far as they are known."""
    head = screen.line(title, style="bold")
    shown = list(_list(view, screen, notes)) if view.mode is not Mode.PAGE else _page(view, page)
    filled = [*shown[: view.room], *(Text() for _ in range(view.room - len(shown)))]
    lines = [head, *filled, _message(view, screen), _keys(view, screen)]
    return [_cut(line, screen.width) for line in lines]


def _page(view: View, page: Sequence[Text]) -> list[Text]:
    return list(page[view.scroll : view.scroll + view.room])


def _list(view: View, screen: Screen, notes: Mapping[int, str]) -> Iterator[Text]:
    if not view.listed:
        yield Text()
        yield screen.text(f"  no results are {view.shown.value}" if view.entries else "  no results", "dim")
    names = [_named(screen, entry) for entry in view.window]
    room = min(max((name.cell_len for name in names), default=0), int(screen.width * ID_SHARE))
    for place, (entry, name) in enumerate(zip(view.window, names, strict=True), start=view.top):
        here = place == view.cursor
        name.truncate(room, overflow="ellipsis", pad=True)
        why = screen.line(notes.get(entry.position, ""), style="dim")
        line = Text.assemble(">" if here else " ", screen.mark(OF_VERDICT[entry.verdict]), " ", name, " ", why)
        if here:
            line.stylize("reverse")
        yield line


def _named(screen: Screen, entry: Entry) -> Text:
    """Who answered comes first where several did: what is too long loses its end."""
    repeat = f"#{entry.repeat} " if entry.repeat > 1 else ""
    candidate = f"[{entry.candidate}] " if entry.candidate else ""
    return screen.line(f"{candidate}{repeat}{UUID.sub(SHORTER, entry.case_id)}")


def _message(view: View, screen: Screen) -> Text:
    if view.mode is Mode.TYPING:
        return Text.assemble("/", screen.line(view.typed), ("_", "blink"))
    if view.message:
        return screen.line(view.message, style="yellow")
    if view.mode is Mode.PAGE:
        last = min(view.length, view.scroll + view.room)
        return screen.text(f"lines {min(view.scroll + 1, last)}–{last} of {view.length}{_place(view)}", "dim")
    held = f", holding “{view.query}” (esc clears)" if view.query else ""
    return screen.text(f"{_place(view).removeprefix('  ')}  listed: {view.shown.value}", "dim") + screen.line(
        held, style="dim"
    )


def _place(view: View) -> str:
    if view.of_run:
        return ""
    return f"  result {view.cursor + 1:,} of {len(view.listed):,}" if view.listed else ""


def _keys(view: View, screen: Screen) -> Text:
    shown = {Mode.LIST: LIST_KEYS, Mode.PAGE: PAGE_KEYS, Mode.TYPING: TYPING_KEYS}[view.mode]
    return Text(shown.translate(ASCII_KEYS) if screen.ascii_only else shown, style="dim")


def _cut(line: Text, width: int) -> Text:
    line.truncate(width, overflow="ellipsis")
    line.no_wrap = True
    return line
