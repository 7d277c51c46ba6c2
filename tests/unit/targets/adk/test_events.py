"""ADK events in both spellings become messages, calls, tokens, state and spans."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.errors import TargetFailed
from howsure.model.transcript import Message, Role, Span, ToolCall, ToolResult, Usage
from howsure.targets.adk.events import earlier_events, read_reply, read_state
from howsure.targets.adk.spans import read_spans

Json = dict[str, Any]


def snake(name: str, part: Json, **fields: Any) -> Json:
    """An event as runners and files write it: snake_case, nulls kept."""
    whole = {"text": None, "thought": None, "function_call": None, "function_response": None, **part}
    base = {"author": name, "partial": None, "error_code": None, "error_message": None, "usage_metadata": None}
    actions: Json = {"state_delta": {}, "transfer_to_agent": None}
    return {**base, "content": {"role": "model", "parts": [whole]}, "actions": actions, **fields}


def camel(name: str, *parts: Json, **fields: Any) -> Json:
    """An event as servers write it: camelCase, nulls dropped."""
    return {"author": name, "content": {"role": "model", "parts": list(parts)}, "actions": {"stateDelta": {}}, **fields}


SPENT = {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18}
REFUND = {"id": "c2", "name": "issue_refund", "args": {"order_id": "A1", "amount": 50}}
PAID = {"id": "c2", "name": "issue_refund", "response": {"ok": True}}

CAMEL = [
    camel("desk", {"text": "Let me see.", "thought": True}, {"functionCall": {"id": "c1", "name": "transfer_to_agent",
          "args": {"agent_name": "billing"}}}, usageMetadata=SPENT),
    camel("desk", {"functionResponse": {"id": "c1", "name": "transfer_to_agent", "response": {"result": None}}},
          actions={"transferToAgent": "billing"}),
    camel("billing", {"functionCall": REFUND}, usageMetadata=SPENT),
    camel("billing", {"functionResponse": PAID}),
    camel("billing", {"text": "Done. "}, {"text": "50 paid."}, usageMetadata=SPENT),
]  # fmt: skip
COUNTED = {"prompt_token_count": 11, "candidates_token_count": 7, "thoughts_token_count": None, "total_token_count": 18}
SNAKE = [
    snake("desk", {"function_call": {"id": "c1", "name": "transfer_to_agent", "args": {"agent_name": "billing"},
          "partial_args": None}}, usage_metadata=COUNTED),
    snake("desk", {"function_response": {"id": "c1", "name": "transfer_to_agent", "response": {"result": None},
          "parts": None}}, actions={"transfer_to_agent": "billing"}),
    snake("billing", {"function_call": REFUND}, usage_metadata=COUNTED),
    snake("billing", {"function_response": PAID}),
    snake("billing", {"text": "Done. 50 paid."}, usage_metadata=COUNTED),
]  # fmt: skip


@pytest.mark.parametrize("events", [CAMEL, SNAKE], ids=["camelCase, nulls dropped", "snake_case, nulls kept"])
def test_a_turn_with_a_sub_agent_reads_the_same_in_both_spellings(events: list[Json]) -> None:
    transfer = ToolCall(name="transfer_to_agent", arguments={"agent_name": "billing"}, id="c1",
                        result=ToolResult(content={"result": None}))  # fmt: skip
    refund = ToolCall(name="issue_refund", arguments={"order_id": "A1", "amount": 50}, id="c2",
                      result=ToolResult(content={"ok": True}))  # fmt: skip
    reply = read_reply(events)
    assert reply.messages == (
        Message(role=Role.ASSISTANT, agent="desk", tool_calls=(transfer,)),
        Message(role=Role.ASSISTANT, agent="billing", tool_calls=(refund,)),
        Message(role=Role.ASSISTANT, agent="billing", content="Done. 50 paid."),
    )
    assert reply.usage == Usage(prompt_tokens=33, completion_tokens=21)


def said(events: list[Json]) -> list[tuple[str, str]]:
    return [(message.agent, message.content) for message in read_reply(events).messages]


def test_fragments_of_a_stream_are_not_said_again() -> None:
    stream = [
        camel("desk", {"text": "Hel"}, partial=True),
        camel("desk", {"text": "lo"}, partial=True),
        camel("desk", {"text": "Hello"}),
    ]
    assert said(stream) == [("desk", "Hello")]


def test_a_stream_that_ended_early_keeps_its_fragments() -> None:
    stream = [
        camel("desk", {"text": "Wait."}),
        camel("desk", {"text": "hm", "thought": True}, partial=True),
        camel("desk", {"text": "It is "}, partial=True),
        camel("desk", {"text": "ship"}, partial=True),
    ]
    assert said(stream) == [("desk", "Wait."), ("desk", "It is ship")]


def test_a_call_that_is_still_being_written_is_no_call() -> None:
    call = {"id": "c1", "name": "look", "args": {}}
    whole = {"id": "c1", "name": "look", "args": {"order": "A1"}}
    stream = [camel("desk", {"functionCall": call}, partial=True), camel("desk", {"functionCall": whole})]
    (message,) = read_reply(stream).messages
    assert [call.arguments for call in message.tool_calls] == [{"order": "A1"}]


def test_what_the_user_said_and_events_without_content_are_left_out() -> None:
    events = [camel("user", {"text": "Hi"}), {"author": "desk", "actions": {"stateDelta": {"a": 1}}}]
    assert read_reply([*events, {"author": "desk", "content": None}]).messages == ()


@pytest.mark.parametrize(
    ("response", "failed"),
    [
        ({"error": "no such order"}, True),
        ({"status": "error", "error_message": "no"}, True),
        ({"isError": True, "content": []}, True),
        ({"status": "shipped"}, False),
        ({"result": None}, False),
    ],
)
def test_a_response_with_an_error_is_a_failed_call(response: Json, failed: bool) -> None:
    events = [
        camel("desk", {"functionCall": {"id": "1", "name": "look"}}),
        camel("desk", {"functionResponse": {"id": "1", "name": "look", "response": response}}),
    ]
    (message,) = read_reply(events).messages
    assert message.tool_calls[0].result == ToolResult(content=response, failed=failed)


def test_parallel_calls_answered_in_one_event_each_get_their_own() -> None:
    calls = [{"functionCall": {"id": str(n), "name": "look", "args": {"n": n}}} for n in (1, 2)]
    answers = [{"functionResponse": {"id": str(n), "name": "look", "response": {"got": n}}} for n in (2, 1)]
    (message,) = read_reply([camel("desk", *calls), camel("desk", *answers)]).messages
    found = [(call.arguments, call.result and call.result.content) for call in message.tool_calls]
    assert found == [({"n": 1}, {"got": 1}), ({"n": 2}, {"got": 2})]


def test_code_that_the_model_ran_is_a_call() -> None:
    events = [
        camel("desk", {"executableCode": {"language": "PYTHON", "code": "1/0"}}),
        camel("desk", {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "ZeroDivisionError"}}),
    ]
    (message,) = read_reply(events).messages
    assert message.tool_calls == (
        ToolCall(
            name="code_execution",
            arguments={"language": "PYTHON", "code": "1/0"},
            result=ToolResult(content="ZeroDivisionError", failed=True),
        ),
    )


def test_words_around_code_that_the_model_ran_are_the_answer() -> None:
    parts: list[Json] = [
        {"text": "I compute."},
        {"executableCode": {"code": "print(6*7)"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "42"}},
        {"text": "It is 42. "},
        {"text": "Bye."},
    ]
    code, answer = read_reply([camel("desk", *parts)]).messages
    assert [(call.name, call.result) for call in code.tool_calls] == [("code_execution", ToolResult(content="42"))]
    assert (answer.content, answer.tool_calls) == ("I compute.\nIt is 42. Bye.", ())


def test_an_agent_that_took_over_and_said_nothing_is_seen() -> None:
    events = [{"author": "desk", "actions": {"transferToAgent": "billing"}}]
    assert said(events) == [("billing", "")]


@pytest.mark.parametrize(
    ("usages", "expected"),
    [
        ([None, None], Usage()),
        ([SPENT, None], Usage(prompt_tokens=11, completion_tokens=7)),
        (
            [{**SPENT, "cachedContentTokenCount": 4, "thoughtsTokenCount": 2, "totalTokenCount": 20}, SPENT],
            Usage(prompt_tokens=22, completion_tokens=14, cached_tokens=4, thinking_tokens=2),
        ),
    ],
    ids=["nobody counted", "one event has none of its own", "summed"],
)
def test_tokens_are_summed_and_unknown_when_nobody_counted(usages: list[Json | None], expected: Usage) -> None:
    assert read_reply([camel("desk", {"text": "x"}, usageMetadata=usage) for usage in usages]).usage == expected


@pytest.mark.parametrize(
    ("events", "said"),
    [
        (
            [{"author": "desk", "errorCode": "RESOURCE_EXHAUSTED", "errorMessage": "out of quota"}],
            "agent 'desk' reported an error: RESOURCE_EXHAUSTED: out of quota",
        ),
        (
            [snake("desk", {"text": "Hm"}), {"author": "desk", "error_code": "SAFETY"}],
            "agent 'desk' reported an error: SAFETY",
        ),
        ([{"error": "RuntimeError: it broke"}], "the ADK server broke off: RuntimeError: it broke"),
    ],
    ids=["camelCase", "after something was said", "the end of a stream"],
)
def test_an_error_fails_the_turn_in_its_own_words(events: list[Json], said: str) -> None:
    with pytest.raises(TargetFailed) as caught:
        read_reply(events)
    assert str(caught.value) == said


def test_an_error_that_the_agent_got_over_is_none_and_stop_never_was_one() -> None:
    events = [{"author": "desk", "errorCode": "MALFORMED_FUNCTION_CALL"}, camel("desk", {"text": "Sorry. Done."})]
    assert said(events) == [("desk", "Sorry. Done.")]
    assert read_reply([{"author": "desk", "errorCode": "STOP"}]).messages == ()


@pytest.mark.parametrize(
    ("session", "state"),
    [
        ({"state": {"a": 1, "user:b": 2, "app:c": 3, "__llm_request_key__": {}}}, {"a": 1, "user:b": 2, "app:c": 3}),
        ({"state": {}}, {}),
        ({}, None),
        (None, None),
    ],
    ids=["prefixes stay, what is private goes", "empty", "not told", "no session"],
)
def test_the_final_state(session: Any, state: Json | None) -> None:
    assert read_state(session) == state


def test_spans_have_ids_as_tracers_print_them_and_what_was_logged_under_them() -> None:
    given = [
        {
            "name": "generate_content x",
            "trace_id": 18211741445944694691397405202802977768,
            "span_id": 255,
            "parent_span_id": None,
            "start_time": 10,
            "end_time": 20,
            "attributes": {"gen_ai.request.model": "x"},
            "logs": [{"body": None, "attributes": {"gen_ai.request.model": "y", "gen_ai.input.messages": []}}],
        }
    ]
    assert read_spans(given) == (
        Span(
            name="generate_content x",
            trace_id="0db3742d7bb1e4fdf6f490cdb9a2abe8",
            span_id="00000000000000ff",
            start_ns=10,
            end_ns=20,
            attributes={"gen_ai.request.model": "x", "gen_ai.input.messages": []},
        ),
    )


@pytest.mark.parametrize("given", [[], None, {"detail": "Not Found"}, "<html>"])
def test_where_there_are_no_spans_there_are_none(given: Any) -> None:
    assert read_spans(given) is None


def test_an_earlier_conversation_is_told_as_events() -> None:
    earlier = (
        Message(role=Role.SYSTEM, content="Be kind."),
        Message(role=Role.USER, content="Hi"),
        Message(role=Role.ASSISTANT, content="Hello"),
    )
    assert earlier_events(earlier, "desk") == [
        {"author": "user", "invocation_id": "earlier", "content": {"role": "user", "parts": [{"text": "Hi"}]}},
        {"author": "desk", "invocation_id": "earlier", "content": {"role": "model", "parts": [{"text": "Hello"}]}},
    ]
