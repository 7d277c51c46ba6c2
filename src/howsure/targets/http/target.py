"""The HTTP target: any bot behind an address, described by one block in howsure.yaml. No code is needed."""

from __future__ import annotations

import asyncio
import time
from importlib import import_module
from socket import SOCK_STREAM
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec.structs import replace

from howsure.errors import TargetFailed
from howsure.llm.retry import retry
from howsure.llm.transport import AddressGuard, AddressRefused
from howsure.model.case import Case
from howsure.targets.answer_parts import describe_value
from howsure.targets.base import Closing, Reply, TargetRequest
from howsure.targets.conversations import ConversationState
from howsure.targets.http.plan import HttpPlan, HttpSettings, RequestPlan, plan_http_target
from howsure.targets.http.replies import BotResponse, ResponseReader, TargetUnreachable
from howsure.targets.http.templates import CANDIDATE, PARTS, PLACEHOLDERS

if TYPE_CHECKING:
    from howsure.targets.http.client import HttpClient

CLOSE_SECONDS = 10.0
CHECK_SECONDS = 5.0
PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 10.0
BUSY = (429, 502, 503, 504)
"""Statuses with which a busy server asks for another attempt."""


class HttpKind:
    """`kind: http` in howsure.yaml, or `--target http:URL`."""

    name = "http"
    settings = HttpSettings
    keeps_time = True

    def make(self, request: TargetRequest) -> HttpTarget:
        return HttpTarget(plan_http_target(request), request)


class HttpTarget:
    """A bot behind an address. `start` opens the pool of connections that all conversations share."""

    def __init__(self, plan: HttpPlan, request: TargetRequest) -> None:
        self.name = request.name
        self.takes_candidate = CANDIDATE in plan.placed
        self._plan = plan
        self._request = request
        self._reader = ResponseReader(plan)
        self._client: HttpClient | None = None

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
        conversation = ConversationState(case, self._request, self._plan.placed.intersection(PARTS))
        session = HttpSession(self._plan, self._client, self._reader, conversation)
        await session.open()
        return session

    async def check(self) -> str:
        """Ask the health address, or open a connection where there is none."""
        if self._plan.health is None:
            return await _check_connection(self._plan.call, self._request.guard)
        client = self._new_client()
        started = time.perf_counter()
        try:
            response = await client.send(self._plan.health.request({}), CHECK_SECONDS)
        finally:
            await client.close()
        self._reader.check(response)
        return self._plan.secrets.clean(f"{response.summary} in {_milliseconds(started)}")

    def _new_client(self) -> HttpClient:
        # aiohttp takes a quarter of a second to import.
        module = import_module("howsure.targets.http.client")
        client: HttpClient = module.HttpClient(self._request.environ, self._plan, self._request.guard)
        return client


class HttpSession:
    """One conversation: an id and cookies of its own."""

    def __init__(
        self, plan: HttpPlan, client: HttpClient, reader: ResponseReader, conversation: ConversationState
    ) -> None:
        self._plan = plan
        self._seconds = plan.settings.turn_seconds
        self._client = client
        self._reader = reader
        self._conversation = conversation
        self._cookies = client.cookies()

    async def open(self) -> None:
        if self._plan.opening is None:
            return
        response = await self._call(self._plan.opening, self._seconds)
        self._reader.check(response)
        if self._plan.opening_id is not None:
            session_id = self._reader.find(response, self._plan.opening_id)
            if isinstance(session_id, bool) or not isinstance(session_id, str | int) or session_id == "":
                raise self._bad_response(
                    response, f"its session id is none: expected text, found {describe_value(session_id)}"
                )
            self._conversation.session_id = str(session_id)

    async def send(self, text: str) -> Reply:
        values = self._conversation.next_turn(text)
        request = self._plan.call.request(values)
        # A message sent twice is two messages: retries are off unless the settings allow them.
        retries = self._plan.settings.retries
        pauses = [min(PAUSE_SECONDS * 2**number, LONGEST_PAUSE_SECONDS) for number in range(retries)]
        response = await retry(
            lambda: self._client.send(request, self._seconds, self._cookies),
            pauses,
            TargetUnreachable,
            lambda response: response.status in BUSY,
        )
        answer = self._reader.read_answer(response)
        reply = self._conversation.record_turn(values["message"], answer)
        if reply.sent is not None and self._plan.settings.body is not None and request.body is not None:
            body = self._plan.secrets.clean_bytes(request.body).decode("utf-8", "replace")
            reply = replace(reply, sent=replace(reply.sent, body=body))
        return replace(reply, duration_ms=response.seconds * 1000)

    async def close(self) -> Closing:
        if self._plan.ending is not None:
            response = await self._call(self._plan.ending, min(self._seconds, CLOSE_SECONDS))
            self._reader.check(response)
            if self._plan.ending_state is not None:
                state = self._reader.find(response, self._plan.ending_state)
                if state is not None and not isinstance(state, dict):
                    raise self._bad_response(
                        response, f"its state is none: expected an object, found {describe_value(state)}"
                    )
                self._conversation.update_state(state)
        return self._conversation.closing()

    def _bad_response(self, response: BotResponse, why: str) -> TargetFailed:
        return TargetFailed(self._plan.secrets.clean(f"{response.summary}, and {why}"))

    async def _call(self, plan: RequestPlan, seconds: float) -> BotResponse:
        """Open or close the session."""
        return await self._client.send(plan.request(self._conversation.values()), seconds, self._cookies)


async def _check_connection(plan: RequestPlan, guard: AddressGuard | None) -> str:
    parts = urlsplit(plan.url.address(dict.fromkeys(PLACEHOLDERS, "")))
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    started = time.perf_counter()
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            place = host
            if guard is not None:
                results = await asyncio.get_running_loop().getaddrinfo(host, port, type=SOCK_STREAM)
                allowed = [str(address[0]) for *_, address in results if guard(host, str(address[0]), port)]
                if not allowed:
                    raise TargetFailed(f"{host}:{port}: {AddressRefused().strerror}")
                place = allowed[0]
            _, writer = await asyncio.open_connection(place, port)
    except TimeoutError:
        raise TargetUnreachable(f"cannot reach {host}:{port}: no connection in {CHECK_SECONDS:g} s") from None
    except OSError as error:
        why = "connection refused" if isinstance(error, ConnectionRefusedError) else str(error)
        raise TargetUnreachable(f"cannot reach {host}:{port}: {why}; is the bot running there?") from None
    writer.close()
    await writer.wait_closed()
    return f"{host}:{port} accepts connections (in {_milliseconds(started)})"


def _milliseconds(started: float) -> str:
    return f"{(time.perf_counter() - started) * 1000:.0f} ms"
