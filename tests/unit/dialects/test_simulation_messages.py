"""Messages out of the forms in which simulation rows hold a conversation."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.dialects.simulation_messages import (
    arguments_of,
    events_of,
    log_from_contents,
    log_from_events,
    log_from_extract,
    log_from_traces,
    log_from_turns,
    result_of,
    without_empty,
)
from howsure.dialects.simulation_traces import camel, repair_calls
from howsure.model.transcript import Message, Role, ToolCall, ToolResult
from json_strategies import objects, texts, values
from simulation_files import event

USER, ASSISTANT, SYSTEM = Role.USER, Role.ASSISTANT, Role.SYSTEM


def call_part(name: str, id: str = "", **arguments: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "id": id, "args": arguments}}


def response_part(name: str, response: Any, id: str = "") -> dict[str, Any]:
    return {"functionResponse": {"name": name, "id": id, "response": response}}


def calls(*events: Any) -> list[tuple[str, Any]]:
    """Each call's name (and id) with the content of its result."""
    made = [call for message in log_from_events(events).messages for call in message.tool_calls]
    return [(f"{call.name}{call.id}", call.result and call.result.content) for call in made]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([event("a", call_part("t", "1")), event("a", response_part("t", 5, "1"))], [("t1", 5)]),
        ([event("a", call_part("t")), event("a", response_part("t", 5))], [("t", 5)]),
        ([event("a", call_part("t", "1"))], [("t1", None)]),
        (
            [
                event("a", call_part("t", "1"), call_part("t", "2")),
                event("a", response_part("t", "second", "2"), response_part("t", "first", "1")),
            ],
            [("t1", "first"), ("t2", "second")],
        ),
        (
            [event("a", call_part("t"), call_part("u"), call_part("t")), event("a", response_part("t", 1)),
             event("a", response_part("t", 2)), event("a", response_part("u", 3))],
            [("t", 1), ("u", 3), ("t", 2)],
        ),
        ([event("a", response_part("t", 5, "1"))], [("t1", 5)]),
        ([event("a", call_part("t", "1")), event("a", response_part("t", 5, "2"))], [("t1", None), ("t2", 5)]),
        ([event("a", {"function_call": {"name": "t"}}),
          event("a", {"function_response": {"name": "t", "response": 1}})], [("t", 1)]),
        ([event("a", call_part("t"), partial=True), event("a", call_part("t"))], [("t", None)]),
    ],
    ids=["by id", "by name", "no response", "two at once", "order by name", "a response alone", "another id",
         "snake case", "pieces of a stream"],
)  # fmt: skip
def test_results_go_to_the_calls_they_answer(events: list[Any], expected: list[tuple[str, Any]]) -> None:
    assert calls(*events) == expected


def test_thoughts_are_not_said() -> None:
    talk = log_from_events([event("a", {"text": "hmm", "thought": True}, {"text": "Yes."}, {"text": "Really."})])
    assert talk.messages == (Message(role=ASSISTANT, content="Yes.\nReally.", agent="a"),)
    assert talk.details == [{"event": 0, "parts": [{"thought": True, "text": "hmm"}]}]


@pytest.mark.parametrize(
    ("author", "role", "agent"),
    [
        ("user", USER, ""),
        ("system", SYSTEM, ""),
        ("model", ASSISTANT, ""),
        ("agent", ASSISTANT, ""),
        ("Ann", ASSISTANT, "Ann"),
    ],
)
def test_the_author_is_a_role_or_an_agent(author: str, role: Role, agent: str) -> None:
    assert log_from_events([event(author, {"text": "x"})]).messages == (Message(role=role, content="x", agent=agent),)


@pytest.mark.parametrize(
    "odd", [1, None, {}, {"author": "a"}, {"author": "a", "content": {"parts": [1, {}, {"text": 1}]}}]
)
def test_events_that_say_nothing_are_passed_over(odd: Any) -> None:
    assert log_from_events([odd, event("user", {"text": "Hi"})]).messages == (Message(role=USER, content="Hi"),)


