"""The settings of an HTTP target (`kind: http` in howsure.yaml), and the plan made from them once for a whole run:
templates, paths and secrets."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from functools import cached_property
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

import msgspec
from msgspec import Struct, field

from howsure.llm.transport import HttpRequest
from howsure.targets.base import TargetRequest
from howsure.targets.http.templates import (
    PLACEHOLDERS,
    SIMPLE,
    JsonPath,
    TemplateCompiler,
    TextTemplate,
    as_text,
    fill_template,
    parse_path,
)
from howsure.targets.settings import SECRET, Secrets, SettingProblems, check_seconds, read_block
from howsure.version import __version__

METHODS = ("POST", "GET", "PUT", "PATCH", "DELETE")
BODY = {
    "message": "{message}",
    "session_id": "{session_id}",
    "case_id": "{case_id}",
    "turn": "{turn}",
    "history": "{history}",
    "state": "{state}",
}
"""The body where none is set."""
LARGEST = 16 * 1024 * 1024
"""The largest response that is read, in bytes."""


class StreamFormat(Enum):
    """How the bot sends its answer: in one piece, as server-sent events, or as lines of JSON."""

    NONE = "none"
    SSE = "sse"
    NDJSON = "ndjson"


class ToolCallPaths(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`tool_call:` where to find the parts of a call, inside it."""

    name: str = ""
    """Path to the tool's name."""
    arguments: str = ""
    """Path to the arguments: an object, or the JSON text of one."""
    id: str = ""
    """Path to the id of the call."""
    result: str = ""
    """Path to what the tool returned."""


