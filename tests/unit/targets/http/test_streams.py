"""Streams: server-sent events and lines of JSON, gathered into one answer."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.errors import TargetFailed
from howsure.targets.base import TargetRequest
from howsure.targets.http.plan import StreamFormat, plan_http_target
from howsure.targets.http.replies import ResponseReader, read_events
from howsure.targets.http.requests import BotResponse, HttpRequest

REQUEST = HttpRequest(method="POST", url="http://host/chat", headers={})


def reader(stream: str, **settings: Any) -> ResponseReader:
    return ResponseReader(
        plan_http_target(TargetRequest(name="shop", rest="http://host/chat", settings={"stream": stream, **settings}))
    )


def received(body: bytes) -> BotResponse:
    return BotResponse(request=REQUEST, status=200, content_type="text/event-stream", body=body)


def failure(body: bytes, stream: str = "sse", **settings: Any) -> str:
    with pytest.raises(TargetFailed) as caught:
        reader(stream, **settings).answered(received(body))
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
    (message,) = reader("sse", delta="d.text").answered(received(body)).reply.messages
    assert message.content == "Hello"


def test_pieces_of_a_chat_api_are_joined() -> None:
    body = b'data: {"choices": [{"delta": {"role": "assistant"}}]}\n\n'
    body += (
        b'data: {"choices": [{"delta": {"content": "Hi"}}]}\n\ndata: {"choices": [{"delta": {"content": null}}]}\n\n'
    )
    body += b'data: {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}\n\ndata: [DONE]\n\n'
    answer = reader("sse", delta="choices[0].delta.content", usage="usage").answered(received(body))
    assert answer.reply.messages[0].content == "Hi"
    assert answer.reply.usage is not None


def test_of_whole_answers_the_last_counts_and_lists_are_put_behind_each_other() -> None:
    body = b'{"text": "Hel", "calls": [{"name": "a"}]}\n{"text": "Hello", "calls": {"name": "b"}, "state": {"n": 1}}\n'
    body += b'{"state": {"n": 2}, "agent": "billing"}\n'
    settings = {"answer": "text", "tool_calls": "calls", "state": "state", "agent": "agent"}
    answer = reader("ndjson", **settings).answered(received(body))
    first, last = answer.reply.messages
    assert [call.name for call in first.tool_calls] == ["a", "b"]
    assert (last.content, last.agent, answer.state) == ("Hello", "billing", {"n": 2})


def test_a_whole_answer_at_the_end_counts_more_than_its_pieces() -> None:
    body = b'{"piece": "Hel"}\n{"piece": "lo"}\n{"text": "Hello."}\n'
    (message,) = reader("ndjson", delta="piece", answer="text").answered(received(body)).reply.messages
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
    assert told in failure(body, delta="d", error="fault")


def test_a_secret_in_pieces_is_hidden() -> None:
    wish = TargetRequest(
        name="shop",
        rest="http://host/chat",
        settings={"stream": "ndjson", "delta": "d", "headers": {"X-Key": "${KEY}"}},
        environ={"KEY": "sesame-open-123"},
    )
    body = b'{"d": "sesame-"}\n{"d": "open-123"}\n'
    assert ResponseReader(plan_http_target(wish)).answered(received(body)).reply.messages[0].content == "[secret]"
