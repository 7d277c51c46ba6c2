"""The HTTP client of the `adk` target: one connection pool for a whole run. Imports aiohttp: load it when needed."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from aiohttp import ClientConnectorError, ClientError, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector
from msgspec import Struct

from howsure.errors import TargetFailed, TargetTimedOut
from howsure.llm.gate import gated
from howsure.llm.guard import Guard, Unlisted
from howsure.llm.specs import is_loopback
from howsure.targets.adk.events import Event
from howsure.targets.adk.target import AdkSettings, Begun, no_such_app
from howsure.targets.blocks import Headers
from howsure.targets.secrets import Secrets

CONNECT_SECONDS = 15.0
KEPT = 500
"""How many characters of an error's body are shown."""


class Answer(Struct, frozen=True):
    """What the server said."""

    status: int
    text: str

    @property
    def fine(self) -> bool:
        return 200 <= self.status < 300


class AdkClient:
    """The requests the target needs, their errors in words. The engine bounds what is in flight: the pool does not.

    Redirects are not followed: they would carry the headers to another host.
    """

    def __init__(self, settings: AdkSettings, headers: Headers, guard: Guard | None = None) -> None:
        self._settings = settings
        self._base = settings.url.rstrip("/")
        self._secrets = Secrets(headers.secrets)
        seconds = settings.turn_seconds
        self._http = ClientSession(
            connector=TCPConnector(limit=0, **gated(guard)),
            cookie_jar=DummyCookieJar(),
            headers=headers.filled,
            timeout=ClientTimeout(
                total=seconds, sock_connect=min(seconds, CONNECT_SECONDS), ceil_threshold=seconds + 1
            ),
            # A proxy would connect where the guard cannot see it.
            trust_env=guard is None and not is_loopback(settings.url),
        )

    async def close(self) -> None:
        await self._http.close()

    async def apps(self) -> list[str] | None:
        """The apps the server offers; None: it does not tell."""
        answer = await self._ask("GET", "/list-apps")
        listed = self._decoded(answer) if answer.fine else None
        return [str(app) for app in listed] if isinstance(listed, list) else None

    async def create(self, user: str, session: str, begun: Begun) -> str:
        """A new session that starts like this; its id is the server's to choose."""
        place = f"/apps/{quote(self._settings.app_name, safe='')}/users/{quote(user, safe='')}/sessions"
        body: dict[str, Any] = {"session_id": session, "state": begun.state}
        answer = await self._ask("POST", place, body | ({"events": begun.events} if begun.events else {}))
        if answer.status in (404, 405, 422) and not begun.events:
            # Servers of some versions know only the address that ends in the id, with the state as its body.
            second = await self._ask("POST", f"{place}/{quote(session, safe='')}", begun.state)
            answer = second if second.fine else answer
        if answer.status == 409 or "already exists" in answer.text[:KEPT]:
            raise TargetFailed(f"session {session!r} exists already on {self._base}; the server keeps it from before")
        if not answer.fine:
            raise await self._failure("no session could be made", answer)
        made = self._decoded(answer)
        return str(made.get("id") or session) if isinstance(made, dict) else session

    async def run(self, user: str, session: str, text: str) -> list[Event]:
        """The events of one turn."""
        asked = {
            "app_name": self._settings.app_name,
            "user_id": user,
            "session_id": session,
            "new_message": {"role": "user", "parts": [{"text": text}]},
            "streaming": self._settings.stream,
        }
        answer = await self._ask("POST", "/run_sse" if self._settings.stream else "/run", asked)
        if not answer.fine:
            raise await self._failure("the turn failed", answer)
        events = self._streamed(answer) if self._settings.stream else self._decoded(answer)
        if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
            raise TargetFailed(f"{self._base}: expected a list of events, found {self._shown(answer.text)}")
        return events

    async def found(self, path: str) -> Any:
        """What is at this address; None: nothing."""
        answer = await self._ask("GET", path)
        if answer.status in (404, 405):
            return None
        if not answer.fine:
            raise TargetFailed(f"HTTP {answer.status} from {self._base}{path}: {self._shown(answer.text)}")
        return self._decoded(answer)

    async def _ask(self, method: str, path: str, body: Any = None) -> Answer:
        try:
            async with self._http.request(method, self._base + path, json=body, allow_redirects=False) as response:
                body = self._secrets.clean_bytes(await response.read())
                return Answer(response.status, body.decode("utf-8", "replace"))
        except TimeoutError:
            failed: TargetFailed = TargetTimedOut(f"{self._base}: no answer in {self._settings.turn_seconds:g} s")
        except ClientConnectorError as error:
            failed = TargetFailed(self._unreached(error))
        except (ClientError, OSError) as error:
            said = self._secrets.clean(f"{type(error).__name__}: {error}")
            failed = TargetFailed(f"the connection to {self._base} broke: {said}")
        # Raised out here, so that aiohttp's errors, which hold the request's headers, are not in its context.
        raise failed

    def _unreached(self, error: ClientConnectorError) -> str:
        if isinstance(error.os_error, Unlisted):
            return f"{self._base}: {error.os_error.strerror}"
        said = self._secrets.clean(str(error))
        return f"cannot reach {self._base}: {said}; is the server running (`adk api_server`)?"

    async def _failure(self, what: str, answer: Answer) -> TargetFailed:
        """Servers blame a wrong app name in many ways, so the list of apps is asked."""
        apps = await self.apps()
        if apps is not None and self._settings.app_name not in apps:
            return TargetFailed(no_such_app(self._settings, apps))
        return TargetFailed(f"{what}: HTTP {answer.status} from {self._base}: {self._shown(answer.text)}")

    def _decoded(self, answer: Answer) -> Any:
        try:
            return json.loads(answer.text)
        except (ValueError, RecursionError):
            raise TargetFailed(f"{self._base}: expected JSON, found {self._shown(answer.text)}") from None

    def _streamed(self, answer: Answer) -> list[Any]:
        """The events of a stream. A `data:` line is an event; lines of one event are joined."""
        events = []
        for block in answer.text.replace("\r\n", "\n").split("\n\n"):
            lines = [line[5:].removeprefix(" ") for line in block.split("\n") if line.startswith("data:")]
            if lines:
                events.append(self._decoded(Answer(answer.status, "\n".join(lines))))
        if not events and answer.text.strip():
            raise TargetFailed(f"{self._base}: expected a stream of events, found {self._shown(answer.text)}")
        return events

    def _shown(self, text: str) -> str:
        cleaned = self._secrets.clean(text.strip())
        return cleaned[:KEPT] or "an empty body"
