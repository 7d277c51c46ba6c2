"""An HTTP target's settings, made ready: templates, paths and secrets, read once for a whole run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any
from urllib.parse import urlencode, urljoin

import msgspec
from msgspec import Struct, field

from howsure.targets.blocks import SECRET, Wrong
from howsure.targets.http.settings import BODY, Ending, HttpBlock, Opening, Stream, read_http_block
from howsure.targets.http.wire import Request
from howsure.targets.json_paths import JsonPath, parse_path
from howsure.targets.making import Wish
from howsure.targets.secrets import Secrets
from howsure.targets.templates import PLACEHOLDERS, SIMPLE, Compiler, Text, as_text, filled
from howsure.version import __version__

ACCEPT = {
    Stream.NONE: "application/json",
    Stream.SSE: "text/event-stream",
    Stream.NDJSON: "application/x-ndjson, application/json",
}
AGENT = f"howsure/{__version__}"
DONE = b"\ndata: [DONE]"
"""What ends a stream of events: at the start of a line, where no text of the bot can stand."""
FORM = "application/x-www-form-urlencoded"


class CallPlan(Struct, frozen=True, kw_only=True, dict=True):
    """One kind of request. `body` None: none is sent."""

    method: str
    url: Text
    headers: Mapping[str, str | Text]
    body: Any = None
    stop: bytes | None = None

    def request(self, values: Mapping[str, Any]) -> Request:
        headers = self._fixed
        if headers is None:
            headers = {name: as_text(filled(value, values)) for name, value in self.headers.items()}
        body = None if self.body is None else encoded(filled(self.body, values), headers.get("Content-Type", ""))
        return Request(method=self.method, url=self.url.address(values), headers=headers, body=body, stop=self.stop)

    @cached_property
    def _fixed(self) -> dict[str, str] | None:
        """The headers, where nothing is filled in: the same for every request."""
        fixed = {name: value for name, value in self.headers.items() if isinstance(value, str)}
        return fixed if len(fixed) == len(self.headers) else None


class Paths(Struct, frozen=True, kw_only=True):
    """Where things are in an answer; None: not set. `call` and `amounts` are inside calls and usage."""

    answer: JsonPath | None = None
    messages: JsonPath | None = None
    tool_calls: JsonPath | None = None
    state: JsonPath | None = None
    usage: JsonPath | None = None
    agent: JsonPath | None = None
    error: JsonPath | None = None
    delta: JsonPath | None = None
    call: Mapping[str, JsonPath] = field(default_factory=dict)
    amounts: Mapping[str, JsonPath] = field(default_factory=dict)


class HttpPlan(Struct, frozen=True, kw_only=True):
    """All that a run needs to know."""

    call: CallPlan
    paths: Paths
    stream: Stream
    secrets: Secrets
    turn_seconds: float
    connect_tries: int
    retries: int
    max_connections: int | None
    opening: CallPlan | None = None
    opening_id: JsonPath | None = None
    ending: CallPlan | None = None
    ending_state: JsonPath | None = None
    health: CallPlan | None = None


def plan_of(wish: Wish) -> HttpPlan:
    """The plan; `ConfigInvalid` with every wrong setting."""
    wrong = Wrong(wish)
    block = read_http_block(wish, wrong)
    planner = _Planner(Compiler(wish.environ, wrong.add), wrong, block)
    plan = planner.plan()
    wrong.settle()
    return plan


class _Planner:
    """Reads the templates and paths of one block."""

    def __init__(self, compiler: Compiler, wrong: Wrong, block: HttpBlock) -> None:
        self._compiler = compiler
        self._wrong = wrong
        self._block = block
        self._shared = self._headers(block.headers, "headers")

    def plan(self) -> HttpPlan:
        block, session = self._block, self._block.session
        call, paths = self._main(), self._paths()
        opening = self._extra(session.open, "session.open") if session.open else None
        ending = self._extra(session.close, "session.close") if session.close else None
        return HttpPlan(
            call=call,
            paths=paths,
            stream=block.stream,
            turn_seconds=block.turn_seconds,
            connect_tries=block.connect_tries,
            retries=block.retries,
            max_connections=block.max_connections,
            opening=opening,
            opening_id=self._path("session.open.id", session.open.id) if session.open else None,
            ending=ending,
            ending_state=self._path("session.close.state", session.close.state) if session.close else None,
            health=self._health(),
            secrets=Secrets(self._compiler.secrets),
        )

    def _main(self) -> CallPlan:
        block = self._block
        body = block.body if block.body is not None or block.method.upper() == "GET" else BODY
        return CallPlan(
            method=block.method.upper(),
            url=self._address(block.url, "url", PLACEHOLDERS),
            headers=_completed(self._shared, body is not None, ACCEPT[block.stream]),
            body=self._compiler.value(body, "body"),
            stop=DONE if block.stream is Stream.SSE else None,
        )

    def _extra(self, given: Opening | Ending, field: str) -> CallPlan:
        known = (*SIMPLE, "state")
        headers = {**self._shared, **self._headers(given.headers, f"{field}.headers")}
        return CallPlan(
            method=given.method.upper(),
            url=self._address(given.url, f"{field}.url", SIMPLE),
            headers=_completed(headers, given.body is not None, ACCEPT[Stream.NONE]),
            body=self._compiler.value(given.body, f"{field}.body", known),
        )

    def _address(self, url: str, field: str, allowed: Collection[str]) -> Text:
        text = self._compiler.text(url, field, allowed)
        # One whose beginning is in the environment could not be checked before.
        if url.startswith("${") and not str(text.parts[0]).startswith(("http://", "https://")):
            self._wrong.add(field, "its environment variable holds no address with http:// or https://")
        return text

    def _health(self) -> CallPlan | None:
        if not self._block.health:
            return None
        url = urljoin(self._block.url.split("{")[0], self._block.health)
        plain = {name: value for name, value in self._shared.items() if isinstance(value, str)}
        headers = _completed(plain, False, "*/*")
        return CallPlan(method="GET", url=self._compiler.text(url, "health", ()), headers=headers)

    def _headers(self, given: Mapping[str, str], field: str) -> dict[str, str | Text]:
        headers: dict[str, str | Text] = {}
        for name, value in given.items():
            place = f"{field}.{name}"
            if SECRET.search(name) and value and "{" not in value:
                self._wrong.add(place, "a secret may not stand in a file; write ${NAME} of an environment variable")
            headers[name.title()] = self._compiler.value(value, place, SIMPLE)
        return headers

    def _paths(self) -> Paths:
        block = self._block
        calls = {name: getattr(block.tool_call, name) for name in block.tool_call.__struct_fields__}
        amounts = {name: getattr(block.usage_fields, name) for name in block.usage_fields.__struct_fields__}
        return Paths(
            answer=self._path("answer", block.answer),
            messages=self._path("messages", block.messages),
            tool_calls=self._path("tool_calls", block.tool_calls),
            state=self._path("state", block.state),
            usage=self._path("usage", block.usage),
            agent=self._path("agent", block.agent),
            error=self._path("error", block.error),
            delta=self._path("delta", block.delta),
            call=self._several("tool_call", calls),
            amounts=self._several("usage_fields", amounts),
        )

    def _several(self, field: str, given: Mapping[str, str]) -> dict[str, JsonPath]:
        read = {name: self._path(f"{field}.{name}", text) for name, text in given.items()}
        return {name: path for name, path in read.items() if path is not None}

    def _path(self, field: str, text: str) -> JsonPath | None:
        if not text:
            return None
        try:
            return parse_path(text)
        except ValueError as error:
            self._wrong.add(field, str(error))
            return None


def _completed(given: Mapping[str, str | Text], sends: bool, accept: str) -> dict[str, str | Text]:
    headers: dict[str, str | Text] = {"User-Agent": AGENT, "Accept": accept, **given}
    return {"Content-Type": "application/json", **headers} if sends else headers


def encoded(body: Any, content_type: str) -> bytes:
    """As the content type says: a form, plain text, or JSON."""
    if content_type.startswith(FORM) and isinstance(body, dict):
        return urlencode({name: as_text(value) for name, value in body.items()}).encode()
    if isinstance(body, str) and "json" not in content_type:
        return body.encode("utf-8", "replace")
    return msgspec.json.encode(body)
