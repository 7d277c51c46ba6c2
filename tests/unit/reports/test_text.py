"""A run, and a case, as a terminal shows them."""

from __future__ import annotations

from io import BytesIO, StringIO, TextIOWrapper

import pytest
from rich.console import Console, RenderableType

from howsure.model.case import Scenario, SingleTurn
from howsure.model.result import Failure, Result
from howsure.model.run import RunState
from howsure.model.score import Score, Unscored, Why
from howsure.model.summary import Summary
from howsure.model.transcript import Message, Role, ToolCall, ToolResult, Transcript
from howsure.model.verdict import Verdict
from howsure.reports.text import RunReport, to_look_at
from howsure.reports.text_case import case_detail
from howsure.testing import a_case, a_transcript
from unit.reports.northwind import SUPPORT_PINS, a_result, refund_results, stream, summary_of, support_results
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


async def report(results: list[Result], summary: Summary | None = None) -> RunReport:
    return RunReport(summary or summary_of(results), await to_look_at(stream(results)))


@pytest.mark.parametrize("width", [80, 120])
async def test_the_report_of_a_dataset_run_is_as_it_was(width: int) -> None:
    matches(f"run_golden_{width}.txt", printed(await report(refund_results()), width))


@pytest.mark.parametrize("width", [80, 120])
async def test_the_report_of_a_test_set_run_is_as_it_was(width: int) -> None:
    results = support_results()
    shown = await report(results, summary_of(results, pins=SUPPORT_PINS))
    matches(f"run_test_set_{width}.txt", printed(shown, width))


async def test_the_report_of_several_candidates_and_repeats_is_as_it_was() -> None:
    results = [result for name in ("v1", "v2") for repeat in (1, 2) for result in refund_results(name, repeat)]
    shown = await report(results, summary_of(results, pins={"repeat": 2}))
    matches("run_candidates_120.txt", printed(shown, 120))


@pytest.mark.parametrize("width", [80, 120])
async def test_no_line_is_wider_than_the_screen(width: int) -> None:
    results = [*refund_results("a-candidate-with-a-rather-long-name"), *refund_results("b")]
    text = printed(await report(results), width)
    assert max(len(line) for line in text.splitlines()) <= width


async def test_the_counts_always_add_up_and_show_all_five() -> None:
    text = printed(await report(refund_results(), summary_of(refund_results(), total=20)))
    assert "● 7 passed + ■ 3 failed + ▲ 1 errored + ○ 1 skipped + ◌ 8 pending = 20" in text


async def test_a_stream_that_holds_only_ascii_gets_a_whole_report() -> None:
    text = in_ascii(await report(refund_results()))
    assert "o 7 passed + x 3 failed + ! 1 errored + - 1 skipped + . 0 pending = 12" in text
    assert "70.0 % [40-89] n 10" in text
    assert ">= 1" in text


async def test_a_run_that_is_no_terminal_has_no_colour() -> None:
    file = StringIO()
    Console(file=file, width=80).print(await report(refund_results()))
    assert "\x1b" not in file.getvalue()


async def test_an_empty_run_says_so() -> None:
    text = printed(await report([]))
    assert "There were no cases to try." in text
    assert "0 pending = 0" in text


async def test_a_run_of_errors_decides_nothing_and_offers_to_try_again() -> None:
    broken = [result for result in refund_results() if result.verdict is Verdict.ERRORED]
    text = printed(await report(broken))
    assert "No case could be decided. 1 errored: not counted as failures." in text
    assert "pass rate" not in text
    assert "howsure retry 3f2a9c1b --errors" in text


async def test_an_interrupted_run_offers_to_go_on() -> None:
    summary = summary_of(refund_results(), total=20, state=RunState.INTERRUPTED)
    text = printed(await report(refund_results(), summary))
    assert "state    interrupted" in text
    assert "howsure resume 3f2a9c1b" in text
    assert "Not finished: 8 of 20 still to do." in " ".join(text.split())


async def test_no_judge_is_said_plainly() -> None:
    text = printed(await report(refund_results(), summary_of(refund_results(), pins={"judge": ""})))
    assert "judge    no judge" in text
    assert "This run had no judge" in text


async def test_the_offline_judge_is_never_silent() -> None:
    text = printed(await report(refund_results(), summary_of(refund_results(), pins={"judge": "offline"})))
    assert "Judged offline, by rules of thumb and not by a model" in text


async def test_a_column_for_what_was_not_scored_is_there_only_when_needed() -> None:
    clean = [result for result in refund_results() if result.verdict is Verdict.PASSED]
    assert "no judge" not in printed(await report(clean))
    assert "no judge" in printed(await report(refund_results()))


async def test_foreign_text_cannot_drive_the_terminal_or_become_markup() -> None:
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
    for shown in (await report([result], summary_of([result], name=evil)), case_detail(result)):
        text = printed(shown, 200)
        assert not {"\x1b", "\x07", "\u202e"} & set(text)
        assert "[bold red]not markup[/]" in text


async def test_the_worst_come_first_and_no_more_than_asked() -> None:
    chosen = await to_look_at(stream(refund_results()), limit=4)
    assert [result.case.id for result in chosen] == ["refund-03", "refund-06", "refund-08", "refund-11"]
    assert [result.case.id for result in await to_look_at(stream(refund_results()), limit=2)] == [
        "refund-03",
        "refund-06",
    ]
    assert await to_look_at(stream([])) == []


def test_a_case_of_a_dataset_is_as_it_was() -> None:
    matches("case_golden_80.txt", printed(case_detail(refund_results("v1", 2)[5])))


def test_a_case_of_a_test_set_is_as_it_was() -> None:
    matches("case_test_set_120.txt", printed(case_detail(support_results()[0]), 120))


def test_a_case_that_broke_shows_who_broke_and_what_was_asked() -> None:
    text = printed(case_detail(refund_results()[10]))
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
    text = printed(case_detail(result))
    assert "context: The till is closed." in text
    assert "billing     One moment.\n            → lookup(id=7)  ← no response\n" in text
    assert "← failed no funds" in text
    assert 'final state  {"paid":false}' in text


def test_a_scenario_shows_its_persona_and_an_absent_grade_its_reason() -> None:
    case = a_case(input=Scenario(persona="In a hurry", initial_message="Hi", max_turns=3))
    waits = Unscored(name="fluency", why=Why.NO_JUDGE, reason="needs a judge")
    text = printed(case_detail(a_result(Verdict.SKIPPED, case=case, grades=(waits,))))
    assert "persona (up to 3 turns): In a hurry" in text
    assert "no judge: needs a judge" in text


def test_a_case_fits_a_stream_that_holds_only_ascii() -> None:
    assert "Was kostet der R\\xfcckversand" in in_ascii(case_detail(refund_results()[6]))
