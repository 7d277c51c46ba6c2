"""Responses of an HTTP bot, read into an answer by the paths of the settings: status, JSON, and streams (server-sent
events or lines of JSON), which are merged into one answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec import Struct

from howsure.errors import TargetFailed
from howsure.llm.retry import quote_body
from howsure.llm.transport import HttpRequest
from howsure.targets.answer_parts import UnreadableAnswer, list_names, quote_value
from howsure.targets.bot_answers import BotAnswer, BotError, raise_bot_error, read_answer
from howsure.targets.http.plan import AnswerPaths, HttpPlan, NamedPaths, StreamFormat
from howsure.targets.http.templates import JsonPath, PathNotFound

PHRASES = {status.value: status.phrase for status in HTTPStatus}


class TargetUnreachable(TargetFailed):
    """There was no connection, or it broke."""


class BotResponse(Struct, frozen=True, kw_only=True):
    """A response of any status. `seconds`: from the request to the last byte, without the wait for a free
    connection."""

    request: HttpRequest
    status: int
    content_type: str = ""
    location: str = ""
    body: bytes = b""
    seconds: float = 0.0

    @property
    def summary(self) -> str:
        """`POST http://host/chat answered 500 Internal Server Error (text/html)`."""
        phrase = PHRASES.get(self.status, "")
        kind = f" ({self.content_type})" if self.content_type else ""
        return f"{self.request.method} {self.request.place} answered {f'{self.status} {phrase}'.strip()}{kind}"


DONE = "[DONE]"


def read_events(body: bytes, stream: StreamFormat) -> list[Any]:
    """Every event, in order; `UnreadableAnswer` for one that is no JSON."""
    text = body.decode("utf-8", "replace")
    events = (
        _server_sent(text) if stream is StreamFormat.SSE else ((line, "") for line in text.splitlines() if line.strip())
    )
    return [_event(data, name) for data, name in events]


def _event(data: str, name: str) -> Any:
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise UnreadableAnswer(f"an event of the stream is no JSON: {quote_value(data)}") from error
    if name == "error":
        raise_bot_error(value or "an event named `error`")
    return value


def _server_sent(text: str) -> Iterator[tuple[str, str]]:
    """The data and the name of each event, until the bot ends the stream."""
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


def merge_events(events: Sequence[Any], paths: NamedPaths) -> dict[str, Any]:
    """One answer from all events: pieces are joined, lists are concatenated, of everything else the last counts."""
    for event in events:
        raise_bot_error(_follow_or_none(paths.get("error"), event))
    found = {name: values for name, path in paths.items() if (values := _all(events, path))}
    answer: dict[str, Any] = {}
    if "delta" in found:
        answer["answer"] = "".join(_piece(piece, paths["delta"]) for piece in found["delta"])
    answer |= {name: found[name][-1] for name in ("answer", "state", "usage", "agent") if name in found}
    for name in ("messages", "tool_calls"):
        if name in found:
            answer[name] = [one for part in found[name] for one in (part if isinstance(part, list) else [part])]
    if "answer" not in answer and "messages" not in answer:
        named = (paths[name] for name in ("delta", "answer", "messages") if name in paths)
        keys = list(dict.fromkeys(key for event in events if isinstance(event, dict) for key in event))
        raise UnreadableAnswer(
            f"the stream ended without an answer: {len(events)} events,"
            f" none with {' or '.join(f'`{path.text}`' for path in named)}; they hold {list_names(keys)}"
        )
    return answer


def _all(events: Sequence[Any], path: JsonPath) -> list[Any]:
    values = (_follow_or_none(path, event) for event in events)
    return [value for value in values if value is not None]


def _follow_or_none(path: JsonPath | None, value: Any) -> Any:
    if path is None:
        return None
    try:
        return path.follow(value)
    except PathNotFound:
        return None


def _piece(piece: Any, path: JsonPath) -> str:
    if isinstance(piece, list):
        return "".join(_piece(one, path) for one in piece if one is not None)
    if not isinstance(piece, str):
        raise UnreadableAnswer(f"`delta`: expected pieces of text at `{path.text}`, found {quote_value(piece)}")
    return piece


QUOTED = 500
"""How many characters of an unreadable body an error quotes."""
HINTS = {
    401: "check the credentials in `headers`",
    403: "check the credentials in `headers`",
    404: "check `url`",
    405: "check `method`",
    415: "check the Content-Type in `headers`",
    422: "check `body`: the bot expects another one",
}


class ResponseReader:
    """Reads responses by one plan, and removes the plan's secrets from everything it returns."""

    def __init__(self, plan: HttpPlan) -> None:
        self._plan = plan
        self._secrets = plan.secrets
        has_paths = plan.paths.parts or plan.paths.call or plan.paths.amounts
        self._by_names = plan.settings.stream is StreamFormat.NONE and not has_paths

    def read_answer(self, response: BotResponse) -> BotAnswer:
        """The answer; `TargetFailed` says why there is none."""
        self.check(response)
        body = self._secrets.clean_bytes(response.body)
        try:
            return read_answer(self._read_values(response, body))
        except BotError as error:
            raise TargetFailed(self._secrets.clean(f"{response.summary}, and {error}")) from None
        except (UnreadableAnswer, PathNotFound) as error:
            shown = quote_body(body, QUOTED) or "(empty)"
            message = f"{response.summary}, and that is no answer: {error}; the body: {shown}"
            raise TargetFailed(self._secrets.clean(message)) from error

    def check(self, response: BotResponse) -> None:
        """An answer has a status from 200 to 299."""
        if 200 <= response.status < 300:
            return
        body = quote_body(self._secrets.clean_bytes(response.body), QUOTED)
        parts = [f"{response.summary}: {body or '(empty)'}"]
        if response.location:
            parts.append(f"it leads to {response.location}: set that as `url`")
        if hint := HINTS.get(response.status):
            parts.append(hint)
        raise TargetFailed(self._secrets.clean("; ".join(parts)))

    def find(self, response: BotResponse, path: JsonPath) -> Any:
        """A value in the body of a call that opens or closes a session."""
        self.check(response)
        try:
            return path.find(self._decode(response, self._secrets.clean_bytes(response.body)))
        except UnreadableAnswer as error:
            raise TargetFailed(self._secrets.clean(f"{response.summary}, and that is no answer: {error}")) from error
        except PathNotFound as error:
            raise TargetFailed(self._secrets.clean(f"{response.summary}, and {error}")) from error

    def _read_values(self, response: BotResponse, body: bytes) -> Any:
        if self._by_names:
            return self._decode(response, body)
        if (stream := self._plan.settings.stream) is not StreamFormat.NONE:
            values = merge_events(read_events(body, stream), self._plan.paths.parts)
            if isinstance(values.get("answer"), str):
                # A secret may come in pieces.
                values["answer"] = self._secrets.clean_text(values["answer"])
            return _rename_parts(values, self._plan.paths)
        value = self._decode(response, body)
        paths = self._plan.paths
        raise_bot_error(_follow_or_none(paths.parts.get("error"), value))
        if "answer" in paths.parts or "messages" in paths.parts:
            return _rename_parts(_values_by_paths(value, paths.parts), paths)
        if not isinstance(value, dict):
            return value
        return _rename_parts({**value, **_values_by_paths(value, paths.parts)}, paths)

    def _decode(self, response: BotResponse, body: bytes) -> Any:
        try:
            return msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if not body.strip():
                raise UnreadableAnswer("expected JSON, found an empty body") from error
            streams = "event-stream" in response.content_type or "ndjson" in response.content_type
            hint = "; it is a stream: set `stream: sse` or `stream: ndjson`" if streams else ""
            raise UnreadableAnswer(f"expected JSON ({error}){hint}") from error


def _values_by_paths(value: Any, paths: NamedPaths) -> dict[str, Any]:
    """The values at the paths that are set, under the names that bot_answers.py knows."""
    values: dict[str, Any] = {}
    for name, path in paths.items():
        if name not in ("error", "delta"):
            part = path.find(value)
            values[name] = [one for one in part if one is not None] if path.several else part
    return values


def _rename_parts(values: dict[str, Any], paths: AnswerPaths) -> dict[str, Any]:
    """Calls and amounts under our names; several agents are a list."""
    if paths.call and values.get("tool_calls") is not None:
        calls = values["tool_calls"] if isinstance(values["tool_calls"], list) else [values["tool_calls"]]
        values["tool_calls"] = [_rename_fields(call, paths.call) for call in calls]
    if paths.amounts and values.get("usage") is not None:
        values["usage"] = _rename_fields(values["usage"], paths.amounts)
    if isinstance(values.get("agent"), list):
        values["agents"] = values.pop("agent")
    return values


def _rename_fields(holder: Any, names: Any) -> Any:
    if not isinstance(holder, dict):
        return holder
    return {**holder, **{name: path.find(holder) for name, path in names.items()}}
