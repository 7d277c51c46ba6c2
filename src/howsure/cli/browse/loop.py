"""The loop of the browser: keys in, frames out, and between them what a view asks for from the store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from rich.console import Console, RenderableType
from rich.text import Text

from howsure.cli.browse.frame import frame
from howsure.cli.browse.keys import Key
from howsure.cli.browse.pressing import press
from howsure.cli.browse.terminal import Resized, Terminal
from howsure.cli.browse.view import (
    Act,
    Entry,
    Mode,
    Open,
    Page,
    Quit,
    Search,
    Turn,
    View,
    gone,
    opened,
    paged,
    remeasured,
    resized,
    searched,
)
from howsure.cli.summary import console
from howsure.model.result import Result
from howsure.model.summary import Summary
from howsure.reports.conversation import conversation
from howsure.reports.screen import Screen
from howsure.reports.sentence import sentence
from howsure.reports.text import RunReport
from howsure.reports.text_case import case_detail
from howsure.reports.triage_text import TriageReport
from howsure.services.gating import gated
from howsure.services.triage.triaging import triaged
from howsure.services.workspace import Workspace
from howsure.store.queries.columns import VERDICTS, Attempts
from howsure.store.store import Store


def browse(work: Workspace, run: str) -> None:
    """Until the user leaves."""
    asyncio.run(_browse(work, run))


async def _browse(work: Workspace, run: str) -> None:
    async with await work.store(read_only=True) as store:
        found = await store.find_run(run)
        summary = await gated(store, await store.summary(found.id))
        attempts, _ = await store.columns(found.id)
        shown = console()
        async with Terminal(shown) as terminal:
            await Browser(store, summary, entries(attempts), shown, terminal).run()


def entries(attempts: Attempts) -> list[Entry]:
    """Every result, without its body."""
    columns = (attempts.positions, attempts.cases, attempts.candidates, attempts.repeats, attempts.verdicts)
    return [
        Entry(position, attempts.case_ids[case], attempts.candidate_names[candidate], repeat, VERDICTS[verdict])
        for position, case, candidate, repeat, verdict in zip(*columns, strict=True)
    ]


def holds(result: Result, text: str) -> bool:
    """Whether a text is in what was asked, said, done, or found wrong; capitals do not matter."""
    wanted = text.casefold()
    said = (result.case.id, result.case.name, result.candidate, *result.reasons, *result.case.tags)
    if any(wanted in part.casefold() for part in said):
        return True
    if any(wanted in grade.reason.casefold() for grade in result.grades):
        return True
    for message in conversation(result):
        called = (f"{call.name} {call.arguments} {call.result and call.result.content}" for call in message.tool_calls)
        if any(wanted in part.casefold() for part in (message.content, *called)):
            return True
    return any(wanted in failure.message.casefold() for failure in result.failures)


class Stage(Protocol):
    """What the browser needs of a terminal."""

    @property
    def size(self) -> tuple[int, int]: ...

    def events(self) -> AsyncIterator[Key | Resized]: ...

    def draw(self, lines: Sequence[Text]) -> None: ...


class Browser:
    """One run on one terminal. `_notes` are the reasons of the results that have been in sight."""

    def __init__(
        self, store: Store, summary: Summary, listed: Sequence[Entry], shown: Console, terminal: Stage
    ) -> None:
        self._store = store
        self._summary = summary
        self._console = shown
        self._terminal = terminal
        self._notes: dict[int, str] = {}
        self._open: RenderableType | None = None
        self._page: list[Text] = []
        self._width, height = terminal.size
        self._view = opened(listed, height)

    async def run(self) -> None:
        await self._draw()
        async for event in self._terminal.events():
            if not await self._did(event):
                return
            await self._draw()

    async def _did(self, event: Key | Resized) -> bool:
        """Whether to go on."""
        if isinstance(event, Resized):
            self._fit()
            return True
        self._view, act = press(self._view, event)
        if isinstance(act, Quit):
            return False
        if act is not None:
            self._view = await self._done(act)
        return True

    async def _done(self, act: Act) -> View:
        match act:
            case Open(position=position):
                result = await self._result(position)
                return gone(self._view) if result is None else paged(self._view, self._broken(case_detail(result)))
            case Turn(page=page):
                return paged(self._view, self._broken(await self._about(page)), of_run=True)
            case Search(text=text):
                return searched(self._view, text, await self._found(text))
            case Quit():
                return self._view

    async def _result(self, position: int) -> Result | None:
        """None: somebody has deleted the run since the list was made."""
        found = await self._store.results(self._summary.run.id, after=position - 1, limit=1)
        return found[0] if found and found[0].position == position else None

    async def _about(self, page: Page) -> RenderableType:
        if page is Page.SUMMARY:
            return RunReport(self._summary, (), hints=False)
        found = await triaged(self._store, self._summary.run)
        return TriageReport(found, written=False)

    async def _found(self, text: str) -> frozenset[int]:
        """In the results that the filter lists, read a page at a time."""
        found: set[int] = set()
        for verdict in self._view.shown.verdicts:
            async for result in self._store.iterate(self._summary.run.id, verdict=verdict):
                if holds(result, text):
                    found.add(result.position)
        return frozenset(found)

    def _fit(self) -> None:
        """To the size that the terminal has now; an open page is broken into lines anew."""
        self._width, height = self._terminal.size
        self._view = resized(self._view, height)
        if self._view.mode is Mode.PAGE and self._open is not None:
            self._view = remeasured(self._view, self._broken(self._open))

    def _broken(self, shown: RenderableType) -> int:
        """Break a page into lines; how many they are."""
        self._open = shown
        options = self._console.options.update(width=self._width, height=None)
        lines = self._console.render_lines(shown, options, pad=False)
        self._page = [Text.assemble(*((part.text, part.style or "") for part in line)) for line in lines]
        return len(self._page)

    async def _draw(self) -> None:
        if self._view.mode is not Mode.PAGE:
            await self._look_up()
        screen = Screen(width=self._width, ascii_only=self._console.options.ascii_only)
        self._terminal.draw(frame(self._view, screen, self._title, self._notes, self._page))

    @property
    def _title(self) -> str:
        return f"{self._summary.run.name or self._summary.run.id}: {sentence(self._summary)}"

    async def _look_up(self) -> None:
        """Why the results in sight ended as they did."""
        for entry in self._view.window:
            if entry.position not in self._notes:
                result = await self._result(entry.position)
                self._notes[entry.position] = "" if result is None else note(result)


def note(result: Result) -> str:
    """The reason of one result in a line: its name, where it has one, and why."""
    reasons = "; ".join(result.reasons)
    return f"{result.case.name}: {reasons}" if result.case.name else reasons
