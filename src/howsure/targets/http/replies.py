"""Streams of an HTTP bot: server-sent events and lines of JSON, gathered into one answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from howsure.errors import TargetFailed
from howsure.targets.answer_parts import UnreadableAnswer, list_names, quote_value
from howsure.targets.bot_answers import BotAnswer, BotError, raise_bot_error, read_answer
from howsure.targets.http.plan import AnswerPaths, HttpPlan, StreamFormat
from howsure.targets.http.requests import BotResponse
from howsure.targets.http.templates import JsonPath, PathNotFound

DONE = "[DONE]"


def read_events(body: bytes, stream: StreamFormat) -> list[Any]:
    """Every event, in order; `UnreadableAnswer` for one that is no JSON."""
    text = body.decode("utf-8", "replace")
    given = (
        _server_sent(text) if stream is StreamFormat.SSE else ((line, "") for line in text.splitlines() if line.strip())
    )
    return [_event(data, name) for data, name in given]


def _event(data: str, name: str) -> Any:
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise UnreadableAnswer(f"an event of the stream is no JSON: {quote_value(data)}") from error
    if name == "error":
        raise_bot_error(value or "an event named `error`")
    return value


def _server_sent(text: str) -> Iterator[tuple[str, str]]:
    """The data and the name of each event. The stream ends where the bot says so."""
    data: list[str] = []
    name = ""
    # Not `splitlines`: it would break texts at characters that are no line ends here.
    for line in [*text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), ""]:
        if not line:
            joined = "\n".join(data)
            if joined.strip() == DONE:
                return
            if joined:
                yield joined, name
            data, name = [], ""
            continue
        field, _, value = line.partition(":")
        if field == "data":
            data.append(value.removeprefix(" "))
        elif field == "event":
            name = value.strip()
        elif field and field not in ("id", "retry"):
            raise UnreadableAnswer(f"the stream is not made of server-sent events: {quote_value(line)}")


def merge_events(events: Sequence[Any], paths: AnswerPaths) -> dict[str, Any]:
    """One answer from all events: pieces joined, lists put behind each other, of everything else the last."""
    for event in events:
        raise_bot_error(_found(event, paths.error))
    answer: dict[str, Any] = {}
    if paths.delta is not None and (pieces := _all(events, paths.delta)):
        answer["answer"] = "".join(_piece(piece, paths.delta) for piece in pieces)
    if paths.answer is not None and (whole := _all(events, paths.answer)):
        answer["answer"] = whole[-1]
    for name, path in (("messages", paths.messages), ("tool_calls", paths.tool_calls)):
        if path is not None and (lists := _all(events, path)):
            answer[name] = [one for given in lists for one in (given if isinstance(given, list) else [given])]
    for name, path in (("state", paths.state), ("usage", paths.usage), ("agent", paths.agent)):
        if path is not None and (given := _all(events, path)):
            answer[name] = given[-1]
    if "answer" not in answer and "messages" not in answer:
        raise UnreadableAnswer(_nothing(events, paths))
    return answer


def _all(events: Sequence[Any], path: JsonPath) -> list[Any]:
    given = (_found(event, path) for event in events)
    return [one for one in given if one is not None]


def _found(event: Any, path: JsonPath | None) -> Any:
    if path is None:
        return None
    try:
        return path.follow(event)
    except PathNotFound:
        return None


def _piece(piece: Any, path: JsonPath) -> str:
    if isinstance(piece, list):
        return "".join(_piece(one, path) for one in piece if one is not None)
    if not isinstance(piece, str):
        raise UnreadableAnswer(f"`delta`: expected pieces of text at `{path.text}`, found {quote_value(piece)}")
    return piece


def _nothing(events: Sequence[Any], paths: AnswerPaths) -> str:
    named = " or ".join(f"`{path.text}`" for path in (paths.delta, paths.answer, paths.messages) if path is not None)
    keys = list(dict.fromkeys(key for event in events if isinstance(event, dict) for key in event))
    return f"the stream ended without an answer: {len(events)} events, none with {named}; they hold {list_names(keys)}"


QUOTED = 500
"""How much of a body that is no answer is kept in the error."""
HINTS = {
    401: "check the credentials in `headers`",
    403: "check the credentials in `headers`",
    404: "check `url`",
    405: "check `method`",
    415: "check the Content-Type in `headers`",
    422: "check `body`: the bot expects another one",
}


class ResponseReader:
    """Reads responses as one plan says. All that leaves here is free of the plan's secrets."""

    def __init__(self, plan: HttpPlan) -> None:
        self._plan = plan
        self._secrets = plan.secrets
        self._by_names = plan.stream is StreamFormat.NONE and plan.paths == AnswerPaths()

    def answered(self, received: BotResponse) -> BotAnswer:
        """The answer; `TargetFailed` tells why there is none."""
        self.check(received)
        body = self._secrets.clean_bytes(received.body)
        try:
            return read_answer(self._told(received, body))
        except BotError as error:
            raise TargetFailed(self._secrets.clean(f"{received.said}, and {error}")) from None
        except (UnreadableAnswer, PathNotFound) as error:
            message = f"{received.said}, and that is no answer: {error}; the body: {quote_body(body)}"
            raise TargetFailed(self._secrets.clean(message)) from error

    def check(self, received: BotResponse) -> None:
        """An answer has a status from 200 to 299."""
        if 200 <= received.status < 300:
            return
        told = [f"{received.said}: {quote_body(self._secrets.clean_bytes(received.body))}"]
        if received.location:
            told.append(f"it leads to {received.location}: set that as `url`")
        if hint := HINTS.get(received.status):
            told.append(hint)
        raise TargetFailed(self._secrets.clean("; ".join(told)))

    def json(self, received: BotResponse) -> Any:
        """The body of a call that opens or closes a session."""
        self.check(received)
        try:
            return self._decoded(received, self._secrets.clean_bytes(received.body))
        except UnreadableAnswer as error:
            raise TargetFailed(self._secrets.clean(f"{received.said}, and that is no answer: {error}")) from error

    def find(self, received: BotResponse, path: JsonPath) -> Any:
        value = self.json(received)
        try:
            return path.find(value)
        except PathNotFound as error:
            raise TargetFailed(self._secrets.clean(f"{received.said}, and {error}")) from error

    def _told(self, received: BotResponse, body: bytes) -> Any:
        if self._by_names:
            return self._decoded(received, body)
        if self._plan.stream is not StreamFormat.NONE:
            given = merge_events(read_events(body, self._plan.stream), self._plan.paths)
            return _refined(_cleaned(given, self._plan), self._plan.paths)
        value = self._decoded(received, body)
        paths = self._plan.paths
        if paths.error is not None:
            raise_bot_error(_maybe(paths.error, value))
        if paths.answer is None and paths.messages is None:
            told = dict(value) if isinstance(value, dict) else value
            return _refined({**told, **_by_paths(value, paths)}, paths) if isinstance(told, dict) else told
        return _refined(_by_paths(value, paths), paths)

    def _decoded(self, received: BotResponse, body: bytes) -> Any:
        try:
            return msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if not body.strip():
                raise UnreadableAnswer("expected JSON, found an empty body") from error
            streams = "event-stream" in received.content_type or "ndjson" in received.content_type
            hint = "; it is a stream: set `stream: sse` or `stream: ndjson`" if streams else ""
            raise UnreadableAnswer(f"expected JSON ({error}){hint}") from error


