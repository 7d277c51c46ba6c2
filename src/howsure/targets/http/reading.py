"""Reading what an HTTP bot sent: its status, its JSON, and the answer in it by the paths of the settings."""

from __future__ import annotations

from typing import Any

import msgspec

from howsure.errors import TargetFailed
from howsure.targets.answers.fields import Unreadable
from howsure.targets.answers.reading import Answered, BotError, answered, complain
from howsure.targets.http.plan import HttpPlan, Paths
from howsure.targets.http.settings import Stream
from howsure.targets.http.streams import events_in, gathered
from howsure.targets.http.wire import Received
from howsure.targets.json_paths import JsonPath, PathNotFound

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


class Reader:
    """Reads responses as one plan says. All that leaves here is free of the plan's secrets."""

    def __init__(self, plan: HttpPlan) -> None:
        self._plan = plan
        self._secrets = plan.secrets
        self._by_names = plan.stream is Stream.NONE and plan.paths == Paths()

    def answered(self, received: Received) -> Answered:
        """The answer; `TargetFailed` tells why there is none."""
        self.check(received)
        body = self._secrets.clean_bytes(received.body)
        try:
            return answered(self._told(received, body))
        except BotError as error:
            raise TargetFailed(self._secrets.clean(f"{received.said}, and {error}")) from None
        except (Unreadable, PathNotFound) as error:
            message = f"{received.said}, and that is no answer: {error}; the body: {quoted(body)}"
            raise TargetFailed(self._secrets.clean(message)) from error

    def check(self, received: Received) -> None:
        """An answer has a status from 200 to 299."""
        if 200 <= received.status < 300:
            return
        told = [f"{received.said}: {quoted(self._secrets.clean_bytes(received.body))}"]
        if received.location:
            told.append(f"it leads to {received.location}: set that as `url`")
        if hint := HINTS.get(received.status):
            told.append(hint)
        raise TargetFailed(self._secrets.clean("; ".join(told)))

    def json(self, received: Received) -> Any:
        """The body of a call that opens or closes a session."""
        self.check(received)
        try:
            return self._decoded(received, self._secrets.clean_bytes(received.body))
        except Unreadable as error:
            raise TargetFailed(self._secrets.clean(f"{received.said}, and that is no answer: {error}")) from error

    def find(self, received: Received, path: JsonPath) -> Any:
        value = self.json(received)
        try:
            return path.find(value)
        except PathNotFound as error:
            raise TargetFailed(self._secrets.clean(f"{received.said}, and {error}")) from error

    def _told(self, received: Received, body: bytes) -> Any:
        if self._by_names:
            return self._decoded(received, body)
        if self._plan.stream is not Stream.NONE:
            given = gathered(events_in(body, self._plan.stream), self._plan.paths)
            return _refined(_cleaned(given, self._plan), self._plan.paths)
        value = self._decoded(received, body)
        paths = self._plan.paths
        if paths.error is not None:
            complain(_maybe(paths.error, value))
        if paths.answer is None and paths.messages is None:
            told = dict(value) if isinstance(value, dict) else value
            return _refined({**told, **_by_paths(value, paths)}, paths) if isinstance(told, dict) else told
        return _refined(_by_paths(value, paths), paths)

    def _decoded(self, received: Received, body: bytes) -> Any:
        try:
            return msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if not body.strip():
                raise Unreadable("expected JSON, found an empty body") from error
            streams = "event-stream" in received.content_type or "ndjson" in received.content_type
            hint = "; it is a stream: set `stream: sse` or `stream: ndjson`" if streams else ""
            raise Unreadable(f"expected JSON ({error}){hint}") from error


def _by_paths(value: Any, paths: Paths) -> dict[str, Any]:
    """What the set paths lead to, under the names that answers/reading.py knows."""
    told: dict[str, Any] = {}
    for name in ("answer", "messages", "tool_calls", "state", "usage", "agent"):
        path: JsonPath | None = getattr(paths, name)
        if path is not None:
            given = path.find(value)
            told[name] = [one for one in given if one is not None] if path.several else given
    return told


def _refined(told: dict[str, Any], paths: Paths) -> dict[str, Any]:
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


def quoted(body: bytes) -> str:
    """The beginning of a body, for a message."""
    text = " ".join(body[: 4 * QUOTED].decode("utf-8", "replace").split())
    return f"{text[:QUOTED]}{'…' if len(text) > QUOTED else ''}" if text else "(empty)"
