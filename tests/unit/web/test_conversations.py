"""A conversation as the page of a case shows it, with the quotes of judges marked."""

from __future__ import annotations

import time

import pytest

from howsure.model.expectation import ExpectedCall, ToolCalls
from howsure.model.transcript import Message, Role, ToolCall, ToolResult, Transcript
from howsure.reports.html.case_data import case_block
from howsure.testing import a_case
from howsure.web.conversations import (
    MAX_BYTES,
    MarkedText,
    QuoteNumbers,
    StateChange,
    conversation_texts,
    fit_case_block,
    missing_calls,
    page_weight,
    state_changes,
    turn_views,
)
from unit.web.graded import a_graded


def a_talk(*messages: Message, **fields: object) -> Transcript:
    return Transcript(answer="", messages=messages, **fields)  # type: ignore[arg-type]


def shown(*messages: Message, quote: str = "") -> tuple[object, ...]:
    found = case_block(a_graded(transcript=a_talk(*messages)))
    numbering = QuoteNumbers(conversation_texts(found))
    if quote:
        numbering.quote(quote)
    return turn_views(found, numbering)


LONG = "A line of the prompt.\n" * 20


@pytest.mark.parametrize(
    ("role", "text", "quote", "folded"),
    [
        (Role.USER, "short", "", False),
        (Role.USER, LONG, "", True),
        (Role.USER, LONG, "line of the prompt", False),
        (Role.ASSISTANT, LONG, "", False),
        (Role.SYSTEM, "You are kind. " * 20, "", True),
        (Role.SYSTEM, "You are kind.", "", False),
    ],
    ids=["short", "long", "never around evidence", "never the final answer", "system prompt", "short system prompt"],
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
    assert missing_calls(a_graded(case=a_case(wanted), transcript=a_talk(made))) == ("refund",)
    assert missing_calls(a_graded(case=a_case(wanted), transcript=None)) == ()


def test_only_what_changed_of_the_state_is_shown() -> None:
    case = a_case(state={"same": 1, "gone": "x", "n": 1})
    result = a_graded(case=case, transcript=a_talk(state={"same": 1, "n": 2, "new": {"a": 1}}))
    assert state_changes(result) == (
        StateChange("gone", "x", "–"),
        StateChange("n", "1", "2"),
        StateChange("new", "–", '{"a":1}'),
    )


def test_a_state_that_nobody_recorded_did_not_change() -> None:
    assert state_changes(a_graded(case=a_case(state={"n": 1}), transcript=a_talk())) == ()


@pytest.mark.parametrize("sign", ["x", "<"])
def test_a_case_that_is_too_long_for_a_page_is_cut_until_it_fits(sign: str) -> None:
    messages = tuple(Message(role=Role.ASSISTANT, content=sign * 30_000) for _ in range(200))
    shown = fit_case_block(a_graded(transcript=a_talk(*messages)))
    answer = shown["talk"][-1]
    assert answer["text"].startswith(sign * 20_000)
    assert page_weight(shown) <= MAX_BYTES + page_weight(answer) / 2


ORDERED = "Your **order 4476**:\n\n| item | price |\n| --- | --- |\n| kettle | **18.00** USD |\n"


@pytest.mark.parametrize(
    ("quote", "marked"),
    [
        ("order 4476", "<strong>{anchor}<mark>order 4476{one}</mark></strong>"),
        ("**order 4476**:", "<strong>{anchor}<mark>order 4476{one}</mark></strong>:"),
        ("kettle | **18.00** USD", "<td>{anchor}<mark>kettle{one}</mark></td>"),
    ],
    ids=["plain words", "quoted with its signs", "over two cells"],
)
def test_a_quote_is_marked_in_rendered_markdown(quote: str, marked: str) -> None:
    said = shown(Message(role=Role.ASSISTANT, content=ORDERED), quote=quote)
    html = said[-1].html.replace(' data-number="1"', "")  # type: ignore[attr-defined]
    anchor, one = '<a id="quote-1" class="anchor"></a>', "<sup>1</sup>"
    assert marked.format(anchor=anchor, one=one) in html
    assert html.count("quote-1") == 1


def test_a_message_is_shown_as_written_where_a_quote_would_be_lost_in_its_markdown() -> None:
    said = shown(Message(role=Role.ASSISTANT, content="See [the terms](x.example): **now**"), quote="terms](x.ex")
    turn = said[-1]
    assert turn.html == "" or "<mark" in turn.html  # type: ignore[attr-defined]
    assert any(piece.numbers for piece in turn.pieces)  # type: ignore[attr-defined]


def numbered(texts: list[str], *quotes: str) -> QuoteNumbers:
    numbering = QuoteNumbers(texts)
    for quote in quotes:
        numbering.quote(quote)
    return numbering


@pytest.mark.parametrize(
    ("said", "quote", "found"),
    [
        ("I refunded 18 dollars.", "refunded 18", True),
        ("I refunded\n  18 dollars.", "refunded 18", True),
        ("I refunded 18 dollars.", "REFUNDED 18", True),
        ("I refunded 18 dollars.", "“refunded 18…”", True),
        ("I refunded 18 dollars.", "refunded 19", False),
        ("a.c", "abc", False),
        ("anything", "", False),
        ("anything", " … ", False),
    ],
    ids=["exact", "spaces", "capitals", "quotation marks", "other words", "no pattern", "empty", "marks only"],
)
def test_a_quote_is_found_where_its_words_are(said: str, quote: str, found: bool) -> None:
    assert QuoteNumbers([said]).quote(quote).found is found


def test_the_same_words_have_one_number() -> None:
    numbering = QuoteNumbers(["one two"])
    assert [numbering.quote(text).number for text in ("one", "two", "one")] == [1, 2, 1]


def test_text_is_cut_where_quotes_begin_and_end() -> None:
    numbering = numbered(["I refunded 18 dollars."], "refunded 18")
    assert numbering.pieces("I refunded 18 dollars.") == (
        MarkedText("I "),
        MarkedText("refunded 18", (1,), (1,)),
        MarkedText(" dollars."),
    )


def test_quotes_over_each_other_stack_their_numbers() -> None:
    numbering = numbered(["one two three"], "one two", "two three")
    assert [(piece.text, piece.numbers) for piece in numbering.pieces("one two three")] == [
        ("one ", (1,)),
        ("two", (1, 2)),
        (" three", (2,)),
    ]


def test_only_the_first_place_of_a_quote_is_where_links_lead() -> None:
    numbering = numbered(["yes", "yes"], "yes")
    assert [piece.anchors for text in ("yes", "yes") for piece in numbering.pieces(text)] == [(1,), ()]


def test_nothing_said_is_no_piece() -> None:
    assert numbered(["x"], "x").pieces("") == ()


@pytest.mark.parametrize("sign", ["a ", "a", "ab ", "* ", "e. "])
def test_quotes_that_are_nearly_everywhere_take_no_long_time(sign: str) -> None:
    """A page is written while others wait."""
    text = sign * (90_000 // len(sign))
    began = time.process_time()
    numbering = numbered([text], *(f"{sign * place}b" for place in range(500, 540)), sign.strip(), "a", "e", " .")
    numbering.pieces(text)
    assert time.process_time() - began < 3
