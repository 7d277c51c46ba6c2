"""A run, and a case, as a terminal shows them."""

from __future__ import annotations

from io import BytesIO, StringIO, TextIOWrapper
from typing import Any

import pytest
from rich.console import Console, RenderableType

from howsure.model.case import Scenario, SingleTurn
from howsure.model.result import Failure, Result
from howsure.model.run import RunState
from howsure.model.score import Score, Unscored, UnscoredReason
from howsure.model.summary import Summary
from howsure.model.transcript import Message, Role, ToolCall, ToolResult, Transcript
from howsure.model.verdict import Verdict
from howsure.reports.document import ReportDocument
from howsure.reports.html.page import head_context
from howsure.reports.run_report import SHOWN_RESULTS, case_report, run_report
from howsure.testing import a_case, a_transcript
from unit.reports.northwind import SUPPORT_PINS, a_result, refund_results, summary_of, support_results
from unit.reports.snapshot import matches


def printed(shown: RenderableType, width: int = 80) -> str:
    file = StringIO()
    Console(file=file, width=width, color_system=None).print(shown)
    return "".join(line.rstrip() + "\n" for line in file.getvalue().splitlines())


def in_ascii(shown: RenderableType) -> str:
    """As on a machine whose locale is C: a stream that cannot hold anything else."""
    raw = BytesIO()
    file = TextIOWrapper(raw, encoding="ascii", errors="strict", write_through=True)
    Console(file=file, width=80).print(shown)
    return raw.getvalue().decode("ascii")


def report(results: list[Result], summary: Summary | None = None) -> ReportDocument:
    """With the failed results named first, then the errored ones."""
    worst = [each for verdict in (Verdict.FAILED, Verdict.ERRORED) for each in results if each.verdict is verdict]
    return run_report(summary or summary_of(results), worst[:SHOWN_RESULTS])


@pytest.mark.parametrize("width", [80, 120])
def test_the_report_of_a_dataset_run_is_as_it_was(width: int) -> None:
    matches(f"run_golden_{width}.txt", printed(report(refund_results()), width))


@pytest.mark.parametrize("width", [80, 120])
def test_the_report_of_a_test_set_run_is_as_it_was(width: int) -> None:
    results = support_results()
    shown = report(results, summary_of(results, pins=SUPPORT_PINS))
    matches(f"run_test_set_{width}.txt", printed(shown, width))


def test_the_report_of_several_candidates_and_repeats_is_as_it_was() -> None:
    results = [result for name in ("v1", "v2") for repeat in (1, 2) for result in refund_results(name, repeat)]
    shown = report(results, summary_of(results, pins={"repeat": 2}))
    matches("run_candidates_120.txt", printed(shown, 120))


@pytest.mark.parametrize("width", [80, 120])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    results = [*refund_results("a-candidate-with-a-rather-long-name"), *refund_results("b")]
    text = printed(report(results), width)
    assert max(len(line) for line in text.splitlines()) <= width


def test_the_counts_always_add_up_and_show_all_five() -> None:
    text = printed(report(refund_results(), summary_of(refund_results(), total=20)))
    assert "● 7 passed + ■ 3 failed + ▲ 1 errored + ○ 1 skipped + ◌ 8 pending = 20" in text


def test_a_stream_that_holds_only_ascii_gets_a_whole_report() -> None:
    text = in_ascii(report(refund_results()))
    assert "o 7 passed + x 3 failed + ! 1 errored + - 1 skipped + . 0 pending = 12" in text
    assert "70.0 % [40-89] of 10 decided; 64-73 % of all 11" in text
    assert ">= 1" in text


def test_a_run_that_is_no_terminal_has_no_colour() -> None:
    file = StringIO()
    Console(file=file, width=80).print(report(refund_results()))
    assert "\x1b" not in file.getvalue()


def test_an_empty_run_says_so() -> None:
    text = printed(report([]))
    assert "There were no cases to try." in text
    assert "0 pending = 0" in text


def test_a_run_of_errors_decides_nothing_and_offers_to_try_again() -> None:
    broken = [result for result in refund_results() if result.verdict is Verdict.ERRORED]
    text = printed(report(broken))
    assert "No case could be decided. 1 errored: not counted as failures." in text
    assert "pass rate" not in text
    assert "howsure retry 3f2a9c1b --errors" in text


def test_an_interrupted_run_offers_to_go_on() -> None:
    summary = summary_of(refund_results(), total=20, state=RunState.INTERRUPTED)
    text = printed(report(refund_results(), summary))
    assert "state    interrupted" in text
    assert "howsure resume 3f2a9c1b" in text
    assert "Not finished: 8 of 20 still to do." in " ".join(text.split())


