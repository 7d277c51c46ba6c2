"""The browser of `howsure show`: the terminal (only where there is `termios`), the frame that is drawn, and the loop
from keys to frames. browser_view.py has the state of the browser and what keys do to it; nothing there touches a
terminal."""

from __future__ import annotations

import asyncio
import os
import re
import select
import signal
import sys
import termios
import tty
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from rich.console import Console, RenderableType
from rich.text import Text

from howsure.cli.browser_view import (
    BrowserAction,
    BrowserEntry,
    BrowserMode,
    BrowserView,
    Key,
    OpenResult,
    OpenRunPage,
    QuitBrowser,
    SearchResults,
    WholeRunPage,
    decode_keys,
    first_view,
    open_page,
    press_key,
    report_missing,
    resize,
    set_page_length,
    show_matches,
)
from howsure.cli.output import with_store
from howsure.cli.progress import console
from howsure.model.result import Result
from howsure.model.summary import Summary
from howsure.reports.case_facts import conversation
from howsure.reports.document import Screen
from howsure.reports.figures import VERDICT_MARKS
from howsure.reports.run_facts import run_sentence
from howsure.reports.run_report import case_report, run_report
from howsure.reports.triage_report import triage_report
from howsure.services.gate.gate import rule_on_gates
from howsure.services.triage.triage import triage_stored
from howsure.services.workspace import Workspace
from howsure.store.run_columns import VERDICTS, AttemptColumns
from howsure.store.store import Store

KEYS = {
    BrowserMode.LIST: "↑↓ move  ⏎ open  f filter  / search  s summary  t triage  q quit",
    BrowserMode.PAGE: "↑↓ scroll  n next  p previous  esc list  f filter  / search  q quit",
    BrowserMode.TYPING: "type a text, ⏎ search, esc cancel",
}
ASCII_KEYS = str.maketrans({"↑": "up/", "↓": "down", "⏎": "enter"})
ID_SHARE = 0.45
"""The share of the width that the case has in a line of the list."""

