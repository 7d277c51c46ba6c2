"""The `adk` target: an agent behind an API server of the Agent Development Kit. Its HTTP client is in `client`, loaded
when a run really starts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit
from uuid import uuid4

from msgspec import Struct, field
from msgspec.structs import replace

from howsure.errors import ConfigInvalid, TargetFailed
from howsure.model.case import Case
from howsure.targets.adk.conversation import AdkDialogue, Parts
from howsure.targets.adk.events import (
    Event,
    earlier_events,
    lasting_state,
    read_state,
    temporary_state,
    without_others,
)
from howsure.targets.adk.spans import read_spans, with_declared
from howsure.targets.base import Closing, Reply, TargetRequest
from howsure.targets.conversations import PromptedSession, text_prompt
from howsure.targets.settings import Headers, SettingProblems, check_seconds, filled_headers, read_block
from howsure.traces.values import pick_value

if TYPE_CHECKING:
    from howsure.targets.adk.client import AdkClient

EXPECTED = "expected adk:http://127.0.0.1:8000/APP_NAME"
TRACES = ("/dev/apps/{app}/debug/trace/session/{session}", "/debug/trace/session/{session}")
"""Where servers keep the spans of a session, newer versions first; one that serves no developer has none of them."""


class AdkSettings(Struct, frozen=True, kw_only=True):
    """The block of an agent behind an ADK API server."""

    url: str = ""
    """The address of the server; needed."""
    app_name: str = ""
    """The app on it; needed."""
    user_id: str = ""
    """The user of all conversations; without it each has one of its own."""
    headers: dict[str, str] = field(default_factory=dict)
    """By name; values may hold `${NAME}` of the environment."""
    stream: bool = False
    """Ask for the answer in pieces."""
    turn_seconds: float = 120.0
    """The longest a turn may take."""
    trace: bool = True
    """Fetch the spans that the server keeps of a session."""


class AdkKind:
    """`--target adk:URL/APP_NAME`, or a block with `kind: adk`."""

    name = "adk"
    settings = AdkSettings

    def make(self, request: TargetRequest) -> AdkTarget:
        problems = SettingProblems(request)
        settings = read_block({**request.settings, **_split_address(request.rest)}, AdkSettings, problems)
        if not settings.url:
            problems.add("url", "missing; expected the address of the server, such as http://127.0.0.1:8000")
        elif urlsplit(settings.url).scheme not in ("http", "https") or not urlsplit(settings.url).hostname:
            problems.add("url", f"expected an address such as http://127.0.0.1:8000, found {settings.url!r}")
        elif urlsplit(settings.url).username or urlsplit(settings.url).query:
            problems.add("url", "may hold no password and no `?`; send secrets in `headers`, by the name of a variable")
        if not settings.app_name:
            problems.add(
                "app_name", "missing; expected the name of the agent's folder, as the server's /list-apps gives it"
            )
        check_seconds("turn_seconds", settings.turn_seconds, problems)
        headers = filled_headers(settings.headers, request.environ, problems)
        problems.raise_if_any()
        return AdkTarget(request, settings, headers)


def _split_address(rest: str) -> dict[str, str]:
    """`http://host:8000/APP_NAME`: the last part of the path is the app."""
    if not rest:
        return {}
    url, _, app = rest.rstrip("/").rpartition("/")
    if not urlsplit(url).netloc:
        raise ConfigInvalid(f"--target adk:{rest}: {EXPECTED}")
    return {"url": url, "app_name": app}


class AdkTarget:
    """One client for the whole run; every case has a session of its own on the server."""

    def __init__(
        self,
        request: TargetRequest,
        settings: AdkSettings,
        headers: Headers,
        new_id: Callable[[], str] = lambda: f"howsure-{uuid4().hex}",
    ) -> None:
        self.name = request.name
        self._request = request
        self._settings = settings
        self._headers = headers
        self._new_id = new_id
        self._client: AdkClient | None = None
        self._info: Any = None

    async def start(self) -> None:
        self._open_client()

    async def stop(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def check(self) -> str:
        """Whether the server is there and has the app."""
        was_open = self._client is not None
        try:
            apps = await self._open_client().list_apps()
        finally:
            if not was_open:
                await self.stop()
        if apps is None:
            return f"the server at {self._settings.url} answers, but does not list its apps"
        if self._settings.app_name not in apps:
            raise TargetFailed(unknown_app_message(self._settings, apps))
        return f"the ADK server at {self._settings.url} has the app {self._settings.app_name!r} ({len(apps)} in all)"

    async def open(self, case: Case) -> PromptedSession:
        client = self._open_client()
        new_id = self._new_id()
        user = self._settings.user_id or new_id
        prompt, info = text_prompt(case, self._request), await self._app_info(client)
        agent = str(pick_value(info, "root_agent_name", "rootAgentName") or self._settings.app_name)
        events = earlier_events(prompt.earlier, agent) if prompt.earlier else []
        started = replace(case, state=self._request.initial_state(case))
        session = await client.create_session(user, new_id, lasting_state(started.state), events)
        return PromptedSession(AdkServerSession(client, self._settings, (user, session), started, info), prompt)

    async def _app_info(self, client: AdkClient) -> Any:
        """The app's agents with their instructions and tools, asked for once; {}: the server does not tell."""
        if self._info is None:
            self._info = {}
            with suppress(TargetFailed):
                self._info = await client.get(f"/apps/{quote(self._settings.app_name, safe='')}/app-info") or {}
        return self._info

    def _open_client(self) -> AdkClient:
        if self._client is None:
            # The HTTP client takes a quarter of a second to import: only runs that talk to a server pay for it.
            module = import_module("howsure.targets.adk.client")
            self._client = module.AdkClient(self._settings, self._headers, self._request.environ, self._request.guard)
        return self._client