@pytest.mark.parametrize("part", [{"text": ""}, {"inlineData": {"mimeType": "image/png"}}], ids=["nothing", "an image"])
def test_an_answer_without_words_shows_which_agent_took_part(part: dict[str, Any]) -> None:
    talk = log_from_events([event("shop", part)])
    assert talk.messages == (Message(role=ASSISTANT, agent="shop"),)
    assert log_from_events(list(events_of(talk.messages))).messages == talk.messages
    assert log_from_events([event("user", part)]).messages == ()


def test_an_extract_reads_like_the_events_it_was_made_of() -> None:
    extract = [
        {"role": "user", "content_text": "Hi"},
        {"role": "a", "content_text": "thinking", "tool_calls": [{"name": "t", "args": {"x": 1}}], "model": "m"},
        {"role": "a", "content_text": None, "tool_responses": [{"name": "t", "response": {"error": "no"}}]},
        {"role": "a", "content_text": "Bye", "timestamp": "2024", "thought": None},
        "odd",
    ]
    talk = log_from_extract(extract)
    failed = ToolResult(content={"error": "no"}, failed=True)
    assert talk.messages == (
        Message(role=USER, content="Hi"),
        Message(
            role=ASSISTANT,
            content="thinking",
            agent="a",
            tool_calls=(ToolCall(name="t", arguments={"x": 1}, result=failed),),
        ),
        Message(role=ASSISTANT, content="Bye", agent="a"),
    )
    assert talk.details == [{"event": 1, "model": "m"}, {"event": 3, "timestamp": "2024"}]


SPOKEN = [{"agent_name": "A", "text_response": text} for text in ("one", "two", "three")]
INTERACTIONS = [
    {"tool_name": "t", "input_arguments": {"a": 1}, "output_result": 5, "call_id": "c"},
    {"tool_name": "u", "input_arguments": '{"b": 2}', "output_result": None, "call_id": "d", "status": "no_response"},
]


@pytest.mark.parametrize(
    ("turns", "spoken", "said"),
    [
        (["u1"], SPOKEN[:1], ["u1", "t", "u", "one"]),
        (["u1", "u2"], SPOKEN[:2], ["u1", "one", "u2", "t", "u", "two"]),
        (["u1", "u2"], SPOKEN, ["u1", "one", "u2", "two", "t", "u", "three"]),
        (["u1", "u2", "u3"], SPOKEN[:1], ["u1", "u2", "u3", "t", "u", "one"]),
        (["u1"], [], ["u1", "t", "u"]),
    ],
)
def test_traces_that_are_apart_are_put_in_turn(turns: list[str], spoken: list[Any], said: list[str]) -> None:
    messages = log_from_traces(turns, spoken, INTERACTIONS).messages
    assert [one.content or one.tool_calls[0].name for one in messages] == said
    made = [call for one in messages for call in one.tool_calls]
    assert made == [
        ToolCall(name="t", arguments={"a": 1}, id="c", result=ToolResult(content=5)),
        ToolCall(name="u", arguments={"b": 2}, id="d"),
    ]


@pytest.mark.parametrize(
    ("answer", "said"), [("Bye", ["Hi", "Bye"]), ("Other", ["Hi", "Bye", "Other"]), (None, ["Hi", "Bye"])]
)
def test_contents_end_in_the_answer_once(answer: str | None, said: list[str]) -> None:
    contents = [{"role": "user", "parts": [{"text": "Hi"}]}, {"role": "model", "parts": [{"text": "Bye"}]}, 1]
    assert [one.content for one in log_from_contents(contents, answer).messages] == said


def test_turns_alone_stand_before_the_answer() -> None:
    assert [one.content for one in log_from_turns(["a", "b"], "c").messages] == ["a", "b", "c"]
    assert [one.content for one in log_from_turns(["a"], "").messages] == ["a"]


@pytest.mark.parametrize(
    ("content", "failed"),
    [
        ({"status": "error"}, True),
        ({"status": "ERROR"}, True),
        ({"error": "no"}, True),
        ({"error_message": "no"}, True),
        ({"error": None, "error_message": ""}, False),
        ({"status": "ok"}, False),
        ("error", False),
        (None, False),
    ],
)
def test_a_result_that_says_so_failed(content: Any, failed: bool) -> None:
    assert result_of(content) == ToolResult(content=content, failed=failed)
    assert result_of(content, not failed).failed is not failed


