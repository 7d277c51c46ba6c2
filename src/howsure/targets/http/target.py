"""The HTTP target: any bot behind an address, described by one block in howsure.yaml. No code is needed."""

from __future__ import annotations

import asyncio
import time
from importlib import import_module
from socket import SOCK_STREAM
from typing import Any
from urllib.parse import urlsplit

from msgspec.structs import replace

from howsure.errors import TargetFailed
from howsure.llm.address_guard import AddressGuard, AddressRefused
from howsure.model.case import Case
from howsure.targets.answer_parts import describe_value
from howsure.targets.base import Closing, Reply, TargetRequest
from howsure.targets.conversations import ConversationState
from howsure.targets.http.plan import HttpPlan, RequestPlan, plan_http_target
from howsure.targets.http.replies import ResponseReader
from howsure.targets.http.requests import BotResponse, Client, Cookies, HttpClientOptions, TargetUnreachable

CLOSE_SECONDS = 10.0
CHECK_SECONDS = 5.0
PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 10.0
BUSY = (429, 502, 503, 504)
"""Statuses that may be gone at the next attempt."""


class HttpKind:
    """`kind: http` in howsure.yaml, or `--target http:URL`."""

    name = "http"
    keeps_time = True

    def make(self, wish: TargetRequest) -> HttpTarget:
        return HttpTarget(plan_http_target(wish), wish)


class HttpTarget:
    """A bot behind an address. `start` opens the pool of connections that all conversations share."""

    def __init__(self, plan: HttpPlan, wish: TargetRequest) -> None:
        self.name = wish.name
        self._plan = plan
        self._wish = wish
        self._reader = ResponseReader(plan)
        self._client: Client | None = None

    async def start(self) -> None:
        if self._client is None:
            self._client = self._new_client()

    async def stop(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def open(self, case: Case) -> HttpSession:
        if self._client is None:
            raise TargetFailed(f"target {self.name!r} was not started")
        session = HttpSession(self._plan, self._client, self._reader, ConversationState(case, self._wish))
        await session.open()
        return session

    async def check(self) -> str:
        """Whether somebody is there: the health address, else a connection."""
        if self._plan.health is None:
            return await _connected(self._plan.call, self._wish.guard)
        client = self._new_client()
        begun = time.perf_counter()
        try:
            received = await client.send(self._plan.health.request({}), CHECK_SECONDS)
        finally:
            await client.close()
        self._reader.check(received)
        return self._plan.secrets.clean(f"{received.said} in {_milliseconds(begun)}")

    def _new_client(self) -> Client:
        # aiohttp takes a quarter of a second to import.
        module = import_module("howsure.targets.http.client")
        fittings = HttpClientOptions(
            max_connections=self._plan.max_connections,
            connect_tries=self._plan.connect_tries,
            clean=self._plan.secrets.clean,
            guard=self._wish.guard,
        )
        client: Client = module.HttpClient(self._wish.environ, fittings)
        return client


class HttpSession:
    """One conversation: an id and cookies of its own."""

    def __init__(self, plan: HttpPlan, client: Client, reader: ResponseReader, conversation: ConversationState) -> None:
        self._plan = plan
        self._client = client
        self._reader = reader
        self._conversation = conversation
        self._cookies: Cookies = client.cookies()

    async def open(self) -> None:
        if self._plan.opening is None:
            return
        received = await self._call(self._plan.opening, "", self._plan.turn_seconds)
        self._reader.check(received)
        if self._plan.opening_id is not None:
            given = self._reader.find(received, self._plan.opening_id)
            if isinstance(given, bool) or not isinstance(given, str | int) or given == "":
                raise self._refused(received, f"its session id is none: expected text, found {describe_value(given)}")
            self._conversation.session_id = str(given)

    async def send(self, text: str) -> Reply:
        self._conversation.turn += 1
        received = await (self._patiently(text) if self._plan.retries else self._asked(text))
        answer = self._reader.answered(received)
        self._conversation.heard(text, answer)
        return replace(answer.reply, duration_ms=received.seconds * 1000)

    async def close(self) -> Closing:
        if self._plan.ending is not None:
            received = await self._call(self._plan.ending, "", min(self._plan.turn_seconds, CLOSE_SECONDS))
            self._reader.check(received)
            if self._plan.ending_state is not None:
                state = self._reader.find(received, self._plan.ending_state)
                if state is not None and not isinstance(state, dict):
                    raise self._refused(
                        received, f"its state is none: expected an object, found {describe_value(state)}"
                    )
                self._conversation.learn(state)
        return self._conversation.closing()

    def _refused(self, received: BotResponse, why: str) -> TargetFailed:
        return TargetFailed(self._plan.secrets.clean(f"{received.said}, and {why}"))

    async def _call(self, plan: RequestPlan, text: str, seconds: float) -> BotResponse:
        request = plan.request(self._conversation.values(text))
        return await self._client.send(request, seconds, self._cookies)

    async def _asked(self, text: str) -> BotResponse:
        return await self._call(self._plan.call, text, self._plan.turn_seconds)

    async def _patiently(self, text: str) -> BotResponse:
        """Again, as often as the settings allow (not at all, unless they say so: a message sent twice is two)."""
        for attempt in range(self._plan.retries):
            try:
                received = await self._asked(text)
            except TargetUnreachable:
                pass
            else:
                if received.status not in BUSY:
                    return received
            await asyncio.sleep(min(PAUSE_SECONDS * 2**attempt, LONGEST_PAUSE_SECONDS))
        return await self._asked(text)


async def _connected(plan: RequestPlan, guard: AddressGuard | None) -> str:
    values: dict[str, Any] = dict.fromkeys(("message", "session_id", "case_id", "candidate", "context"), "")
    values |= {"turn": 1, "history": [], "messages": [], "state": {}}
    parts = urlsplit(plan.url.address(values))
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    begun = time.perf_counter()
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            place = host if guard is None else await _admitted(guard, host, port)
            _, writer = await asyncio.open_connection(place, port)
    except TimeoutError:
        raise TargetUnreachable(f"cannot reach {host}:{port}: no connection in {CHECK_SECONDS:g} s") from None
    except OSError as error:
        why = "connection refused" if isinstance(error, ConnectionRefusedError) else str(error)
        raise TargetUnreachable(f"cannot reach {host}:{port}: {why}; is the bot running there?") from None
    writer.close()
    await writer.wait_closed()
    return f"{host}:{port} accepts connections (in {_milliseconds(begun)})"


async def _admitted(guard: AddressGuard, host: str, port: int) -> str:
    """An address of the host that may be connected to."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=SOCK_STREAM)
    fine = [str(place[0]) for *_, place in found if guard(host, str(place[0]), port)]
    if not fine:
        raise TargetFailed(f"{host}:{port}: {AddressRefused().strerror}")
    return fine[0]


def _milliseconds(begun: float) -> str:
    return f"{(time.perf_counter() - begun) * 1000:.0f} ms"
