"""The settings of an HTTP target: one block in howsure.yaml, `kind: http`. What they become is in plan.py."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct, field

from howsure.targets.blocks import Wrong, check_seconds, read_block
from howsure.targets.making import Wish

METHODS = ("POST", "GET", "PUT", "PATCH", "DELETE")
BODY = {
    "message": "{message}",
    "session_id": "{session_id}",
    "case_id": "{case_id}",
    "turn": "{turn}",
    "history": "{history}",
    "state": "{state}",
}
"""What is sent where no `body` is set."""


class Stream(Enum):
    """How the bot sends its answer: in one piece, as server-sent events, or as lines of JSON."""

    NONE = "none"
    SSE = "sse"
    NDJSON = "ndjson"


class CallPaths(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`tool_call:` where to find the parts of a call, inside it."""

    name: str = ""
    arguments: str = ""
    id: str = ""
    result: str = ""


class UsagePaths(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`usage_fields:` where to find the amounts, inside what `usage` leads to."""

    prompt_tokens: str = ""
    completion_tokens: str = ""
    cached_tokens: str = ""
    thinking_tokens: str = ""
    cost_usd: str = ""


class Opening(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`session.open:` the call that starts a conversation; `id` leads to the session's id in its answer."""

    url: str
    method: str = "POST"
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    id: str = ""


class Ending(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`session.close:` the call that ends one; `state` leads to the final state in its answer."""

    url: str
    method: str = "POST"
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    state: str = ""


class SessionCalls(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`session:` for bots whose conversations are opened and closed."""

    open: Opening | None = None
    close: Ending | None = None


class HttpBlock(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The block itself. Without `answer` and `messages` the body is read as an answer (answers/reading.py); with one of
    them, only what is set is read."""

    url: str = ""
    method: str = "POST"
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    answer: str = ""
    messages: str = ""
    tool_calls: str = ""
    tool_call: CallPaths = CallPaths()
    state: str = ""
    usage: str = ""
    usage_fields: UsagePaths = UsagePaths()
    agent: str = ""
    error: str = ""
    stream: Stream = Stream.NONE
    delta: str = ""
    session: SessionCalls = SessionCalls()
    health: str = ""
    turn_seconds: float = 60.0
    max_connections: int | None = None
    connect_tries: int = 3
    retries: int = 0


def read_http_block(wish: Wish, wrong: Wrong) -> HttpBlock:
    """The block of a wish; `--target http:URL` needs none."""
    given = {name: value for name, value in wish.settings.items() if name != "kind"}
    if wish.rest:
        # `--target http://host/chat` means what it says.
        given["url"] = f"http:{wish.rest}" if wish.rest.startswith("//") else wish.rest
    before = len(wrong.found)
    block = read_block(given, HttpBlock, wrong)
    if len(wrong.found) == before or block.url:
        for name, message in _problems(block):
            wrong.add(name, message)
    check_seconds("turn_seconds", block.turn_seconds, wrong)
    return block


def _problems(block: HttpBlock) -> Iterator[tuple[str, str]]:
    yield from _address_problems("url", block.url)
    yield from _method_problems("method", block.method)
    if block.session.open is not None:
        yield from _address_problems("session.open.url", block.session.open.url)
        yield from _method_problems("session.open.method", block.session.open.method)
    if block.session.close is not None:
        yield from _address_problems("session.close.url", block.session.close.url)
        yield from _method_problems("session.close.method", block.session.close.method)
    if block.health and "://" in block.health:
        yield from _address_problems("health", block.health)
    yield from _stream_problems(block)
    for name, least, number in (
        ("max_connections", 1, block.max_connections if block.max_connections is not None else 1),
        ("connect_tries", 1, block.connect_tries),
        ("retries", 0, block.retries),
    ):
        if number < least:
            yield name, f"expected {least} or more, found {number}"


def _stream_problems(block: HttpBlock) -> Iterator[tuple[str, str]]:
    if block.stream is Stream.NONE and block.delta:
        yield "delta", "is for streams; set `stream: sse` or `stream: ndjson`"
    if block.stream is not Stream.NONE and not (block.delta or block.answer or block.messages):
        yield (
            "stream",
            "a stream needs `delta` (pieces of the answer), `answer` or `messages`: the path inside an event",
        )


def _method_problems(name: str, method: str) -> Iterator[tuple[str, str]]:
    if method.upper() not in METHODS:
        yield name, f"expected one of {', '.join(METHODS)}, found {method!r}"


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
