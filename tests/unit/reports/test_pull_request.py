"""A run as Markdown for a pull request: flips first, always small enough."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from hostile import HOSTILE, hostile_results, hostile_summary
from howsure.model.comparison import CaseFlip, Conclusion
from howsure.model.result import Result
from howsure.model.summary import GateOutcome, GateRuling, GraderSummary
from howsure.model.verdict import Verdict
from howsure.reports.document import Table
from howsure.reports.pull_request import COMMENT_LIMIT, MAX_BYTES, BoundedPage, pull_request, write_pull_request
from howsure.testing import a_case, a_transcript
from unit.reports.comparisons import FAILED, FLIPS, PASSED, compared, comparison, difference
from unit.reports.northwind import a_result, refund_results, stream, summary_of
from unit.reports.snapshot import matches

GATES = (
    GateRuling(expression="pass_rate >= 0.9", outcome=GateOutcome.FAILED, reason="70.0 % is below 90 %"),
    GateRuling(expression="errors <= 10%", outcome=GateOutcome.HELD, reason="8.3 % errored"),
)


def headings(text: str) -> list[str]:
    return re.findall(r"^#+ .+$", text, re.MULTILINE)


async def test_the_document_is_as_it_was() -> None:
    results = refund_results()
    matches(
        "pull_request.md", await pull_request(replace(summary_of(results), gates=GATES), stream(results), comparison())
    )


async def test_what_got_worse_comes_first_then_the_answer_the_gates_and_the_failures() -> None:
    results = refund_results()
    summary = replace(summary_of(results), gates=GATES)
    text = await pull_request(summary, stream(results), comparison(compared(flips=FLIPS)))
    assert headings(text)[:6] == [
        "# support-v1 on refund policy",
        "## 1 case got worse",
        "## 2 cases got better",
        "## Gates",
        "## 4 cases did not pass",
        "## Graders",
    ]
    order = ["after is better than before", "q7", "q2", "7 of 10 passed", "70.0 % is below 90 %", "refunded outside"]
    places = [text.index(each) for each in order]
    assert places == sorted(places)


async def test_without_a_baseline_the_answer_comes_first() -> None:
    results = refund_results()
    text = await pull_request(summary_of(results), stream(results))
    assert text.startswith("# support-v1 on refund policy\n\n**7 of 10 passed (70.0 %, likely 40–89 %).")
    assert headings(text)[1:3] == ["## 4 cases did not pass", "## Graders"]


async def test_a_run_that_passed_has_no_list_of_failures() -> None:
    results = refund_results()[:2]
    text = await pull_request(summary_of(results), stream(results))
    assert "did not pass" not in text
    assert "All 2 passed" in text


async def test_candidates_are_named_where_there_are_several() -> None:
    results = [*refund_results("v1"), *refund_results("v2", repeat=2)]
    text = await pull_request(summary_of(results), stream(results))
    assert "|  | case | candidate | why |" in text
    assert "| ■ failed | refund-03 (repeat 2) | v2 | tool_usage_accuracy 0.5" in text


async def test_failed_cases_are_shown_in_full_while_there_is_room() -> None:
    results = refund_results()
    text = await pull_request(summary_of(results), stream(results))
    assert "## Failed and errored cases" in text
    assert "user: Refund 4473, I changed my mind. It was 40 days ago." in text


async def many(count: int, size: int) -> AsyncIterator[Result]:
    for number in range(count):
        yield a_result(
            Verdict.FAILED,
            case=a_case(id=f"case-{number}-" + "ß" * size, message="why? " * size),
            transcript=a_transcript("<script>" * size),
            reasons=("💥" * size, "and <b>" * size),
            candidate="c" * size,
        )


@pytest.mark.parametrize(
    ("count", "size"), [(1, 100_000), (20, 5_000), (1_000, 500), (10_000, 5)], ids=["huge", "large", "many", "legion"]
)
async def test_however_much_there_is_it_stays_below_the_limit_of_a_comment(count: int, size: int) -> None:
    flips = tuple(CaseFlip(case_id=f"{number}" + "é" * size, first=PASSED, second=FAILED) for number in range(count))
    better = tuple(CaseFlip(case_id=f"{number}" + "é" * size, first=FAILED, second=PASSED) for number in range(count))
    summary = replace(summary_of(refund_results(), name="n" * size), gates=GATES * min(count, 2000))
    text = await pull_request(summary, many(count, size), comparison(compared(flips=(*flips, *better))))
    assert len(text.encode()) <= MAX_BYTES < COMMENT_LIMIT == 65_536
    assert f"## {count:,} case{'s' if count > 1 else ''} got worse" in text
    assert f"{count:,} case{'s' if count > 1 else ''} did not pass" in text
    assert "7 of 10 passed" in text


async def test_what_had_no_room_is_counted() -> None:
    text = await pull_request(summary_of(refund_results()), many(5_000, 3))
    shown = len(re.findall(r"^\| ■ failed", text, re.MULTILINE))
    assert 100 < shown < 5_000
    assert f"{5_000 - shown:,} more cases that did not pass are not shown here; a `.html` or `.jsonl` report" in text


async def test_many_graders_and_many_comparisons_leave_room_for_the_answer() -> None:
    summary = summary_of(refund_results())
    (one, *_) = summary.graders
    graders: tuple[GraderSummary, ...] = tuple(replace(one, name=f"grader {number}" * 20) for number in range(3_000))
    pairs = [compared(difference(Conclusion.WORSE), flips=FLIPS) for _ in range(500)]
    text = await pull_request(replace(summary, graders=graders), stream(refund_results()), comparison(*pairs))
    assert len(text.encode()) <= MAX_BYTES
    assert "**7 of 10 passed" in text
    assert "more comparisons are not shown here" in text
    assert "3,000 more graders are not shown here" in text


async def test_what_was_not_compared_is_said() -> None:
    text = await pull_request(
        summary_of(refund_results()), stream(refund_results()), comparison(left_out=("candidate *x*",))
    )
    assert "Not compared: candidate \\*x\\*." in text


async def test_it_is_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "pr.md"
    await write_pull_request(summary_of(refund_results()), stream(refund_results()), path)
    assert path.read_text("utf-8") == await pull_request(summary_of(refund_results()), stream(refund_results()))


def test_a_room_takes_what_fits_and_nothing_else() -> None:
    room = BoundedPage(20)
    assert room.take("ä" * 5)
    assert not room.take("x" * 9)
    assert room.take("y" * 6)
    assert room.text == "äääää\n\nyyyyyy\n"
    assert BoundedPage(100).take_table(Table(("a",), [("x",)] * 50), 0.5) == 6


OUTSIDE = re.compile(r"^(`{3,})\w*\n.*?^\1$", re.MULTILINE | re.DOTALL)


async def test_planted_text_calls_nobody_and_marks_nothing_up() -> None:
    results = hostile_results()
    summary = hostile_summary(results, HOSTILE[0])
    flips = tuple(CaseFlip(case_id=text, first=PASSED, second=FAILED, causes=(text,)) for text in HOSTILE)
    text = OUTSIDE.sub("", await pull_request(summary, stream(results), comparison(compared(flips=flips))))
    assert not re.search(r"<(?!!-- -->)", text)
    assert not re.search(r"(?<![\w`])@\w|(?<![\w`])#\d", text)
    assert not re.search(r"(?<!\\)\][(:]", text)
    assert not re.search(r"(?<!\\)://", text)
    for sign in ("\x1b", "\u202e", "\x00", "www.e"):
        assert sign not in text