def _by_paths(value: Any, paths: AnswerPaths) -> dict[str, Any]:
    """What the set paths lead to, under the names that answers/reading.py knows."""
    told: dict[str, Any] = {}
    for name in ("answer", "messages", "tool_calls", "state", "usage", "agent"):
        path: JsonPath | None = getattr(paths, name)
        if path is not None:
            given = path.find(value)
            told[name] = [one for one in given if one is not None] if path.several else given
    return told


def _refined(told: dict[str, Any], paths: AnswerPaths) -> dict[str, Any]:
    """Calls and amounts by the names the bot has for them; several agents are a list."""
    if paths.call and told.get("tool_calls") is not None:
        calls = told["tool_calls"] if isinstance(told["tool_calls"], list) else [told["tool_calls"]]
        told["tool_calls"] = [_renamed(call, paths.call) for call in calls]
    if paths.amounts and told.get("usage") is not None:
        told["usage"] = _renamed(told["usage"], paths.amounts)
    if isinstance(told.get("agent"), list):
        told["agents"] = told.pop("agent")
    return told


def _renamed(holder: Any, names: Any) -> Any:
    if not isinstance(holder, dict):
        return holder
    return {**holder, **{name: path.find(holder) for name, path in names.items()}}


def _cleaned(told: dict[str, Any], plan: HttpPlan) -> dict[str, Any]:
    """A secret may come in pieces."""
    if isinstance(told.get("answer"), str):
        told["answer"] = plan.secrets.clean_text(told["answer"])
    return told


def _maybe(path: JsonPath, value: Any) -> Any:
    try:
        return path.follow(value)
    except PathNotFound:
        return None


def quote_body(body: bytes) -> str:
    """The beginning of a body, for a message."""
    text = " ".join(body[: 4 * QUOTED].decode("utf-8", "replace").split())
    return f"{text[:QUOTED]}{'…' if len(text) > QUOTED else ''}" if text else "(empty)"
