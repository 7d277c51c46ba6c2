"""The HTTP client of the `adk` target: one connection pool for a whole run. Imports aiohttp: load it when needed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from aiohttp import ClientConnectorError, ClientError
from msgspec import Struct

from howsure.errors import TargetFailed, TargetTimedOut
from howsure.llm.http import BodyTooLarge, HttpPool
from howsure.llm.transport import AddressGuard, AddressRefused, HttpRequest
from howsure.targets.adk.events import Event
from howsure.targets.adk.target import AdkSettings, unknown_app_message
from howsure.targets.settings import Headers, Secrets

KEEP_ALIVE_SECONDS = 2.0
"""Shorter than the five seconds after which the server closes idle connections: a turn that is sent into one that is
closing breaks, and cannot be sent again."""
LARGEST = 256 * 1024 * 1024
"""The largest body that is read, in bytes: a trace holds every prompt."""
QUOTED = 500
"""How many characters of an error's body are shown."""


class AdkResponse(Struct, frozen=True):
    """A response of the server, its body as text."""

    status: int
    text: str

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


class AdkClient:
    """The requests that the target needs, with their errors in words. The engine bounds the requests in flight; the
    pool does not."""

    def __init__(
        self, settings: AdkSettings, headers: Headers, environ: Mapping[str, str], guard: AddressGuard | None = None
    ) -> None:
        self._settings = settings
        self._base = settings.url.rstrip("/")
        self._headers = headers.filled
        self._secrets = Secrets(headers.secrets)
        self._pool = HttpPool(environ, KEEP_ALIVE_SECONDS, guard)

    async def close(self) -> None:
        await self._pool.close()

    async def list_apps(self) -> list[str] | None:
        """The apps that the server offers; None: it does not tell."""
        response = await self._send("GET", "/list-apps")
        apps = self._decode(response) if response.is_success else None
        return [str(app) for app in apps] if isinstance(apps, list) else None

    async def create_session(self, user: str, session: str, state: dict[str, Any], events: list[dict[str, Any]]) -> str:
        """Make a session with this state and the events of an earlier conversation. Returns its id, which the server
        may choose."""
        path = f"/apps/{quote(self._settings.app_name, safe='')}/users/{quote(user, safe='')}/sessions"
        body: dict[str, Any] = {"session_id": session, "state": state}
        response = await self._send("POST", path, body | ({"events": events} if events else {}))
        if response.status in (404, 405, 422) and not events:
            # Servers of some versions know only the address that ends in the id, with the state as its body.
            second = await self._send("POST", f"{path}/{quote(session, safe='')}", state)
            response = second if second.is_success else response
        if response.status == 409 or "already exists" in response.text[:QUOTED]:
            raise TargetFailed(f"session {session!r} exists already on {self._base}; the server keeps it from before")
        if not response.is_success:
            raise await self._failure("no session could be made", response)
        created = self._decode(response)
        return str(created.get("id") or session) if isinstance(created, dict) else session

    async def run_turn(
        self, user: str, session: str, parts: list[dict[str, Any]], state: Mapping[str, Any]
    ) -> list[Event]:
        """The events of one turn, with the state of that turn alone."""
        body: dict[str, Any] = {
            "app_name": self._settings.app_name,
            "user_id": user,
            "session_id": session,
            "new_message": {"role": "user", "parts": parts},
            "streaming": self._settings.stream,
            **({"state_delta": dict(state)} if state else {}),
        }
        response = await self._send("POST", "/run_sse" if self._settings.stream else "/run", body)
        if not response.is_success:
            raise await self._failure("the turn failed", response)
        events = self._read_stream(response) if self._settings.stream else self._decode(response)
        if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
            raise TargetFailed(f"{self._base}: expected a list of events, found {self._quote(response.text)}")
        return events

    async def get(self, path: str) -> Any:
        """The JSON at this address; None: there is nothing."""
        response = await self._send("GET", path)
        if response.status in (404, 405):
            return None
        if not response.is_success:
            raise TargetFailed(f"HTTP {response.status} from {self._base}{path}: {self._quote(response.text)}")
        return self._decode(response)

    async def _send(self, method: str, path: str, body: Any = None) -> AdkResponse:
        sent = None if body is None else json.dumps(body).encode()
        headers = self._headers if sent is None else {"Content-Type": "application/json", **self._headers}
        request = HttpRequest(method=method, url=self._base + path, headers=headers, body=sent, largest=LARGEST)
        try:
            response = await self._pool.send(request, self._settings.turn_seconds)
            cleaned = self._secrets.clean_bytes(response.body)
            return AdkResponse(response.status, cleaned.decode("utf-8", "replace"))
        except BodyTooLarge as error:
            failure = TargetFailed(f"{self._base} sent {error}")
        except TimeoutError:
            failure = TargetTimedOut(f"{self._base}: no answer in {self._settings.turn_seconds:g} s")
        except ClientConnectorError as error:
            if isinstance(error.os_error, AddressRefused):
                failure = TargetFailed(f"{self._base}: {error.os_error.strerror}")
            else:
                reason = self._secrets.clean(str(error))
                failure = TargetFailed(
                    f"cannot reach {self._base}: {reason}; is the server running (`adk api_server`)?"
                )
        except (ClientError, OSError) as error:
            detail = self._secrets.clean(f"{type(error).__name__}: {error}")
            failure = TargetFailed(f"the connection to {self._base} broke: {detail}")
        # Raised out here, so that aiohttp's errors, which hold the request's headers, are not in its context.
        raise failure

    async def _failure(self, what: str, response: AdkResponse) -> TargetFailed:
        """Servers report a wrong app name in many ways, so the list of apps is read."""
        apps = await self.list_apps()
        if apps is not None and self._settings.app_name not in apps:
            return TargetFailed(unknown_app_message(self._settings, apps))
        return TargetFailed(f"{what}: HTTP {response.status} from {self._base}: {self._quote(response.text)}")

    def _decode(self, response: AdkResponse) -> Any:
        try:
            return json.loads(response.text)
        except (ValueError, RecursionError):
            raise TargetFailed(f"{self._base}: expected JSON, found {self._quote(response.text)}") from None

    def _read_stream(self, response: AdkResponse) -> list[Any]:
        """The events of a stream. A `data:` line is an event; lines of one event are joined."""
        events = []
        for block in response.text.replace("\r\n", "\n").split("\n\n"):
            lines = [line[5:].removeprefix(" ") for line in block.split("\n") if line.startswith("data:")]
            if lines:
                events.append(self._decode(AdkResponse(response.status, "\n".join(lines))))
        if not events and response.text.strip():
            raise TargetFailed(f"{self._base}: expected a stream of events, found {self._quote(response.text)}")
        return events

    def _quote(self, text: str) -> str:
        return self._secrets.clean(text.strip())[:QUOTED] or "an empty body"