@pytest.mark.parametrize(
    ("given", "arguments"),
    [(None, {}), ({"a": 1}, {"a": 1}), ('{"a": 1}', {"a": 1}), ("plain", {"value": "plain"}), ([1], {"value": [1]})],
)
def test_arguments_are_an_object_whatever_was_written(given: Any, arguments: dict[str, Any]) -> None:
    assert arguments_of(given) == arguments


def test_empty_things_are_pruned() -> None:
    assert without_empty({"a": None, "b": {"c": [], "d": ""}, "e": [None, 0], "f": False}) == {"e": [0], "f": False}
    assert without_empty({"a": {"b": None}}) is None


@pytest.mark.parametrize(
    ("key", "rewritten"),
    [("customer_id", "customerId"), ("a", "a"), ("a_b_c", "aBC"), ("already", "already"), ("", "")],
)
def test_keys_in_camel_case(key: str, rewritten: str) -> None:
    assert camel({key: [{key: 1}]}) == {rewritten: [{rewritten: 1}]}


def one_call(arguments: Any, result: Any = None) -> tuple[Message, ...]:
    given = None if result is None else ToolResult(content=result)
    return (Message(role=ASSISTANT, tool_calls=(ToolCall(name="t", arguments=arguments, result=given),)),)


@pytest.mark.parametrize(
    ("made", "originals", "expected"),
    [
        (one_call({"aB": 1}), [("t", {"a_b": 1}, None)], one_call({"a_b": 1})),
        (one_call({"aB": 1}, {"cD": 2}), [("t", None, {"c_d": 2})], one_call({"aB": 1}, {"c_d": 2})),
        (one_call({"aB": 1}), [("u", {"a_b": 1}, None)], one_call({"aB": 1})),
        (one_call({"aB": 1}), [("t", {"a_b": 2}, None)], one_call({"aB": 1})),
        (one_call({"a_b": 1}), [("t", {"a_b": 1}, None)], one_call({"a_b": 1})),
        (one_call({"aB": 1}), [], one_call({"aB": 1})),
        (one_call({"aB": 1}) * 2, [("t", {"a_b": 1}, None)], (*one_call({"a_b": 1}), *one_call({"aB": 1}))),
    ],
    ids=["arguments", "results", "another tool", "other values", "nothing to do", "nobody knows", "each is used once"],
)
def test_only_what_was_rewritten_is_restored(
    made: tuple[Message, ...], originals: list[Any], expected: tuple[Message, ...]
) -> None:
    assert repair_calls(made, originals) == expected


ids = st.integers(0, 10_000).map(str)
results = st.none() | st.builds(ToolResult, content=values, failed=st.booleans())
messages = st.one_of(
    st.builds(Message, role=st.just(USER), content=texts.filter(bool)),
    st.builds(Message, role=st.just(SYSTEM), content=texts.filter(bool)),
    st.builds(
        Message,
        role=st.just(ASSISTANT),
        content=texts.filter(bool),
        agent=texts.filter(lambda name: name not in ("user", "system", "model", "agent", "assistant")),
        tool_calls=st.lists(
            st.builds(ToolCall, name=texts, arguments=objects, id=ids, result=results),
            max_size=3,
            unique_by=lambda call: call.id,
        ).map(tuple),
    ),
)


@given(st.lists(messages, max_size=4))
def test_events_that_were_written_give_the_messages_back(said: list[Message]) -> None:
    used = [call.id for message in said for call in message.tool_calls]
    if len(set(used)) == len(used):
        assert log_from_events(list(events_of(said))).messages == tuple(said)


def test_code_that_the_provider_ran_is_a_call_beside_the_answer() -> None:
    ran = {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "ZeroDivisionError"}}
    parts = ({"text": "I try."}, {"executableCode": {"id": "", "language": "PYTHON", "code": "1/0"}}, ran)
    call = ToolCall(
        name="code_execution",
        arguments={"language": "PYTHON", "code": "1/0"},
        result=ToolResult(content="ZeroDivisionError", failed=True),
    )
    log = log_from_events([event("desk", *parts, {"text": "It fails."})])
    assert log.messages == (
        Message(role=ASSISTANT, agent="desk", tool_calls=(call,)),
        Message(role=ASSISTANT, agent="desk", content="I try.\nIt fails."),
    )
    assert log_from_events(list(events_of(log.messages))).messages == log.messages