def test_no_judge_is_said_plainly() -> None:
    text = printed(report(refund_results(), summary_of(refund_results(), pins={"judge": ""})))
    assert "judge    no judge" in text
    assert "This run had no judge" in text


def test_the_offline_judge_is_never_silent() -> None:
    text = printed(report(refund_results(), summary_of(refund_results(), pins={"judge": "offline"})))
    assert "Judged offline, by rules of thumb and not by a model" in text


def test_a_column_for_what_was_not_scored_is_there_only_when_needed() -> None:
    clean = [result for result in refund_results() if result.verdict is Verdict.PASSED]
    assert "no judge" not in printed(report(clean))
    assert "no judge" in printed(report(refund_results()))


def test_foreign_text_cannot_drive_the_terminal_or_become_markup() -> None:
    evil = "\x1b]0;owned\x07[bold red]not markup[/] \u202ereversed"
    result = a_result(
        Verdict.FAILED,
        case=a_case(id=evil, message=evil, name=evil),
        candidate=evil,
        reasons=(evil,),
        grades=(Score(name=evil, value=0.0, pass_mark=1.0, reason=evil),),
        failures=(Failure(kind="GraderFailed", message=evil),),
        transcript=a_transcript(evil, calls=[(evil, {evil: evil})], state={evil: evil}),
    )
    for shown in (report([result], summary_of([result], name=evil)), case_report(result)):
        text = printed(shown, 200)
        assert not {"\x1b", "\x07", "\u202e"} & set(text)
        assert "[bold red]not markup[/]" in text


def test_a_case_of_a_dataset_is_as_it_was() -> None:
    matches("case_golden_80.txt", printed(case_report(refund_results("v1", 2)[5])))


def test_a_case_of_a_test_set_is_as_it_was() -> None:
    matches("case_test_set_120.txt", printed(case_report(support_results()[0]), 120))


def test_a_case_that_broke_shows_who_broke_and_what_was_asked() -> None:
    text = printed(case_report(refund_results()[10]))
    assert "▲ errored  refund-11" in text
    assert "▲ TargetFailed: target 'recorded': ConnectionError: refused" in text
    assert "user        Why was my refund of order 4481 declined?" in text


def test_a_case_says_what_surrounded_it_and_what_its_tools_gave() -> None:
    calls = (
        ToolCall(name="lookup", arguments={"id": "7"}),
        ToolCall(name="pay", result=ToolResult(content="no funds", failed=True)),
    )
    talk = (Message(role=Role.ASSISTANT, content="One moment.", agent="billing", tool_calls=calls),)
    case = a_case(input=SingleTurn(message="Pay 7", context="The till is closed."))
    result = a_result(Verdict.FAILED, case=case, transcript=Transcript(answer="", messages=talk, state={"paid": False}))
    text = printed(case_report(result))
    assert "  context: The till is closed." in text
    assert 'billing     One moment.\n            → lookup(id="7")  ← no response\n' in text
    assert "← failed no funds" in text
    assert 'final state: {"paid":false}' in text


def test_a_scenario_shows_its_persona_and_an_absent_grade_its_reason() -> None:
    case = a_case(input=Scenario(persona="In a hurry", initial_message="Hi", max_turns=3))
    waits = Unscored(name="fluency", why=UnscoredReason.NO_JUDGE, reason="needs a judge")
    text = printed(case_report(a_result(Verdict.SKIPPED, case=case, grades=(waits,))))
    assert "  persona, up to 3 turns: In a hurry" in text
    assert "no judge: needs a judge" in text


def test_a_case_fits_a_stream_that_holds_only_ascii() -> None:
    assert "Was kostet der R\\xfcckversand" in in_ascii(case_report(refund_results()[6]))


def test_a_grader_that_only_errored_has_no_rate_and_was_not_measured_either() -> None:
    broken = Unscored(name="fluency", why=UnscoredReason.ERROR, reason="no value in the reply", pass_mark=0.7)
    summary = summary_of([a_result(Verdict.ERRORED, grades=(broken,))])
    (row,) = [row.split() for row in printed(run_report(summary)).splitlines() if row.startswith("fluency")]
    assert row == ["fluency", "0", "–", "≥", "0.7", "–", "1"]
    context: dict[str, Any] = head_context(summary)
    assert ([each.name for each in context["judged"]], context["measured"]) == (["fluency"], [])
