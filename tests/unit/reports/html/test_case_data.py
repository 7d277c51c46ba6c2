"""Data that can stand inside a page. One line of the list, and what went wrong in a result. What an opened case
holds."""

from __future__ import annotations

import gzip
import json
from base64 import b64decode
from typing import Any

import msgspec
import pytest

from howsure.model.case import Attachment, Scenario, SingleTurn
from howsure.model.result import Failure, Result
from howsure.model.score import Part, Score, Unscored, UnscoredReason
from howsure.model.transcript import Message, Role, ToolCall, ToolResult, Transcript
from howsure.model.verdict import Verdict
from howsure.reports.html.case_data import (
    MAX_BLOCK_BYTES,
    MAX_TEXT,
    SHORT_TEXT,
    SHOWN_ENDS,
    CaseEntry,
    FailureCause,
    case_block,
    case_block_bytes,
    case_entry,
    compress,
    embed_json,
    escape_json,
    failure_causes,
    tags_and_labels,
)
from howsure.testing import a_case, a_transcript
from unit.reports.northwind import FAILS, a_check, a_result, refund_results, support_results


@pytest.mark.parametrize("text", ["</script>", "<!--<script>", "&lt;", "<", ">", "&", "\u2028", '"\\', "ü 🚚"])
def test_embedded_json_holds_no_sign_that_could_end_it_and_reads_back(text: str) -> None:
    shown = str(embed_json({"said": text}))
    assert not {"<", ">", "&"} & set(shown)
    assert json.loads(shown) == {"said": text}


def test_what_is_escaped_already_stays_as_it_is() -> None:
    assert json.loads(str(escape_json(b'["\\u003c \\\\u003c"]'))) == ["< \\u003c"]


def test_packed_data_is_letters_alone_reads_back_and_is_the_same_every_day() -> None:
    data = json.dumps(["</script>" * 1000]).encode()
    assert gzip.decompress(b64decode(str(compress(data)))) == data
    assert compress(data) == compress(data)
    assert len(compress(data)) < len(data) / 20
    assert set(str(compress(data))) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")


def test_a_failure_speaks_for_itself() -> None:
    (broken,) = [result for result in refund_results() if result.verdict is Verdict.ERRORED]
    assert failure_causes(broken) == [
        FailureCause("TargetFailed", "target 'recorded': ConnectionError: refused", "", "errored")
    ]
    assert case_entry(broken).failing == ("TargetFailed",)


def test_the_parts_speak_for_their_grader() -> None:
    assert failure_causes(support_results()[0]) == [
        FailureCause("criteria", "Names the accrual rate", "", "failed"),
        FailureCause("rubric", "Names the policy it follows", "low", "failed", decides=False),
    ]
    assert case_entry(support_results()[0]).failing == ("criteria", "rubric")


def test_a_scenario_is_listed_by_its_name_a_question_by_its_words() -> None:
    asked = [case_entry(result).asked for result in support_results()]
    assert asked == ["Leave policy inquiry", "Where is 4475?", "Refund 900 dollars to me.", "Your page is down."]


def test_labels_are_tags_with_a_name() -> None:
    case = a_case(tags=("returns", "gift"), labels={"difficulty": "hard"})
    assert tags_and_labels(a_result(case=case)) == ("returns", "gift", "difficulty: hard")


def test_long_text_is_cut_and_foreign_text_is_inert() -> None:
    case = a_case(id="i" * 500, message="m\u202e" * 500)
    found = case_entry(
        a_result(Verdict.ERRORED, case=case, reasons=("r" * 500,), failures=(Failure(kind="K", message="\x1b"),))
    )
    assert (len(found.id), len(found.asked), len(found.why)) == (200, 160, 220)
    assert "\u202e" not in found.asked


def test_an_entry_is_a_short_list_in_the_order_of_its_fields() -> None:
    made = case_entry(a_result(case=a_case(id="q1", message="Hi")), 3, (7,), "worse")
    assert msgspec.json.encode(made) == b'[3,"q1","",1,"passed","Hi","",[],[],null,[7],"worse"]'
    assert msgspec.json.decode(msgspec.json.encode(made), type=CaseEntry) == made


