"""What the browser needs from a run: its entries, a line about each, and what a search looks at."""

from __future__ import annotations

import io
from typing import Any

import pytest

from howsure.cli.browser import browser_entries, contains_text, reason_line
from howsure.cli.browser_view import BrowserEntry
from howsure.cli.show import can_browse
from howsure.model.case import SingleTurn
from howsure.model.result import Failure
from howsure.model.verdict import Verdict
from howsure.store.run_columns import VERDICTS, AttemptColumns
from unit.services.triage.triage_results import called, criterion, result, talk


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
