"""Responses of an HTTP bot read into answers: JSON, paths, streams, errors."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from howsure.errors import TargetFailed
from howsure.llm.transport import HttpRequest
from howsure.model.transcript import Message, Role, ToolCall, Usage
from howsure.targets.base import TargetRequest
from howsure.targets.http.plan import StreamFormat, plan_http_target
from howsure.targets.http.replies import BotResponse, ResponseReader, read_events

REQUEST = HttpRequest(method="POST", url="http://u:p@host/chat?key=abc#x", headers={})


def reader(secret: str = "", **settings: Any) -> ResponseReader:
    headers = {"headers": {"X-Key": "${KEY}"}} if secret else {}
    wish = TargetRequest(
        name="shop", rest="http://host/chat", settings={**settings, **headers}, environ={"KEY": secret}
    )
    return ResponseReader(plan_http_target(wish))


def received(body: Any, status: int = 200, content_type: str = "application/json") -> BotResponse:
    raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return BotResponse(request=REQUEST, status=status, content_type=content_type, body=raw)


def texts(body: Any, **settings: Any) -> list[str]:
    return [message.content for message in reader(**settings).read_answer(received(body)).reply.messages]


def failure(body: Any, status: int = 200, content_type: str = "application/json", **settings: Any) -> str:
    with pytest.raises(TargetFailed) as caught:
        reader(**settings).read_answer(received(body, status, content_type))
    return str(caught.value)


OPENAI = {
    "choices": [
        {
            "message": {
                "role": "assistant",
                "content": "Hi",
                "tool_calls": [{"id": "1", "function": {"name": "look_up", "arguments": "{}"}}],
            }
        }
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 4},
}


def test_without_paths_the_body_is_an_answer() -> None:
    assert texts({"answer": "Hi"}) == ["Hi"]
    assert texts("Hi") == ["Hi"]


def test_paths_find_everything() -> None:
    answer = reader(
        answer="choices[0].message.content", tool_calls="choices[0].message.tool_calls", usage="usage", agent="agent?"
    ).read_answer(received(OPENAI))
    assert answer.reply.messages == (
        Message(role=Role.ASSISTANT, tool_calls=(ToolCall(name="look_up", id="1"),)),
        Message(role=Role.ASSISTANT, content="Hi"),
    )
    assert answer.reply.usage == Usage(prompt_tokens=3, completion_tokens=4)


def test_messages_may_be_found_by_a_path() -> None:
    answer = reader(messages="choices[*].message").read_answer(received(OPENAI))
    (message,) = answer.reply.messages
    assert (message.content, message.tool_calls[0].name) == ("Hi", "look_up")
    assert answer.reply.usage is None


def test_with_a_path_for_the_answer_only_what_is_set_is_read() -> None:
    body = {"data": {"text": "Hi"}, "state": "done", "error": "none", "messages": 7}
    assert texts(body, answer="data.text") == ["Hi"]


def test_without_one_the_other_paths_refine_what_is_read() -> None:
    answer = reader(state="session.vars").read_answer(received({"answer": "Hi", "session": {"vars": {"a": 1}}}))
    assert answer.state == {"a": 1}


def test_several_replies_are_a_list() -> None:
    body = {"replies": [{"text": "One"}, {"card": 1}, {"text": None}, {"text": "Two"}]}
    assert texts(body, answer="replies[*].text") == ["One", "Two"]


def test_a_null_answer_beside_calls_is_no_message() -> None:
    body = {"text": None, "calls": [{"name": "stop"}]}
    answer = reader(answer="text", tool_calls="calls").read_answer(received(body))
    assert [len(message.tool_calls) for message in answer.reply.messages] == [1, 0]


def test_fields_of_calls_and_usage_may_have_any_name() -> None:
    body = {
        "text": "Hi",
        "actions": [{"action": {"title": "refund"}, "with": '{"order": 1}', "nr": 7, "gave": {"ok": True}}],
        "meter": {"in": 3, "out": 4},
    }
    answer = reader(
        answer="text",
        tool_calls="actions",
        tool_call={"name": "action.title", "arguments": "with", "id": "nr", "result": "gave?"},
        usage="meter",
        usage_fields={"prompt_tokens": "in", "completion_tokens": "out"},
    ).read_answer(received(body))
    (call,) = answer.reply.messages[0].tool_calls
    assert (call.name, call.arguments, call.id) == ("refund", {"order": 1}, "7")
    assert call.result is not None
    assert answer.reply.usage == Usage(prompt_tokens=3, completion_tokens=4)


def test_an_agent_may_be_one_or_several() -> None:
    one = reader(answer="text", agent="who").read_answer(received({"text": "Hi", "who": "billing"}))
    several = reader(answer="text", agent="who[*].name").read_answer(
        received({"text": "Hi", "who": [{"name": "router"}, {"name": "billing"}]})
    )
    assert [message.agent for message in one.reply.messages] == ["billing"]
    assert [message.agent for message in several.reply.messages] == ["router", "billing"]


SAID = "POST http://host/chat answered"


@pytest.mark.parametrize(
    ("body", "settings", "told"),
    [
        (b"", {}, f"{SAID} 200 OK (application/json), and that is no answer: expected JSON, found an empty body"),
        (b"<html>", {}, "expected JSON (JSON is malformed: invalid character (byte 0)); the body: <html>"),
        (b"[" * 100_000, {}, "expected JSON"),
        (b"\xff\xfe", {}, "expected JSON"),
        ({"a": 1}, {}, 'found the keys a; the body: {"a":1}'),
        (
            {"a": 1},
            {"answer": "text"},
            "`text` leads nowhere: at the top there is an object with the keys a, and no `text`",
        ),
        ({"text": "x"}, {"answer": "text", "tool_calls": "calls"}, "`calls` leads nowhere"),
        ({"text": 3}, {"answer": "text"}, "`answer`: expected text, found a number 3"),
        (
            {"answer": "x", "error": "no tokens"},
            {},
            f"{SAID} 200 OK (application/json), and the bot answered with an error",
        ),
        ({"text": "x", "fault": {"message": "no tokens"}}, {"answer": "text", "error": "fault"}, "error: no tokens"),
    ],
    ids=str,
)
def test_what_is_no_answer_is_told_with_the_body(body: Any, settings: dict[str, Any], told: str) -> None:
    assert told in failure(body, **settings)


def test_an_error_path_that_leads_nowhere_is_no_error() -> None:
    assert texts({"text": "Hi"}, answer="text", error="fault.message") == ["Hi"]
    assert texts({"text": "Hi", "fault": None}, answer="text", error="fault") == ["Hi"]


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (500, f"{SAID} 500 Internal Server Error (text/html): the shop is on fire"),
        (404, "404 Not Found (text/html): the shop is on fire; check `url`"),
        (401, "check the credentials in `headers`"),
        (422, "check `body`"),
        (799, f"{SAID} 799 (text/html)"),
    ],
)
def test_the_status_and_the_body_of_an_error_are_kept(status: int, told: str) -> None:
    assert told in failure(b"the shop\n is   on fire", status, "text/html")


def test_a_redirect_says_where_to() -> None:
    moved = BotResponse(request=REQUEST, status=307, location="https://host/chat/")
    with pytest.raises(TargetFailed, match="307 Temporary Redirect: \\(empty\\); it leads to https://host/chat/"):
        reader().read_answer(moved)


def test_a_long_body_is_cut() -> None:
    told = failure(b"x" * 10_000, 500, "text/plain")
    assert f"{'x' * 500}…" in told
    assert "x" * 501 not in told


def test_a_stream_that_was_not_expected_gives_a_hint() -> None:
    assert "set `stream: sse`" in failure(b"data: {}\n\n", content_type="text/event-stream")


def test_secrets_are_in_no_answer_and_no_error() -> None:
    secret = "sesame-open-123"
    answer = reader(secret).read_answer(received({"answer": f"I got {secret}", "state": {"key": secret}}))
    assert answer.reply.messages[0].content == "I got [secret]"
    assert answer.state == {"key": "[secret]"}
    assert secret not in failure({"x": secret}, secret=secret)
    assert secret not in failure({"error": secret}, secret=secret)
    assert secret not in failure(f"bad key {secret}".encode(), 401, "text/plain", secret=secret)


def stream_reader(stream: str, **settings: Any) -> ResponseReader:
    return ResponseReader(
        plan_http_target(TargetRequest(name="shop", rest="http://host/chat", settings={"stream": stream, **settings}))
    )


def streamed(body: bytes) -> BotResponse:
    return BotResponse(request=REQUEST, status=200, content_type="text/event-stream", body=body)


def stream_failure(body: bytes, stream: str = "sse", **settings: Any) -> str:
    with pytest.raises(TargetFailed) as caught:
        stream_reader(stream, **settings).read_answer(streamed(body))
    return str(caught.value)


@pytest.mark.parametrize(
    ("body", "events"),
    [
        (b"", []),
        (b'data: {"a": 1}\n\n', [{"a": 1}]),
        (b'data:{"a":1}\r\n\r\ndata: 2\r\n\r\n', [{"a": 1}, 2]),
        (b'data: {"a":\ndata: 1}\n\n', [{"a": 1}]),
        (b': ping\n\nid: 7\nretry: 10\nevent: delta\ndata: "x"\n\n', ["x"]),
        (b"data: 1\n\ndata: [DONE]\n\ndata: 2\n\n", [1]),
        (b"data: 1", [1]),
        ('data: "a\u2028b"\n\n'.encode(), ["a\u2028b"]),
    ],
    ids=str,
)
def test_server_sent_events_are_read(body: bytes, events: list[Any]) -> None:
    assert read_events(body, StreamFormat.SSE) == events


def test_lines_of_json_are_read() -> None:
    assert read_events(b'{"a": 1}\r\n\n 2 \n"x"', StreamFormat.NDJSON) == [{"a": 1}, 2, "x"]


def test_pieces_are_joined() -> None:
    body = b'data: {"d": {"text": "Hel"}}\n\ndata: {"ping": 1}\n\ndata: {"d": {"text": "lo"}}\n\n'
    (message,) = stream_reader("sse", delta="d.text").read_answer(streamed(body)).reply.messages
    assert message.content == "Hello"


def test_pieces_of_a_chat_api_are_joined() -> None:
    body = b'data: {"choices": [{"delta": {"role": "assistant"}}]}\n\n'
    body += (
        b'data: {"choices": [{"delta": {"content": "Hi"}}]}\n\ndata: {"choices": [{"delta": {"content": null}}]}\n\n'
    )
    body += b'data: {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}\n\ndata: [DONE]\n\n'
    answer = stream_reader("sse", delta="choices[0].delta.content", usage="usage").read_answer(streamed(body))
    assert answer.reply.messages[0].content == "Hi"
    assert answer.reply.usage is not None


def test_of_whole_answers_the_last_counts_and_lists_are_put_behind_each_other() -> None:
    body = b'{"text": "Hel", "calls": [{"name": "a"}]}\n{"text": "Hello", "calls": {"name": "b"}, "state": {"n": 1}}\n'
    body += b'{"state": {"n": 2}, "agent": "billing"}\n'
    settings = {"answer": "text", "tool_calls": "calls", "state": "state", "agent": "agent"}
    answer = stream_reader("ndjson", **settings).read_answer(streamed(body))
    first, last = answer.reply.messages
    assert [call.name for call in first.tool_calls] == ["a", "b"]
    assert (last.content, last.agent, answer.state) == ("Hello", "billing", {"n": 2})


def test_a_whole_answer_at_the_end_counts_more_than_its_pieces() -> None:
    body = b'{"piece": "Hel"}\n{"piece": "lo"}\n{"text": "Hello."}\n'
    (message,) = stream_reader("ndjson", delta="piece", answer="text").read_answer(streamed(body)).reply.messages
    assert message.content == "Hello."


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"<html>oops</html>", "the stream is not made of server-sent events: '<html>oops</html>'"),
        (b"data: oops\n\n", "an event of the stream is no JSON: 'oops'"),
        (b'data: {"d": 3}\n\n', "`delta`: expected pieces of text at `d`, found 3"),
        (b"", "the stream ended without an answer: 0 events, none with `d`; they hold none"),
        (b'data: {"x": 1}\n\ndata: 2\n\n', "the stream ended without an answer: 2 events, none with `d`; they hold x"),
        (b'event: error\ndata: {"message": "no tokens"}\n\n', "the bot answered with an error: no tokens"),
        (b'data: {"d": "Hi"}\n\ndata: {"fault": "no tokens"}\n\n', "the bot answered with an error: no tokens"),
    ],
    ids=str,
)
def test_garbage_in_a_stream_is_told(body: bytes, told: str) -> None:
    assert told in stream_failure(body, delta="d", error="fault")


def test_a_secret_in_pieces_is_hidden() -> None:
    wish = TargetRequest(
        name="shop",
        rest="http://host/chat",
        settings={"stream": "ndjson", "delta": "d", "headers": {"X-Key": "${KEY}"}},
        environ={"KEY": "sesame-open-123"},
    )
    body = b'{"d": "sesame-"}\n{"d": "open-123"}\n'
    assert ResponseReader(plan_http_target(wish)).read_answer(streamed(body)).reply.messages[0].content == "[secret]"