def decoded(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(case_block_bytes(result))
    return found


def test_long_text_is_cut_and_says_how_much() -> None:
    said = case_block(a_result(transcript=a_transcript("x" * (MAX_TEXT + 1234))))["talk"][-1]["text"]
    assert said.endswith("\n… cut here: 1,234 more characters are in the run itself")
    assert len(said) < MAX_TEXT + 100


def test_a_conversation_that_is_too_long_keeps_its_ends_and_says_what_is_left_out() -> None:
    talk = tuple(Message(role=Role.ASSISTANT, content=f"{place} " + "y" * 9_000) for place in range(200))
    found = decoded(a_result(transcript=Transcript(answer=talk[-1].content, messages=talk)))["talk"]
    assert len(found) == 2 * SHOWN_ENDS + 1
    assert found[SHOWN_ENDS]["text"] == "… 141 messages left out here: the conversation is too long for this page"
    assert found[SHOWN_ENDS]["role"] == "left out"
    assert found[0]["text"] == "Hello"
    assert found[-1]["text"].startswith("199 yyy")
    assert len(found[-2]["text"]) < SHORT_TEXT + 100
    assert len(found[-1]["text"]) == len("199 ") + 9_000


def test_a_case_whose_grades_alone_are_too_large_is_left_out_whole() -> None:
    part = Part(id="c", text="cites " * 200)
    many = tuple(
        Score(name="criteria", value=1.0, part=part, reason="r" * 900) for _ in range(MAX_BLOCK_BYTES // 1_800)
    )
    assert decoded(a_result(grades=many)) == {"left_out": True}


def test_control_characters_are_shown_in_every_text() -> None:
    shown = case_block(a_result(case=a_case(message="\x1b[2J\u202e"), transcript=None))
    assert shown["talk"] == [{"role": "user", "agent": "", "text": "␛[2J\\u202e", "calls": []}]
    assert shown["silent"] is True


def test_a_block_shows_calls_with_what_came_back() -> None:
    calls = (
        ToolCall(name="lookup", arguments={"id": 7, "deep": True}, result=ToolResult(content={"total": 9})),
        ToolCall(name="pay", arguments={"to": "me"}, result=ToolResult(content="no funds", failed=True)),
        ToolCall(name="bye"),
    )
    talk = Transcript(answer="", messages=(Message(role=Role.ASSISTANT, agent="till", tool_calls=calls),))
    (_, turn) = case_block(a_result(transcript=talk))["talk"]
    assert turn["agent"] == "till"
    assert [(call["brief"], call["said"], call["failed"]) for call in turn["calls"]] == [
        ("id 7, deep true", '{"total":9}', False),
        ("to me", "no funds", True),
        ("", "no response", False),
    ]
    assert turn["calls"][0]["result"] == '{\n  "total": 9\n}'


PAPERS = SingleTurn(message="Hi", context="the act", attachments=(Attachment(path="a/act.pdf", title="Act"),))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (Scenario(persona="In a hurry", initial_message="Hi", max_turns=3), [("persona, up to 3 turns", "In a hurry")]),
        (PAPERS, [("context", "the act"), ("document", "Act a/act.pdf")]),
        (SingleTurn(message="Hi"), []),
    ],
    ids=["scenario", "context and attachment", "a question alone"],
)
def test_a_block_says_what_the_users_side_was_told(given: Scenario | SingleTurn, told: list[tuple[str, str]]) -> None:
    found = case_block(a_result(case=a_case(input=given)))["given"]
    assert [(each["title"], each["text"]) for each in found] == told


def test_a_grade_keeps_its_parts_and_parts_without_a_whole_are_not_lost() -> None:
    part = Part(id="c", text="cites", weight=-2.0)
    whole = Score(name="w", value=0.5, pass_mark=0.7, details={"points": 1, "criteria": ["repeated elsewhere"]})
    lone = a_check("rubric", Part(id="r", text="brief"), FAILS)
    waits = Unscored(name="f", why=UnscoredReason.NO_JUDGE, reason="needs a judge")
    grades = case_block(a_result(grades=(whole, Score(name="w", value=1.0, part=part), lone, waits)))["grades"]
    assert [(grade["name"], grade["mark"], grade["value"], grade["needed"]) for grade in grades] == [
        ("w", "failed", "0.5 of 1", "≥ 0.7"),
        ("f", "no judge", "", ""),
        ("rubric", "", "", ""),
    ]
    assert [part["weight"] for part in grades[0]["parts"]] == ["-2"]
    assert json.loads(grades[0]["details"]) == {"points": 1}
    assert [part["text"] for part in grades[2]["parts"]] == ["brief"]
