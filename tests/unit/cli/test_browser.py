"""The browser over a real store, with keys from a list and frames into one. What the browser needs from a run: its
entries, a line about each, and what a search looks at."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text

from hostile import HOSTILE, hostile_results
from howsure.cli.browser import Browser, TerminalResize, browser_entries, contains_text, reason_line
from howsure.cli.browser_view import BrowserEntry, Key, decode_keys
from howsure.cli.show import can_browse
from howsure.model.case import SingleTurn
from howsure.model.result import Failure, Result
from howsure.model.run import RunState
from howsure.model.verdict import Verdict
from howsure.store.run_columns import VERDICTS, AttemptColumns
from unit.reports.northwind import a_run, counts_of
from unit.services.places import workplace
from unit.services.triage.triage_results import called, criterion, result, rule, talk

SMALLER = (40, 10)


class Played:
    """A terminal whose keys are known beforehand; `frames` is everything that was drawn. `None` makes it smaller."""

    def __init__(self, *sent: str | None, size: tuple[int, int] = (79, 24)) -> None:
        self._sent = sent
        self._size = size
        self.frames: list[list[str]] = []

    @property
    def size(self) -> tuple[int, int]:
        return self._size

    async def events(self) -> AsyncIterator[Key | TerminalResize]:
        for sent in self._sent:
            if sent is None:
                self._size = SMALLER
                yield TerminalResize()
            else:
                for key in decode_keys(sent.encode()):
                    yield key

    def draw(self, lines: Sequence[Text]) -> None:
        assert len(lines) == self._size[1]
        assert all(line.cell_len <= self._size[0] for line in lines)
        self.frames.append([line.plain.rstrip() for line in lines])

    @property
    def text(self) -> str:
        return "\n".join(self.frames[-1])


def four() -> list[Result]:
    return [
        result(criterion("Is polite", True), id="fine", verdict=Verdict.PASSED),
        result(
            criterion("Is polite", False, "Calls names."),
            rule("PRIVACY", True),
            id="rude",
            name="Rude",
            said=talk(called("open_ticket", {"ticket": "T-90011"}, queue="web"), answer="Go away."),
            reasons=("criterion not met: Is polite",),
            position=1,
        ),
        result(criterion("Is short", False, "Goes on and on."), id="long", reasons=("too long",), position=2),
        result(id="broken", verdict=Verdict.ERRORED, reasons=("HTTP 503",), position=3),
    ]


async def shown(folder: Path, results: Sequence[Result], *sent: str | None, forget: bool = False) -> Played:
    played = Played(*sent)
    work = workplace(folder)
    run = a_run(counts_of(results))
    async with await work.store() as store:
        await store.create_run(run)
        await store.save(run.id, results)
        await store.set_state(run.id, RunState.COMPLETED)
        summary = await store.summary(run.id)
        attempts, _ = await store.columns(run.id)
        if forget:
            await store.delete_run(run.id)
        console = Console(file=io.StringIO(), width=200, highlight=False)
        await Browser(store, summary, browser_entries(attempts), console, played).run()
    return played


async def test_the_list_has_a_line_of_why_for_each_failure(tmp_path: Path) -> None:
    played = await shown(tmp_path, four(), "q")
    assert played.frames[0][1:4] == [
        ">■ rude   Rude: criterion not met: Is polite",
        " ■ long   too long",
        " ▲ broken HTTP 503",
    ]


async def test_enter_shows_the_transcript_with_tool_calls_and_reasons(tmp_path: Path) -> None:
    played = await shown(tmp_path, four(), "\r")
    for text in ("■ failed  rude", "Hello?", '→ open_ticket(queue="web")', "T-90011", "Go away.", "Calls names."):
        assert text in played.text, text
    assert "result 1 of 3" in played.text


async def test_n_shows_the_next_failure_and_escape_the_list_on_it(tmp_path: Path) -> None:
    played = await shown(tmp_path, four(), "\rn", "\x1b")
    assert "Goes on and on." in "\n".join(played.frames[2])
    assert played.frames[-1][2] == ">■ long   too long"


async def test_a_search_looks_into_what_was_said_and_done(tmp_path: Path) -> None:
    played = await shown(tmp_path, four(), "/t-90011\r")
    assert played.frames[-1][1:3] == [">■ rude Rude: criterion not met: Is polite", ""]
    assert "1 of those listed hold “t-90011”" in played.text


async def test_a_search_stays_within_what_the_filter_lists(tmp_path: Path) -> None:
    played = await shown(tmp_path, four(), "/hello\r")
    assert "3 of those listed hold “hello”" in played.text
    everything = await shown(tmp_path / "again", four(), "fffff", "/hello\r")
    assert "4 of those listed hold “hello”" in everything.text


async def test_summary_and_triage_are_pages_of_the_run(tmp_path: Path) -> None:
    played = await shown(tmp_path, four(), "s", "t")
    assert "● 1 passed + ■ 2 failed + ▲ 1 errored" in "\n".join(played.frames[1])
    assert "P2: Mend the agent" in played.text
    assert "No model was asked" not in played.text


async def test_a_page_is_broken_into_lines_anew_when_the_terminal_changes(tmp_path: Path) -> None:
    played = await shown(tmp_path, four(), "\r", None)
    before, after = (next(line for line in frame if line.startswith("lines 1–")) for frame in played.frames[1:])
    assert before == "lines 1–12 of 12  result 1 of 3"
    assert after.startswith("lines 1–7 of ")
    assert int(after.split()[3]) > 12


async def test_the_end_of_the_keys_is_the_end(tmp_path: Path) -> None:
    assert len((await shown(tmp_path, four())).frames) == 1
    assert len((await shown(tmp_path / "again", four(), "qjjj")).frames) == 1


async def test_a_run_that_was_deleted_meanwhile_breaks_nothing(tmp_path: Path) -> None:
    played = await shown(tmp_path, four(), "\r", forget=True)
    assert "this result is no longer stored" in played.text


async def test_a_run_without_failures_says_so(tmp_path: Path) -> None:
    played = await shown(tmp_path, four()[:1], "\r")
    assert "no results are failed and errored" in played.text


async def test_what_others_wrote_is_inert_on_every_page(tmp_path: Path) -> None:
    texts = HOSTILE[::4]
    opened = "".join("\rn" for _ in range(2 * len(texts)))
    played = await shown(tmp_path, hostile_results(texts), opened, "t", " " * 40)
    everything = "".join(line for frame in played.frames for line in frame)
    assert "\x1b" not in everything
    assert "\u202e" not in everything
    assert "\x07" not in everything


def test_entries_are_made_without_reading_a_body() -> None:
    columns: dict[str, Any] = {
        "positions": [3, 4],
        "cases": [0, 0],
        "candidates": [0, 1],
        "repeats": [1, 2],
        "verdicts": [VERDICTS.index(Verdict.PASSED), VERDICTS.index(Verdict.FAILED)],
    }
    attempts = AttemptColumns(case_ids=["q1"], candidate_names=["", "m1"], **columns)
    assert browser_entries(attempts) == [
        BrowserEntry(3, "q1", "", 1, Verdict.PASSED),
        BrowserEntry(4, "q1", "m1", 2, Verdict.FAILED),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C77", True),
        ("voucher", True),
        ("HERE YOU", True),
        ("open_ticket", True),
        ("queue", True),
        ("t-90011", True),
        ("calls names", True),
        ("refund desk", True),
        ("nowhere", False),
    ],
    ids=["id", "question", "answer", "tool", "argument", "tool result", "reason", "tag", "nothing"],
)
def test_a_search_looks_at_what_was_asked_said_done_and_found(text: str, expected: bool) -> None:
    from_agent = talk(called("open_ticket", {"ticket": "T-90011"}, queue="web"))
    asked = SingleTurn(message="My voucher does not work")
    given = result(criterion("x", False, "Calls names."), id="c77", said=from_agent, asked=asked, tags=("refund desk",))
    assert contains_text(given, text) is expected


def test_a_search_finds_what_broke() -> None:
    assert contains_text(result(broke=[Failure(kind="TargetFailed", message="HTTP 503")]), "http 503")


def test_the_line_about_a_result_has_its_name_and_why() -> None:
    assert reason_line(result(criterion("x", False), name="Rude", reasons=("a", "b"))) == "Rude: a; b"
    assert reason_line(result(criterion("x", False), reasons=("a",))) == "a"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stdin", "stdout", "environ", "expected"),
    [
        (Terminal(), Terminal(), {"TERM": "xterm"}, True),
        (Terminal(), Terminal(), {"TERM": "dumb"}, False),
        (Terminal(), Terminal(), {}, False),
        (io.StringIO(), Terminal(), {"TERM": "xterm"}, False),
        (Terminal(), io.StringIO(), {"TERM": "xterm"}, False),
    ],
    ids=["a terminal", "a dumb one", "an unknown one", "keys from a pipe", "into a pipe"],
)
def test_only_a_terminal_that_can_be_drawn_on_is_browsed(
    stdin: io.StringIO, stdout: io.StringIO, environ: dict[str, str], expected: bool
) -> None:
    assert can_browse(stdin, stdout, environ) is expected
