"""What is done with every request: the caller is identified, JSON is read strictly (no NaN, no half characters, no
endless nesting), a POST with an `Idempotency-Key` is done once, writes are logged. What such a POST creates has an id
made from the key, so that a crash between doing and answering makes no duplicate."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from uuid import NAMESPACE_URL, uuid4, uuid5

import msgspec
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from howsure.api.access import identify_caller
from howsure.api.bodies import RunOptionsBody
from howsure.api.counters import route_of
from howsure.api.errors import RequestRefusal
from howsure.model.document import DocumentKind
from howsure.model.run_request import RunRequest
from howsure.services.host.context import Host
from howsure.services.host.keys import Caller
from howsure.services.host.run_requests import document
from howsure.store.logs import AuditEntry, IdempotentAnswer

IDEMPOTENCY_HEADER = "Idempotency-Key"
REPLAYED_HEADER = "Idempotency-Replayed"
MAX_KEY_LENGTH = 200

Do = Callable[[Request], Coroutine[Any, Any, Response]]


def key_of(request: Request) -> str:
    """The key that a POST names; "" where it names none."""
    key = request.headers.get(IDEMPOTENCY_HEADER, "") if request.method == "POST" else ""
    if len(key) > MAX_KEY_LENGTH or not key.isprintable() or not key.isascii():
        raise RequestRefusal(
            422, "invalid", f"{IDEMPOTENCY_HEADER}: expected at most {MAX_KEY_LENGTH} printable ASCII characters"
        )
    return key


def new_id(request: Request) -> str:
    """The id of what this request creates."""
    key = key_of(request)
    return str(uuid5(NAMESPACE_URL, f"howsure:{_whose(request)}:{request.url.path}:{key}")) if key else str(uuid4())


def _whose(request: Request) -> str:
    """Keys are the caller's own: another caller, who may do less, is never given what this one was answered."""
    caller: Caller = request.state.caller
    return f"{caller.within.home}/{caller.id}"


def store_instead(request: Request, body: Any) -> None:
    """What a repeated request is answered, where the first answer holds something that is shown once."""
    request.state.kept = msgspec.json.encode(body)


async def answer_once(request: Request, do: Do) -> Response:
    """Answer a request, or give the answer that it got before. The caller is known by now."""
    key = key_of(request)
    if not key:
        return await do(request)
    host: Host = request.app.state.host
    request_hash = sha256(
        b"\n".join((request.method.encode(), str(request.url).encode(), await request.body()))
    ).hexdigest()
    before = await host.store.answers.begin(_whose(request), key, request_hash)
    if before is not None:
        headers = {**msgspec.json.decode(before.headers, type=dict[str, str]), REPLAYED_HEADER: "true"}
        return Response(before.body, before.status, headers)
    stored: IdempotentAnswer | None = None
    try:
        response = await do(request)
        if response.status_code < 400:
            headers = {name: value for name, value in response.headers.items() if name != "content-length"}
            stored = IdempotentAnswer(
                response.status_code, msgspec.json.encode(headers), getattr(request.state, "kept", bytes(response.body))
            )
    finally:
        await host.store.answers.end(_whose(request), key, stored)
    return response


MAX_DEPTH = 100
READING = ("GET", "HEAD", "OPTIONS")


class StrictRequest(Request):
    """A request whose JSON is read by msgspec."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = read_json(await self.body())
        return self._json


class StrictRoute(APIRoute):
    """A route whose caller is identified."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()

        async def strictly(plain: Request) -> Response:
            request = StrictRequest(plain.scope, plain.receive)
            request.state.caller = await identify_caller(request)
            _check_type(request)
            # Here, because the framework takes whatever goes wrong while a body comes for one that cannot be parsed.
            await request.body()
            response = await answer_once(request, answer)
            if request.method not in READING and REPLAYED_HEADER not in response.headers:
                await _note(request, response.status_code)
            return response

        return strictly


async def _note(request: Request, status: int) -> None:
    host: Host = request.app.state.host
    caller: Caller = request.state.caller
    entry = AuditEntry(
        id=str(uuid4()),
        organization_id=caller.within.home,
        at=datetime.now(UTC),
        actor=caller.name,
        action=f"{request.method} {route_of(request.scope)}",
        subject=request.url.path,
        status=status,
        request_id=getattr(request.state, "request_id", ""),
    )
    await host.store.audit.add(entry)


def read_json(body: bytes) -> Any:
    try:
        value = msgspec.json.decode(body)
    except RecursionError:
        raise RequestRefusal(422, "invalid", f"the body is nested too deeply: at most {MAX_DEPTH} levels") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise json.JSONDecodeError(str(error), "", 0) from None
    if too_deep(value):
        raise RequestRefusal(422, "invalid", f"the body is nested too deeply: at most {MAX_DEPTH} levels")
    return value


def too_deep(value: Any, most: int = MAX_DEPTH) -> bool:
    """Whether there are more levels than anyone needs. Level by level: recursion is what we guard against."""
    level = [value]
    for _ in range(most):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return True


def _check_type(request: Request) -> None:
    """A browser sends forms and plain text to any address without caller; JSON it does not."""
    if request.method in READING:
        return
    media_type = request.headers.get("content-type", "")
    has_body = request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers
    allowed = ("application/json", "application/x-ndjson", "application/octet-stream", "text/csv", "application/jsonl")
    if has_body and not media_type.lower().startswith(allowed):
        raise RequestRefusal(
            415, "unsupported_media_type", f"send JSON (content-type application/json), not {media_type or 'nothing'}"
        )


RENAMED = {"eval_model": "judge", "initial_payload": "state"}
"""Fields of a body that have another name in a run request."""


def run_request(
    body: RunOptionsBody, cases: tuple[str, ...], agent_id: str | None, criteria_from: str = ""
) -> RunRequest:
    """Every field of the body that a run request has; `cases` names the documents that hold the cases."""
    fields = {RENAMED.get(name, name): tuple(value) if isinstance(value, list) else value for name, value in body}
    known: dict[str, Any] = {
        name: value for name, value in fields.items() if name in RunRequest.__struct_fields__ and value is not None
    }
    config = document(DocumentKind.GRADERS, body.config_id)
    return RunRequest(
        **known,
        datasets=cases,
        criteria_from=criteria_from,
        rubric=document(DocumentKind.RUBRIC, body.rubric_id, body.rubric_version),
        agent=document(DocumentKind.AGENT, agent_id),
        graders=(config,) if config else None,
        filters={"id": tuple(body.item_ids)} if body.item_ids else {},
    )
