"""A conversation as a script."""

from __future__ import annotations

import pytest

from howsure.model.expectation import ExpectedCall, ToolCalls
from howsure.model.transcript import Message, Role, ToolCall, ToolResult, Transcript
from howsure.reports.html.blocks import block
from howsure.testing import a_case
from howsure.web.evidence import Numbering
from howsure.web.talk import LARGEST, Change, changes, fitting, ghosts, texts_of, turns, weight
from unit.web.graded import a_graded


def a_talk(*messages: Message, **fields: object) -> Transcript:
    return Transcript(answer="", messages=messages, **fields)  # type: ignore[arg-type]


def shown(*messages: Message, quote: str = "") -> tuple[object, ...]:
    found = block(a_graded(transcript=a_talk(*messages)))
    numbering = Numbering(texts_of(found))
    if quote:
        numbering.quote(quote)
    return turns(found, numbering)


LONG = "A line of the prompt.\n" * 20


@pytest.mark.parametrize(
    ("role", "text", "quote", "folded"),
    [
        (Role.USER, "short", "", False),
        (Role.ASSISTANT, LONG, "", True),
        (Role.ASSISTANT, LONG, "line of the prompt", False),
        (Role.SYSTEM, "You are kind. " * 20, "", True),
        (Role.SYSTEM, "You are kind.", "", False),
    ],
    ids=["short", "long", "never around evidence", "system prompt", "short system prompt"],
)
def test_long_text_is_folded(role: Role, text: str, quote: str, folded: bool) -> None:
    said = shown(Message(role=Role.USER, content="Hi"), Message(role=role, content=text), quote=quote)
    assert bool(said[1].preview) is folded  # type: ignore[attr-defined]


@pytest.mark.parametrize(("failed", "quote", "is_open"), [(False, "", False), (True, "", True), (False, "9.00", True)])
def test_a_call_that_failed_or_is_cited_is_open(failed: bool, quote: str, is_open: bool) -> None:
    call = ToolCall(name="look", arguments={"order": 1}, result=ToolResult(content={"amount": "9.00"}, failed=failed))
    said = shown(Message(role=Role.USER, content="Hi"), Message(role=Role.ASSISTANT, tool_calls=(call,)), quote=quote)
    (made,) = said[1].calls  # type: ignore[attr-defined]
    assert made.is_open is is_open


def test_calls_that_were_expected_and_never_made_are_ghosts() -> None:
    wanted = ToolCalls(expected=(ExpectedCall(name="look"), ExpectedCall(name="refund"), ExpectedCall(name="refund")))
    made = Message(role=Role.ASSISTANT, tool_calls=(ToolCall(name="look"),))
    assert ghosts(a_graded(case=a_case(wanted), transcript=a_talk(made))) == ("refund",)
    assert ghosts(a_graded(case=a_case(wanted), transcript=None)) == ()


def test_only_what_changed_of_the_state_is_shown() -> None:
    case = a_case(state={"same": 1, "gone": "x", "n": 1})
    result = a_graded(case=case, transcript=a_talk(state={"same": 1, "n": 2, "new": {"a": 1}}))
    assert changes(result) == (Change("gone", "x", "–"), Change("n", "1", "2"), Change("new", "–", '{"a":1}'))


def test_a_state_that_nobody_recorded_did_not_change() -> None:
    assert changes(a_graded(case=a_case(state={"n": 1}), transcript=a_talk())) == ()


@pytest.mark.parametrize("sign", ["x", "<"])
def test_a_case_that_is_too_long_for_a_page_is_cut_until_it_fits(sign: str) -> None:
    messages = tuple(Message(role=Role.ASSISTANT, content=sign * 30_000) for _ in range(200))
    assert weight(fitting(a_graded(transcript=a_talk(*messages)))) <= LARGEST