UUID = re.compile(r"([0-9a-f]{8})-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
SHORTER = r"\1…"
"""The whole id is on the page of the result."""
ENTER, LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
HOME, CLEAR_LINE, CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end the browser, after the terminal is restored."""
SMALLEST = (20, 5)
ESCAPE_WAIT = 0.05
"""Seconds to wait for the rest of a sequence that begins with an escape."""


def draw_frame(
    view: BrowserView, screen: Screen, title: str, notes: Mapping[int, str], page: Sequence[Text]
) -> list[Text]:
    """Head, list or page, message, keys. `notes` say why, by position, as far as they are known."""
    head = screen.line(title, style="bold")
    if view.mode is BrowserMode.PAGE:
        shown = list(page[view.scroll : view.scroll + view.room])
    else:
        shown = list(_list(view, screen, notes))
    filled = [*shown[: view.room], *(Text() for _ in range(view.room - len(shown)))]
    keys = KEYS[view.mode].translate(ASCII_KEYS) if screen.ascii_only else KEYS[view.mode]
    lines = [head, *filled, _message(view, screen), Text(keys, style="dim")]
    for line in lines:
        line.truncate(screen.width, overflow="ellipsis")
        line.no_wrap = True
    return lines


def _list(view: BrowserView, screen: Screen, notes: Mapping[int, str]) -> Iterator[Text]:
    if not view.listed:
        yield Text()
        yield screen.text(f"  no results are {view.shown.value}" if view.entries else "  no results", "dim")
    names = [_named(screen, entry) for entry in view.window]
    room = min(max((name.cell_len for name in names), default=0), int(screen.width * ID_SHARE))
    for place, (entry, name) in enumerate(zip(view.window, names, strict=True), start=view.top):
        here = place == view.cursor
        name.truncate(room, overflow="ellipsis", pad=True)
        why = screen.line(notes.get(entry.position, ""), style="dim")
        line = Text.assemble(">" if here else " ", screen.mark(VERDICT_MARKS[entry.verdict]), " ", name, " ", why)
        if here:
            line.stylize("reverse")
        yield line


def _named(screen: Screen, entry: BrowserEntry) -> Text:
    """The candidate comes first, because a name that is too long loses its end."""
    repeat = f"#{entry.repeat} " if entry.repeat > 1 else ""
    candidate = f"[{entry.candidate}] " if entry.candidate else ""
    return screen.line(f"{candidate}{repeat}{UUID.sub(SHORTER, entry.case_id)}")


def _message(view: BrowserView, screen: Screen) -> Text:
    if view.mode is BrowserMode.TYPING:
        return Text.assemble("/", screen.line(view.typed), ("_", "blink"))
    if view.message:
        return screen.line(view.message, style="yellow")
    if view.mode is BrowserMode.PAGE:
        last = min(view.length, view.scroll + view.room)
        return screen.text(f"lines {min(view.scroll + 1, last)}–{last} of {view.length}{_place(view)}", "dim")
    query = f", holding “{view.query}” (esc clears)" if view.query else ""
    listed = screen.text(f"{_place(view).removeprefix('  ')}  listed: {view.shown.value}", "dim")
    return listed + screen.line(query, style="dim")


def _place(view: BrowserView) -> str:
    if view.of_run:
        return ""
    return f"  result {view.cursor + 1:,} of {len(view.listed):,}" if view.listed else ""


class TerminalResize:
    """The terminal has another size: draw again."""


class Terminal:
    """`async with Terminal(console) as terminal:`"""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._in, self._out = sys.stdin.fileno(), sys.stdout.fileno()
        self._events: asyncio.Queue[Key | TerminalResize | None] = asyncio.Queue()

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines. The last column stays free: a line that fills it wraps in some terminals."""
        columns, lines = 80, 24
        with suppress(OSError):
            columns, lines = os.get_terminal_size(self._out)
        return max(SMALLEST[0], (columns or 80) - 1), max(SMALLEST[1], lines or 24)

    async def __aenter__(self) -> Terminal:
        self._before = termios.tcgetattr(self._in)
        tty.setcbreak(self._in, termios.TCSANOW)
        loop = asyncio.get_running_loop()
        loop.add_reader(self._in, self._read)
        loop.add_signal_handler(signal.SIGWINCH, self._events.put_nowait, TerminalResize())
        for ending in ENDINGS:
            loop.add_signal_handler(ending, self._events.put_nowait, None)
        # A program that is stopped here would leave the terminal without echo and cursor.
        self._stopping = signal.signal(signal.SIGTSTP, signal.SIG_IGN)
        self._write(ENTER)
        return self

    async def __aexit__(self, *_: object) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._in)
        for known in (signal.SIGWINCH, *ENDINGS):
            loop.remove_signal_handler(known)
        signal.signal(signal.SIGTSTP, self._stopping)
        self._write(LEAVE)
        termios.tcsetattr(self._in, termios.TCSADRAIN, self._before)

    async def events(self) -> AsyncIterator[Key | TerminalResize]:
        """Until the terminal goes away."""
        while (event := await self._events.get()) is not None:
            yield event

    def draw(self, lines: Sequence[Text]) -> None:
        width, _ = self.size
        drawn: list[str] = []
        for line in lines:
            with self._console.capture() as captured:
                self._console.print(line, end="", no_wrap=True, overflow="crop", width=width)
            drawn.append(captured.get() + CLEAR_LINE)
        self._write(HOME + "\r\n".join(drawn) + CLEAR_BELOW)

    def _read(self) -> None:
        try:
            sent = os.read(self._in, 1024)
            if sent.endswith(b"\x1b") and select.select([self._in], [], [], ESCAPE_WAIT)[0]:
                sent += os.read(self._in, 1024)
        except OSError:
            sent = b""
        if not sent:
            asyncio.get_running_loop().remove_reader(self._in)
            self._events.put_nowait(None)
        for key in decode_keys(sent):
            self._events.put_nowait(key)

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


def browse(work: Workspace, run: str) -> None:
    """Until the user leaves."""

    async def show(store: Store) -> None:
        found = await store.find_run(run)
        summary = await rule_on_gates(store, await store.summary(found.id))
        attempts, _ = await store.columns(found.id)
        shown = console()
        async with Terminal(shown) as terminal:
            await Browser(store, summary, browser_entries(attempts), shown, terminal).run()

    with_store(work, show, read_only=True)


def browser_entries(attempts: AttemptColumns) -> list[BrowserEntry]:
    """Every result, without its body."""
    columns = (attempts.positions, attempts.cases, attempts.candidates, attempts.repeats, attempts.verdicts)
    return [
        BrowserEntry(position, attempts.case_ids[case], attempts.candidate_names[candidate], repeat, VERDICTS[verdict])
        for position, case, candidate, repeat, verdict in zip(*columns, strict=True)
    ]