class UsagePaths(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`usage_fields:` where to find the amounts, inside what `usage` leads to."""

    prompt_tokens: str = ""
    """Path to the tokens of the prompt."""
    completion_tokens: str = ""
    """Path to the tokens of the reply."""
    cached_tokens: str = ""
    """Path to the tokens of the prompt that were cached."""
    thinking_tokens: str = ""
    """Path to the tokens of thinking."""
    cost_usd: str = ""
    """Path to the cost in USD."""


class SessionCall(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call that starts or ends a conversation."""

    url: str
    """The address; may hold placeholders."""
    method: str = "POST"
    """`POST`, `GET`, `PUT`, `PATCH` or `DELETE`."""
    headers: dict[str, str] = field(default_factory=dict)
    """Headers by name."""
    body: Any = None
    """Any JSON value with placeholders."""


class SessionOpenCall(SessionCall, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`session.open:`"""

    id: str = ""
    """Path to the session's id in the answer; without it the id is ours."""


class SessionCloseCall(SessionCall, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`session.close:`"""

    state: str = ""
    """Path to the final state in the answer."""


class SessionCalls(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`session:` for bots whose conversations are opened and closed."""

    open: SessionOpenCall | None = None
    """The call that starts a conversation."""
    close: SessionCloseCall | None = None
    """The call that ends it."""


class HttpSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The block itself. Without `answer` and `messages` the body is read as an answer (bot_answers.py); with one of
    them, only what is set is read."""

    url: str = ""
    """The address of the bot; may hold placeholders; needed."""
    method: str = "POST"
    """`POST`, `GET`, `PUT`, `PATCH` or `DELETE`."""
    headers: dict[str, str] = field(default_factory=dict)
    """By name; values may hold `${NAME}` of the environment and placeholders."""
    body: Any = None
    """Any JSON value with placeholders."""
    answer: str = ""
    """Path to the answer; a list is several replies."""
    messages: str = ""
    """Path to a list of messages, instead of or beside `answer`."""
    tool_calls: str = ""
    """Path to a list of tool calls."""
    tool_call: ToolCallPaths = ToolCallPaths()
    """Paths inside a call."""
    state: str = ""
    """Path to the state after the turn."""
    usage: str = ""
    """Path to the amounts of tokens and money."""
    usage_fields: UsagePaths = UsagePaths()
    """Paths inside them."""
    agent: str = ""
    """Path to who answered: a name, or a list."""
    error: str = ""
    """Path to an error; anything there makes the turn fail, also under the status 200."""
    stream: StreamFormat = StreamFormat.NONE
    """How the answer is sent: in one piece, as server-sent events, or as lines of JSON."""
    delta: str = ""
    """For streams: path to a piece of the answer in an event; pieces are joined."""
    session: SessionCalls = SessionCalls()
    """Calls for bots whose conversations are opened and closed."""
    health: str = ""
    """An address, or a path on the same host, that answers 200 when the bot is well."""
    turn_seconds: float = 60.0
    """How long an answer may take."""
    max_connections: int | None = None
    """Requests at once; without it, the run's `max_concurrency`."""
    connect_tries: int = 3
    """How often a refused connection is tried."""
    retries: int = 0
    """How often a turn is sent again after a broken connection or 429, 502, 503, 504."""


def read_http_settings(request: TargetRequest, problems: SettingProblems) -> HttpSettings:
    """The block of a request; `--target http:URL` needs none."""
    given = {name: value for name, value in request.settings.items() if name != "kind"}
    if request.rest:
        # `--target http://host/chat` means what it says.
        given["url"] = f"http:{request.rest}" if request.rest.startswith("//") else request.rest
    before = len(problems.messages)
    block = read_block(given, HttpSettings, problems)
    if len(problems.messages) == before or block.url:
        for name, message in _problems(block):
            problems.add(name, message)
    check_seconds("turn_seconds", block.turn_seconds, problems)
    return block


def _problems(block: HttpSettings) -> Iterator[tuple[str, str]]:
    session = block.session
    for prefix, call in (("", block), ("session.open.", session.open), ("session.close.", session.close)):
        if call is not None:
            yield from _address_problems(f"{prefix}url", call.url)
            if call.method.upper() not in METHODS:
                yield f"{prefix}method", f"expected one of {', '.join(METHODS)}, found {call.method!r}"
    if block.health and "://" in block.health:
        yield from _address_problems("health", block.health)
    if block.stream is StreamFormat.NONE and block.delta:
        yield "delta", "is for streams; set `stream: sse` or `stream: ndjson`"
    if block.stream is not StreamFormat.NONE and not (block.delta or block.answer or block.messages):
        parts = "`delta` (pieces of the answer), `answer` or `messages`"
        yield "stream", f"a stream needs {parts}: the path inside an event"
    for name, least, number in (
        ("max_connections", 1, block.max_connections if block.max_connections is not None else 1),
        ("connect_tries", 1, block.connect_tries),
        ("retries", 0, block.retries),
    ):
        if number < least:
            yield name, f"expected {least} or more, found {number}"


def _address_problems(name: str, url: str) -> Iterator[tuple[str, str]]:
    if not url:
        yield name, "is needed: the address of the bot, such as http://127.0.0.1:8000/chat"
        return
    if url.startswith("${"):
        return
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        yield name, "is no address; expected one such as http://127.0.0.1:8000/chat"
        return
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        # The address may hold a secret: only its beginning is told.
        yield name, f"expected an address with http:// or https://, found {url[:40]!r}"
    if parts.username or parts.password:
        yield name, "may hold no user and password; send them in `headers`, by the name of an environment variable"


ACCEPT = {
    StreamFormat.NONE: "application/json",
    StreamFormat.SSE: "text/event-stream",
    StreamFormat.NDJSON: "application/x-ndjson, application/json",
}
AGENT = f"howsure/{__version__}"
DONE = b"\ndata: [DONE]"
"""The end of a stream of events: at the start of a line, where no text of the bot can be."""
ANSWER_PARTS = ("answer", "messages", "tool_calls", "state", "usage", "agent", "error", "delta")
"""The settings that are paths to the parts of an answer."""
FORM = "application/x-www-form-urlencoded"


class RequestPlan(Struct, frozen=True, kw_only=True, dict=True):
    """One kind of request. `body` None: no body is sent."""

    method: str
    url: TextTemplate
    headers: Mapping[str, str | TextTemplate]
    body: Any = None
    stop: bytes | None = None

    def request(self, values: Mapping[str, Any]) -> HttpRequest:
        headers = self._fixed_headers
        if headers is None:
            headers = {name: as_text(fill_template(value, values)) for name, value in self.headers.items()}
        body = None
        if self.body is not None:
            body = encode_body(fill_template(self.body, values), headers.get("Content-Type", ""))
        url = self.url.address(values)
        return HttpRequest(method=self.method, url=url, headers=headers, body=body, largest=LARGEST, stop=self.stop)

    @cached_property
    def _fixed_headers(self) -> dict[str, str] | None:
        """The headers, where they are the same for every request; None: values are filled in."""
        fixed = {name: value for name, value in self.headers.items() if isinstance(value, str)}
        return fixed if len(fixed) == len(self.headers) else None


NamedPaths = Mapping[str, JsonPath]
"""The paths that are set, by the names of their settings."""


class AnswerPaths(Struct, frozen=True):
    """Where the parts of an answer are. `call` and `amounts` are paths inside calls and usage."""

    parts: NamedPaths
    call: NamedPaths
    amounts: NamedPaths


class HttpPlan(Struct, frozen=True, kw_only=True):
    """The settings of a target, ready for use. `placed` are the placeholders of its templates."""

    settings: HttpSettings
    call: RequestPlan
    paths: AnswerPaths
    placed: frozenset[str]
    secrets: Secrets
    opening: RequestPlan | None = None
    opening_id: JsonPath | None = None
    ending: RequestPlan | None = None
    ending_state: JsonPath | None = None
    health: RequestPlan | None = None


def plan_http_target(request: TargetRequest) -> HttpPlan:
    """The plan; `ConfigInvalid` with every wrong setting."""
    problems = SettingProblems(request)
    block = read_http_settings(request, problems)
    planner = _Planner(TemplateCompiler(request.environ, problems.add), problems, block)
    plan = planner.plan()
    problems.raise_if_any()
    return plan


class _Planner:
    """Reads the templates and paths of one block."""

    def __init__(self, compiler: TemplateCompiler, problems: SettingProblems, block: HttpSettings) -> None:
        self._compiler = compiler
        self._problems = problems
        self._block = block
        self._shared = self._headers(block.headers, "headers")

    def plan(self) -> HttpPlan:
        block, session = self._block, self._block.session
        body = block.body if block.body is not None or block.method.upper() == "GET" else BODY
        call = RequestPlan(
            method=block.method.upper(),
            url=self._address(block.url, "url", PLACEHOLDERS),
            headers=_default_headers(self._shared, body is not None, ACCEPT[block.stream]),
            body=self._compiler.value(body, "body"),
            stop=DONE if block.stream is StreamFormat.SSE else None,
        )
        paths = self._paths()
        opening = self._session_call(session.open, "session.open") if session.open else None
        ending = self._session_call(session.close, "session.close") if session.close else None
        return HttpPlan(
            settings=block,
            call=call,
            paths=paths,
            placed=frozenset(self._compiler.placed),
            opening=opening,
            opening_id=self._path("session.open.id", session.open.id) if session.open else None,
            ending=ending,
            ending_state=self._path("session.close.state", session.close.state) if session.close else None,
            health=self._health(),
            secrets=Secrets(self._compiler.secrets),
        )

    def _session_call(self, given: SessionCall, field: str) -> RequestPlan:
        known = (*SIMPLE, "state")
        headers = {**self._shared, **self._headers(given.headers, f"{field}.headers")}
        return RequestPlan(
            method=given.method.upper(),
            url=self._address(given.url, f"{field}.url", SIMPLE),
            headers=_default_headers(headers, given.body is not None, ACCEPT[StreamFormat.NONE]),
            body=self._compiler.value(given.body, f"{field}.body", known),
        )

    def _address(self, url: str, field: str, allowed: Collection[str]) -> TextTemplate:
        text = self._compiler.text(url, field, allowed)
        # One whose beginning is in the environment could not be checked before.
        if url.startswith("${") and not str(text.parts[0]).startswith(("http://", "https://")):
            self._problems.add(field, "its environment variable holds no address with http:// or https://")
        return text

    def _health(self) -> RequestPlan | None:
        if not self._block.health:
            return None
        url = urljoin(self._block.url.split("{")[0], self._block.health)
        plain = {name: value for name, value in self._shared.items() if isinstance(value, str)}
        headers = _default_headers(plain, False, "*/*")
        return RequestPlan(method="GET", url=self._compiler.text(url, "health", ()), headers=headers)

    def _headers(self, given: Mapping[str, str], field: str) -> dict[str, str | TextTemplate]:
        headers: dict[str, str | TextTemplate] = {}
        for name, value in given.items():
            place = f"{field}.{name}"
            if SECRET.search(name) and value and "{" not in value:
                self._problems.add(place, "a secret may not stand in a file; write ${NAME} of an environment variable")
            headers[name.title()] = self._compiler.value(value, place, SIMPLE)
        return headers

    def _paths(self) -> AnswerPaths:
        return AnswerPaths(
            self._paths_in("", self._block, ANSWER_PARTS),
            self._paths_in("tool_call.", self._block.tool_call, ToolCallPaths.__struct_fields__),
            self._paths_in("usage_fields.", self._block.usage_fields, UsagePaths.__struct_fields__),
        )

    def _paths_in(self, prefix: str, block: Struct, names: tuple[str, ...]) -> NamedPaths:
        paths = {name: self._path(prefix + name, getattr(block, name)) for name in names}
        return {name: path for name, path in paths.items() if path is not None}

    def _path(self, field: str, text: str) -> JsonPath | None:
        if not text:
            return None
        try:
            return parse_path(text)
        except ValueError as error:
            self._problems.add(field, str(error))
            return None


def _default_headers(
    given: Mapping[str, str | TextTemplate], sends: bool, accept: str
) -> dict[str, str | TextTemplate]:
    headers: dict[str, str | TextTemplate] = {"User-Agent": AGENT, "Accept": accept, **given}
    return {"Content-Type": "application/json", **headers} if sends else headers


def encode_body(body: Any, content_type: str) -> bytes:
    """The body in the form that the content type says: a form, plain text, or JSON."""
    if content_type.startswith(FORM) and isinstance(body, dict):
        return urlencode({name: as_text(value) for name, value in body.items()}).encode()
    if isinstance(body, str) and "json" not in content_type:
        return body.encode("utf-8", "replace")
    return msgspec.json.encode(body)
