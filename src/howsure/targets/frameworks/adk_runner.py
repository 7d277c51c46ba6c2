"""`adk-agent:module:root_agent`: an agent of the Agent Development Kit in this process, on its in-memory runner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from howsure.model.case import Case
from howsure.targets.adk.events import Event, earlier_events, read_reply, read_state
from howsure.targets.base import Closing, Reply, TargetRequest
from howsure.targets.conversations import PromptedSession, text_prompt
from howsure.targets.frameworks.in_process import (
    Framework,
    InProcessSettings,
    InProcessTarget,
    load_agent,
    read_in_process_settings,
)
from howsure.targets.turns import plain_value, run_limited

ADK = Framework("adk-agent", "google.adk.runners", "google-adk", "adk")
APP = "howsure"


class AdkAgentKind:
    """`--target adk-agent:module:root_agent`: an agent, or an App around one."""

    name = ADK.kind
    settings = InProcessSettings

    def make(self, request: TargetRequest) -> AdkAgentTarget:
        settings = read_in_process_settings(request, InProcessSettings)
        runners, events = ADK.load(), ADK.load("google.adk.events")
        agent = load_agent(request, settings.object, ("run_async", "root_agent"), "an ADK agent or App")
        wrapped = {"app": agent} if hasattr(agent, "root_agent") and hasattr(agent, "plugins") else {"agent": agent}
        runner = runners.InMemoryRunner(**wrapped, **({} if "app" in wrapped else {"app_name": APP}))
        return AdkAgentTarget(request, settings, runner, events.Event)


class AdkAgentTarget(InProcessTarget[InProcessSettings]):
    """The runner of an agent, one for the whole run: sessions are its own, and so is what agents keep open (MCP
    connections); and ADK's Event."""

    framework = ADK

    async def start(self) -> None:
        """Nothing to open: the runner opens what it needs."""

    async def stop(self) -> None:
        await self.agent.close()

    async def open(self, case: Case) -> PromptedSession:
        # A user of their own for every conversation: what an agent remembers about a user stays in its case.
        user = f"howsure-{uuid4().hex}"
        runner, state = self.agent, self.request.initial_state(case)
        session = await runner.session_service.create_session(app_name=runner.app_name, user_id=user, state=state)
        prompt = text_prompt(case, self.request)
        for event in earlier_events(prompt.earlier, runner.agent.name):
            await runner.session_service.append_event(session, self.library(**event))
        place = {"user_id": user, "session_id": session.id}
        return PromptedSession(AdkAgentSession(runner, place, self.settings.turn_seconds), prompt)


class AdkAgentSession:
    """One conversation: a session of the runner."""

    def __init__(self, runner: Any, place: Mapping[str, str], seconds: float) -> None:
        self._runner = runner
        self._place = place
        self._seconds = seconds

    async def send(self, text: str) -> Reply:
        return read_reply(await run_limited(self._events(text), self._seconds))

    async def _events(self, text: str) -> list[Event]:
        content = ADK.load("google.genai.types").Content
        message = content.model_validate({"role": "user", "parts": [{"text": text}]})
        return [
            event.model_dump(mode="json", exclude_none=True)
            async for event in self._runner.run_async(**self._place, new_message=message)
        ]

    async def close(self) -> Closing:
        session = await self._runner.session_service.get_session(app_name=self._runner.app_name, **self._place)
        return Closing(state=None if session is None else plain_value(read_state({"state": dict(session.state)})))