def unknown_app_message(settings: AdkSettings, apps: list[str]) -> str:
    """That the app was not found, and what to write instead."""
    close = get_close_matches(settings.app_name, apps, n=1, cutoff=0.4)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return (
        f"no app {settings.app_name!r} on the ADK server at {settings.url}; {hint}"
        f"it has: {', '.join(sorted(apps)) or 'none'} (app_name is the name of the agent's folder)"
    )


class AdkServerSession:
    """One conversation: a session on the server."""

    def __init__(self, client: AdkClient, settings: AdkSettings, place: tuple[str, str], case: Case, info: Any) -> None:
        self._client = client
        self._settings = settings
        self._user, self._session = place
        self._info = info
        self._state = case.state
        self._conversation = AdkDialogue(case, self._run, self._session)

    async def _run(self, parts: Parts) -> list[Event]:
        return await self._client.run_turn(self._user, self._session, parts, temporary_state(self._state))

    async def send(self, text: str) -> Reply:
        return await self._conversation.send(text)

    async def close(self) -> Closing:
        """The final state and the spans: the server's own, where it has them. The session stays: it can be looked at
        there."""
        parts = (self._settings.app_name, self._user, self._session)
        app, user, session = (quote(part, safe="") for part in parts)
        stored = await self._client.get(f"/apps/{app}/users/{user}/sessions/{session}")
        recorded = None
        # A trace is an extra: a server that cannot give it has still answered.
        with suppress(TargetFailed):
            for path in TRACES if self._settings.trace else ():
                recorded = recorded or await self._client.get(path.format(app=app, session=session))
        events = pick_value(stored, "events")
        kept = [event for event in events if isinstance(event, dict)] if isinstance(events, list) else []
        spans = with_declared(self._conversation.spans(read_spans(recorded), kept), self._info)
        state = read_state(stored)
        if state is not None:
            state = without_others(state, self._conversation.own_state(self._state))
        return Closing(state=state, spans=spans, artifacts=self._conversation.artifacts())
