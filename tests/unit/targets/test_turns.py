"""Turns: calls meet their results, tokens add up or stay unknown, foreign values become plain ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from howsure.model.transcript import Message, Role, ToolCall, ToolResult, Usage
from howsure.targets.turns import (
    TurnBuilder,
    content_text,
    convert_usage,
    plain_value,
    sum_usage,
    tool_call,
)


def results(turn: TurnBuilder) -> list[tuple[str, Any]]:
    calls = [call for message in turn.reply().messages for call in message.tool_calls]
    return [(call.name, None if call.result is None else call.result.content) for call in calls]


def test_a_result_finds_its_call_by_id_whatever_the_order() -> None:
    turn = TurnBuilder()
    turn.add_message("", "desk", [ToolCall(name="look", id="1"), ToolCall(name="look", id="2")])
    turn.add_result("2", "look", "second")
    turn.add_result("1", "look", "first")
    assert results(turn) == [("look", "first"), ("look", "second")]


def test_without_ids_results_go_to_calls_of_that_tool_in_order() -> None:
    turn = TurnBuilder()
    turn.add_message("", "", [ToolCall(name="look"), ToolCall(name="pay"), ToolCall(name="look")])
    for name, content in (("look", "a"), ("look", "b"), ("pay", "c")):
        turn.add_result("", name, content)
    assert results(turn) == [("look", "a"), ("pay", "c"), ("look", "b")]


def test_a_result_of_another_turn_changes_nothing() -> None:
    turn = TurnBuilder()
    turn.add_message("", "", [ToolCall(name="look", id="1")])
    turn.add_result("0", "look", "late")
    assert results(turn) == [("look", None)]


def test_a_message_that_says_and_calls_nothing_is_none_but_taking_over_is_seen() -> None:
    turn = TurnBuilder()
    turn.add_message("", "desk")
    turn.add_handoff("billing")
    turn.add_message("Hello", "billing")
    assert turn.reply().messages == (
        Message(role=Role.ASSISTANT, agent="billing"),
        Message(role=Role.ASSISTANT, content="Hello", agent="billing"),
    )


def test_a_turn_that_counted_nothing_has_unknown_tokens() -> None:
    turn = TurnBuilder()
    turn.add_usage(None)
    assert turn.reply().usage == Usage()


def test_tokens_of_several_calls_add_up_and_what_one_did_not_count_stays_unknown() -> None:
    first = Usage(prompt_tokens=10, completion_tokens=3, cached_tokens=4, cost_usd=0.5)
    second = Usage(prompt_tokens=5, completion_tokens=2, cost_usd=0.25)
    assert sum_usage([first, second]) == Usage(prompt_tokens=15, completion_tokens=5, cost_usd=0.75)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 11, "completion_tokens": 7}, Usage(prompt_tokens=11, completion_tokens=7)),
        (
            {
                "input_tokens": 11,
                "output_tokens": 7,
                "total_tokens": 18,
                "input_tokens_details": {"cached_tokens": 4},
                "output_tokens_details": {"reasoning_tokens": 2},
            },
            Usage(prompt_tokens=11, completion_tokens=5, cached_tokens=4, thinking_tokens=2),
        ),
        (
            {
                "input_tokens": 11,
                "output_tokens": 7,
                "total_tokens": 18,
                "input_token_details": {"cache_read": 4},
                "output_token_details": {"reasoning": 2},
            },
            Usage(prompt_tokens=11, completion_tokens=5, cached_tokens=4, thinking_tokens=2),
        ),
        ({}, None),
        (None, None),
        ("11", None),
    ],
    ids=["chat completions", "responses", "langchain", "nothing counted", "none", "no mapping"],
)
def test_tokens_are_read_in_every_spelling(usage: Any, expected: Usage | None) -> None:
    assert convert_usage(usage) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"a": 1}, {"a": 1}),
        ('{"a": 1}', {"a": 1}),
        ("", {}),
        (None, {}),
        ("{}", {}),
        ('{"a": ', {"arguments": '{"a": '}),
        ("[1]", {"arguments": "[1]"}),
    ],
    ids=["object", "JSON", "empty", "none", "no arguments", "broken JSON is kept", "a list is kept"],
)
def test_arguments_are_an_object_and_nothing_is_lost(given: Any, expected: dict[str, Any]) -> None:
    assert tool_call("look", given, None) == ToolCall(name="look", arguments=expected)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ('{"ok": true}', ToolResult(content={"ok": True})),
        ("{'ok': True, 'amount': 50.0}", ToolResult(content={"ok": True, "amount": 50.0})),
        ("shipped", ToolResult(content="shipped")),
        ("[not a list", ToolResult(content="[not a list")),
        ({"error": "no such order"}, ToolResult(content={"error": "no such order"}, failed=True)),
        ({"status": "error"}, ToolResult(content={"status": "error"}, failed=True)),
        ({"error": None, "status": "shipped"}, ToolResult(content={"error": None, "status": "shipped"})),
        (None, ToolResult()),
    ],
    ids=["JSON", "printed", "text", "broken", "error", "status error", "no error", "nothing"],
)
def test_results_are_values_and_errors_in_them_count(given: Any, expected: ToolResult) -> None:
    turn = TurnBuilder()
    turn.add_message("", "", [ToolCall(name="look")])
    turn.add_result(None, "look", given)
    assert turn.reply().messages[0].tool_calls == (ToolCall(name="look", result=expected),)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("Hello", "Hello"),
        (None, ""),
        ([{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}], "Hello"),
        ([{"type": "output_text", "text": "Hi"}], "Hi"),
        ([{"type": "refusal", "refusal": "No."}], "No."),
        ([{"type": "thinking", "thinking": "hm"}, {"type": "image_url", "image_url": "x"}, "Yes"], "Yes"),
        ([{"type": "text", "text": None}], ""),
    ],
    ids=["text", "nothing", "blocks", "responses", "refusal", "thinking and pictures stay out", "null"],
)
def test_only_text_is_said(content: Any, expected: str) -> None:
    assert content_text(content) == expected


@dataclass
class Order:
    id: str
    paid: bool


class Modelled:
    def model_dump(self) -> dict[str, Any]:
        return {"id": "A1", "inner": {1, 2}}


class Odd:
    def __repr__(self) -> str:
        return "<odd>"


def test_a_state_becomes_plain_data_and_what_cannot_is_printed() -> None:
    given = {"order": Order("A1", True), "model": Modelled(), "odd": Odd(), 3: ("a", None)}
    assert plain_value(given) == {
        "order": {"id": "A1", "paid": True},
        "model": {"id": "A1", "inner": [1, 2]},
        "odd": "<odd>",
        "3": ["a", None],
    }
    assert plain_value({("a", "b"): 1}) == "{('a', 'b'): 1}"