def contains_text(result: Result, text: str) -> bool:
    """Whether the text is in the question, the conversation, a tool call or a reason; capitals do not matter."""
    needle = text.casefold()
    texts = (result.case.id, result.case.name, result.candidate, *result.reasons, *result.case.tags)
    if any(needle in part.casefold() for part in texts):
        return True
    if any(needle in grade.reason.casefold() for grade in result.grades):
        return True
    for message in conversation(result):
        called = (f"{call.name} {call.arguments} {call.result and call.result.content}" for call in message.tool_calls)
        if any(needle in part.casefold() for part in (message.content, *called)):
            return True
    return any(needle in failure.message.casefold() for failure in result.failures)


class BrowserTerminal(Protocol):
    """What the browser needs of a terminal."""

    @property
    def size(self) -> tuple[int, int]: ...

    def events(self) -> AsyncIterator[Key | TerminalResize]: ...

    def draw(self, lines: Sequence[Text]) -> None: ...


class Browser:
    """One run on one terminal. `_notes` are the reasons of the results that have been in sight."""

    def __init__(
        self, store: Store, summary: Summary, listed: Sequence[BrowserEntry], shown: Console, terminal: BrowserTerminal
    ) -> None:
        self._store = store
        self._summary = summary
        self._console = shown
        self._terminal = terminal
        self._notes: dict[int, str] = {}
        self._open: RenderableType | None = None
        self._page: list[Text] = []
        self._width, height = terminal.size
        self._view = first_view(listed, height)

    async def run(self) -> None:
        await self._draw()
        async for event in self._terminal.events():
            if not await self._react(event):
                return
            await self._draw()

    async def _react(self, event: Key | TerminalResize) -> bool:
        """Whether to go on."""
        if isinstance(event, TerminalResize):
            # Adopt the terminal's present size; an open page is broken into lines again.
            self._width, height = self._terminal.size
            self._view = resize(self._view, height)
            if self._view.mode is BrowserMode.PAGE and self._open is not None:
                self._view = set_page_length(self._view, self._break(self._open))
            return True
        self._view, act = press_key(self._view, event)
        if isinstance(act, QuitBrowser):
            return False
        if act is not None:
            self._view = await self._act(act)
        return True

    async def _act(self, act: BrowserAction) -> BrowserView:
        match act:
            case OpenResult(position=position):
                if (result := await self._result(position)) is None:
                    return report_missing(self._view)
                return open_page(self._view, self._break(case_report(result)))
            case OpenRunPage(page=WholeRunPage.SUMMARY):
                return open_page(self._view, self._break(run_report(self._summary, (), hints=False)), of_run=True)
            case OpenRunPage(page=WholeRunPage.TRIAGE):
                triage = await triage_stored(self._store, self._summary.run)
                return open_page(self._view, self._break(triage_report(triage, written=False)), of_run=True)
            case SearchResults(text=text):
                return show_matches(self._view, text, await self._search(text))
            case _:
                return self._view

    async def _result(self, position: int) -> Result | None:
        """None: the run has been deleted since the list was made."""
        found = await self._store.results(self._summary.run.id, after=position - 1, limit=1)
        return found[0] if found and found[0].position == position else None

    async def _search(self, text: str) -> frozenset[int]:
        """The positions of the listed results that contain the text."""
        found: set[int] = set()
        for verdict in self._view.shown.verdicts:
            async for result in self._store.iterate(self._summary.run.id, verdict=verdict):
                if contains_text(result, text):
                    found.add(result.position)
        return frozenset(found)

    def _break(self, shown: RenderableType) -> int:
        """Break a page into lines; how many they are."""
        self._open = shown
        options = self._console.options.update(width=self._width, height=None)
        lines = self._console.render_lines(shown, options, pad=False)
        self._page = [Text.assemble(*((part.text, part.style or "") for part in line)) for line in lines]
        return len(self._page)

    async def _draw(self) -> None:
        if self._view.mode is not BrowserMode.PAGE:
            # Fetch the reasons of the results in sight.
            for entry in self._view.window:
                if entry.position not in self._notes:
                    result = await self._result(entry.position)
                    self._notes[entry.position] = "" if result is None else reason_line(result)
        screen = Screen(width=self._width, ascii_only=self._console.options.ascii_only)
        title = f"{self._summary.run.name or self._summary.run.id}: {run_sentence(self._summary)}"
        self._terminal.draw(draw_frame(self._view, screen, title, self._notes, self._page))


def reason_line(result: Result) -> str:
    """The name of the case, where it has one, and the reasons, on one line."""
    reasons = "; ".join(result.reasons)
    return f"{result.case.name}: {reasons}" if result.case.name else reasons
