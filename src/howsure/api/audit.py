"""The audit log of requests, in one place for the API and the pages: every write, every export and every refusal is
written down before it is answered. Refusals come in floods: only some of an address are logged each minute, and the
next entry counts the others."""

from __future__ import annotations

import logging
from time import monotonic

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from howsure.api.counters import PREFIX, UNKNOWN, route_of
from howsure.api.errors import UNAVAILABLE, error_answer
from howsure.api.requests import READING, REPLAYED_HEADER
from howsure.errors import InputError
from howsure.services.host.keys import Caller
from howsure.store.store import Store

log = logging.getLogger("howsure.audit")

REFUSALS = (401, 403, 429)
REFUSALS_EACH_MINUTE = 20
ADDRESSES = 1000
"""How many addresses are counted separately."""
EXPORTS = frozenset(
    (
        f"{PREFIX}/export",
        f"{PREFIX}/audit",
        f"{PREFIX}/runs/{{run_id}}/results.ndjson",
        f"{PREFIX}/datasets/{{id}}/versions/{{version}}/content",
        "/library/{shelf}/{key}/export",
        "/label/{run_id}/labels.jsonl",
        "/runs/{run_id}/cases/{position}/raw",
        "/runs/{run_id}/cases/{position}/attachments/{number}",
    )
)
"""The routes that hand out whole documents, results or the log itself."""
AUDITED = "audited"
"""The key in a request's state that marks it as already logged, or as one that changes nothing."""


class AuditMiddleware:
    """Around the API and the pages, inside of what gives a request its id."""

    def __init__(self, app: ASGIApp, store: Store) -> None:
        self._app = app
        self._store = store
        self._refusals = RefusalCounts()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = False

        async def noting(message: Message) -> None:
            nonlocal refused
            if message["type"] == "http.response.start":
                try:
                    await self._note(scope, message)
                except InputError as error:
                    # Nothing is done that cannot be written down, as far as we can help it.
                    log.error("the audit log cannot be written: %s", error)
                    refused = True
                    await error_answer(503, UNAVAILABLE, headers={"Retry-After": "5"})(scope, receive, send)
            if not refused:
                await send(message)

        await self._app(scope, receive, noting if scope["type"] == "http" else send)

    async def _note(self, scope: Scope, message: Message) -> None:
        status, state = message["status"], scope.get("state", {})
        route = _route(scope)
        replayed = REPLAYED_HEADER in Headers(raw=message.get("headers", []))
        wrote = scope["method"] not in READING and not 400 <= status < 500 and not replayed
        exported = route in EXPORTS and status < 400
        if state.get(AUDITED) or not (wrote or exported or status in REFUSALS):
            return
        caller: Caller | None = state.get("caller")
        address = (scope.get("client") or ("",))[0]
        repeats = self._refusals.count(address) if status in REFUSALS else 1
        if not repeats:
            return
        await self._store.audit.record(
            f"{scope['method']} {route}",
            actor=caller.id or caller.name if caller else "",
            organization_id=caller.within.home if caller else "",
            subject=state.get("subject") or scope["path"],
            status=status,
            address=address,
            request_id=state.get("request_id", ""),
            repeats=repeats,
        )


def _route(scope: Scope) -> str:
    """The path with names in place of ids."""
    if (route := route_of(scope)) != UNKNOWN:
        return route
    path: str = scope["path"]
    for name, value in scope.get("path_params", {}).items():
        path = path.replace(f"/{value}", f"/{{{name}}}", 1)
    return path if scope.get("path_params") or "endpoint" in scope else UNKNOWN


class RefusalCounts:
    """How many refusals each address had in its last minute."""

    def __init__(self) -> None:
        self._begun: dict[str, float] = {}
        self._numbers: dict[str, int] = {}

    def count(self, address: str) -> int:
        """How many refusals the entry that is written now stands for; 0: no entry is written."""
        now = monotonic()
        unwritten = 0
        if now - self._begun.get(address, -60.0) >= 60.0:
            unwritten = max(0, self._numbers.pop(address, 0) - REFUSALS_EACH_MINUTE)
            self._begun.pop(address, None)
            if len(self._begun) >= ADDRESSES:
                self._numbers.pop(oldest := next(iter(self._begun)), None)
                del self._begun[oldest]
            self._begun[address] = now
        self._numbers[address] = self._numbers.get(address, 0) + 1
        return 1 + unwritten if self._numbers[address] <= REFUSALS_EACH_MINUTE else 0
