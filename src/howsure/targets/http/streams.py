"""Streams of an HTTP bot: server-sent events and lines of JSON, gathered into one answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from howsure.targets.answers.fields import Unreadable, listed, shown
from howsure.targets.answers.reading import complain
from howsure.targets.http.plan import Paths
from howsure.targets.http.settings import Stream
from howsure.targets.json_paths import JsonPath, PathNotFound

DONE = "[DONE]"


def events_in(body: bytes, stream: Stream) -> list[Any]:
    """Every event, in order; `Unreadable` for one that is no JSON."""
    text = body.decode("utf-8", "replace")
    given = _server_sent(text) if stream is Stream.SSE else ((line, "") for line in text.splitlines() if line.strip())
    return [_event(data, name) for data, name in given]


def _event(data: str, name: str) -> Any:
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Unreadable(f"an event of the stream is no JSON: {shown(data)}") from error
    if name == "error":
        complain(value or "an event named `error`")
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
            raise Unreadable(f"the stream is not made of server-sent events: {shown(line)}")


def gathered(events: Sequence[Any], paths: Paths) -> dict[str, Any]:
    """One answer from all events: pieces joined, lists put behind each other, of everything else the last."""
    for event in events:
        complain(_found(event, paths.error))
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
        raise Unreadable(_nothing(events, paths))
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
        raise Unreadable(f"`delta`: expected pieces of text at `{path.text}`, found {shown(piece)}")
    return piece


def _nothing(events: Sequence[Any], paths: Paths) -> str:
    named = " or ".join(f"`{path.text}`" for path in (paths.delta, paths.answer, paths.messages) if path is not None)
    keys = list(dict.fromkeys(key for event in events if isinstance(event, dict) for key in event))
    return f"the stream ended without an answer: {len(events)} events, none with {named}; they hold {listed(keys)}"
