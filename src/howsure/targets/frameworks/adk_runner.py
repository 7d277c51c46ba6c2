"""`adk-agent:module:root_agent`: an agent of the Agent Development Kit in this process, on its in-memory runner. Its
spans are collected as ADK reports them to OpenTelemetry."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping, Sequence
from contextvars import ContextVar
from copy import copy
from pathlib import Path
from typing import Any
from uuid import uuid4
from weakref import WeakSet

from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import TargetFailed
from howsure.model.case import Case
from howsure.model.transcript import Message, Span
from howsure.targets.adk.conversation import AdkDialogue, Parts
from howsure.targets.adk.events import Event, earlier_events, lasting_state, read_state, temporary_state
from howsure.targets.adk.spans import tool_definitions
from howsure.targets.base import Closing, Reply, TargetRequest
from howsure.targets.frameworks.in_process import Framework, InProcessSettings, InProcessTarget
from howsure.targets.turns import plain_value, run_limited
from howsure.traces.declared import DEFINITIONS, INSTRUCTIONS

ADK = Framework(
    "adk-agent", "google.adk.runners", "google-adk", "adk", ("run_async", "root_agent"), "an ADK agent or App"
)
APP = "howsure"
LOGGER = logging.getLogger("google_adk")
TOOL_THREADS = 256
"""The most tools that may run at once, each in a thread of its own: one that blocks holds up its own case alone."""
SERVICES = ("session_service", "artifact_service", "memory_service")
"""The services of a runner: sessions with their state, files, and memory."""


class AdkAgentSettings(InProcessSettings, frozen=True, kw_only=True):
    """The block of an ADK agent that runs in this process."""

    log: bool = False
    """Show what ADK logs, such as the traceback of an agent that raises."""


class AdkAgentKind:
    """`--target adk-agent:module:root_agent`: an agent, or an App around one."""

    name = ADK.kind
    settings = AdkAgentSettings

    def make(self, request: TargetRequest) -> AdkAgentTarget:
        load_environment(request.folder, str(request.rest or request.settings.get("object") or ""))
        settings, _, agent = ADK.load_agent(request, AdkAgentSettings)
        return adk_target(request, settings, agent)


def is_adk_agent(value: Any) -> bool:
    """Whether it is an agent or an App of ADK; ADK is not loaded to see that."""
    own = any(kind.__module__.startswith("google.adk.") for kind in type(value).__mro__)
    return own and any(hasattr(value, mark) for mark in ADK.marks)


def adk_target(request: TargetRequest, settings: AdkAgentSettings, agent: Any) -> AdkAgentTarget:
    """The target of an agent, or of an App around one."""
    if not settings.log and not LOGGER.handlers:
        LOGGER.addHandler(logging.NullHandler())  # else Python prints what nobody handles
    is_app = hasattr(agent, "root_agent") and hasattr(agent, "plugins")
    wrapped = {"app": agent} if is_app else {"agent": agent, "app_name": APP}
    runner = ADK.load().InMemoryRunner(**wrapped)
    # A plugin sees the requests of every agent, of those behind an AgentTool too; the last one sees what others change.
    plugin = ADK.load("google.adk.plugins.base_plugin").BasePlugin(name=APP)
    plugin.before_model_callback = note_declarations
    plugin.on_event_callback = note_event
    runner.plugin_manager.register_plugin(plugin)
    return AdkAgentTarget(request, settings, runner, ADK.load("google.adk.events").Event)


def load_environment(project: Path, place: str) -> None:
    """Set the variables of the `.env` beside the agent's file, or of the nearest folder around it in the project. What
    the environment has already wins, as with `adk run`."""
    path, _, _ = place.rpartition(":")
    if path.endswith(".py"):
        folder, project = (project / path).resolve().parent, project.resolve()
        around = [folder, *(one for one in folder.parents if one.is_relative_to(project))]
        if file := next((found for one in around if (found := one / ".env").is_file()), None):
            ADK.load("dotenv").load_dotenv(file, override=False)


class AdkAgentTarget(InProcessTarget[AdkAgentSettings]):
    """The runner of an agent, one for the whole run, with what agents keep open (MCP connections); and ADK's Event.
    Every conversation has services of its own, so that no state, file or memory of one case is seen by another."""

    framework = ADK

    async def start(self) -> None:
        """Nothing to open: the runner opens what it needs."""

    async def stop(self) -> None:
        await self.agent.close()

    async def open_session(self, case: Case, earlier: Sequence[Message]) -> AdkAgentSession:
        runner, user = copy(self.agent), f"howsure-{uuid4().hex}"
        for name in SERVICES:
            if (service := getattr(runner, name, None)) is not None:
                setattr(runner, name, type(service)())
        case = replace(case, state=self.request.initial_state(case))
        session = await runner.session_service.create_session(
            app_name=runner.app_name, user_id=user, state=lasting_state(case.state)
        )
        for event in earlier_events(earlier, runner.agent.name):
            await runner.session_service.append_event(session, self.library(**event))
        place = {"user_id": user, "session_id": session.id}
        return AdkAgentSession(runner, place, self.settings.turn_seconds, case)


class AdkAgentSession:
    """One conversation: a session of the runner."""

    def __init__(self, runner: Any, place: Mapping[str, str], seconds: float, case: Case) -> None:
        self._runner = runner
        self._place = place
        self._seconds = seconds
        self._temporary = temporary_state(case.state)
        self._collected = CollectedTrace()
        self._conversation = AdkDialogue(case, self._run, place["session_id"])

    async def send(self, text: str) -> Reply:
        collect_spans()
        if (loop := asyncio.get_running_loop()).get_task_factory() is None:
            loop.set_task_factory(contained_task)
        collecting = COLLECTED.set(self._collected)
        try:
            return await run_limited(self._conversation.send(text), self._seconds)
        finally:
            COLLECTED.reset(collecting)

    async def _run(self, parts: Parts) -> list[Event]:
        message = ADK.load("google.genai.types").Content.model_validate({"role": "user", "parts": parts})
        options = {"state_delta": self._temporary} if self._temporary else {}
        running = self._runner.run_async(**self._place, new_message=message, run_config=threaded(), **options)
        return [event.model_dump(mode="json", exclude_none=True) async for event in running]

    async def close(self) -> Closing:
        session = await self._runner.session_service.get_session(app_name=self._runner.app_name, **self._place)
        state = None if session is None else read_state({"state": dict(session.state)})
        stored = (
            []
            if session is None
            else [
                event.model_dump(mode="json", exclude_none=True, include={"author", "invocation_id", "timestamp"})
                for event in session.events
            ]
        )
        declared = declared_attributes(self._collected.configs)
        recorded = [span for each in self._collected.spans if (span := _plain_span(each, declared))]
        spans = self._conversation.spans(recorded, stored, self._inner_events())
        return Closing(state=state, spans=spans, artifacts=self._conversation.artifacts())

    def _inner_events(self) -> list[Event]:
        """The events of agents behind an AgentTool, whose sessions are their own."""
        told = self._conversation.invocations()
        inner = [event for event in self._collected.events if event.invocation_id not in told]
        return [event.model_dump(mode="json", exclude_none=True) for event in inner]


def contained_task(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> Any:
    """A task of ADK's own, in which an agent may want to end the program: its conversation ends, and not the loop."""
    return asyncio.Task(_contain(work) if COLLECTED.get() is not None else work, loop=loop, **options)


async def _contain(work: Coroutine[Any, Any, Any]) -> Any:
    try:
        return await work
    except (SystemExit, KeyboardInterrupt) as error:
        raise TargetFailed(f"the agent tried to end the program ({type(error).__name__} {error})") from error


def threaded() -> Any:
    """The settings of a turn: tools that are plain functions run in threads. Older versions of ADK have no such
    setting."""
    config = ADK.load("google.adk.agents.run_config")
    pool = getattr(config, "ToolThreadPoolConfig", None)
    return (
        config.RunConfig() if pool is None else config.RunConfig(tool_thread_pool_config=pool(max_workers=TOOL_THREADS))
    )


class CollectedTrace(Struct, frozen=True):
    """What a conversation leaves: spans, the settings of every call of a model, with the id of the span around, and the
    events of every agent."""

    spans: list[Any] = []
    configs: list[tuple[int, Any]] = []
    events: list[Any] = []


COLLECTED: ContextVar[CollectedTrace | None] = ContextVar("howsure_spans", default=None)
"""Where the spans of the conversation that runs here are put; None: nobody collects them."""
WATCHED: WeakSet[Any] = WeakSet()
"""The providers of tracers that tell us of their spans."""


class SpanCollector:
    """OpenTelemetry's SpanProcessor: a span belongs to the conversation in whose context it begins."""

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        if (collected := COLLECTED.get()) is not None:
            collected.spans.append(span)

    def on_end(self, span: Any) -> None:
        """Read when the conversation is over."""

    _on_ending = on_end

    def shutdown(self) -> None:
        """Nothing is held open."""

    def force_flush(self, timeout_millis: int = 0) -> bool:
        return True


def collect_spans() -> None:
    """Subscribe to all spans: of the tracer provider that the program has set up, else of one of ours."""
    trace = ADK.load("opentelemetry.trace")
    provider = trace.get_tracer_provider()
    if not hasattr(provider, "add_span_processor"):
        provider = ADK.load("opentelemetry.sdk.trace").TracerProvider()
        trace.set_tracer_provider(provider)
    if provider not in WATCHED:
        WATCHED.add(provider)
        provider.add_span_processor(SpanCollector())


async def note_declarations(*, callback_context: Any, llm_request: Any) -> None:
    """ADK calls it before every call of a model. What the agent's own callbacks still change is seen, too: the settings
    are read when the conversation is over."""
    if (collected := COLLECTED.get()) is not None:
        around = ADK.load("opentelemetry.trace").get_current_span().get_span_context().span_id
        collected.configs.append((around, llm_request.config))


async def note_event(*, invocation_context: Any, event: Any) -> None:
    """ADK calls it for every event, of agents behind an AgentTool too: their events are in no answer of the runner."""
    if (collected := COLLECTED.get()) is not None:
        collected.events.append(event)


def declared_attributes(configs: Sequence[tuple[int, Any]]) -> dict[int, dict[str, Any]]:
    """The tools and the instructions that models were told of, each where it was told first, as attributes by the id of
    the span. ADK's own spans leave out instructions and the parameters of tools."""
    told: dict[int, dict[str, Any]] = {}
    seen: list[Any] = []
    for span_id, config in configs:
        settings = plain_value(config.model_dump(exclude_none=True, include={"tools", "system_instruction"}))
        attributes = told.setdefault(span_id, {DEFINITIONS: [], INSTRUCTIONS: []})
        found = [(DEFINITIONS, one) for tool in settings.get("tools") or () for one in tool_definitions(tool)]
        found += [(INSTRUCTIONS, {"content": text}) for text in _texts(settings.get("system_instruction"))]
        for key, one in found:
            if one not in seen:
                seen.append(one)
                attributes[key].append(one)
    return {id: {key: found for key, found in each.items() if found} for id, each in told.items()}


def _texts(content: Any) -> list[str]:
    """The texts of an instruction: a string, a content with parts, or a list of them."""
    if isinstance(content, Mapping):
        content = content.get("parts") or content.get("text")
    if isinstance(content, list | tuple):
        return [text for part in content for text in _texts(part)]
    return [content] if isinstance(content, str) and content else []


def _plain_span(span: Any, declared: Mapping[int, Mapping[str, Any]]) -> Span | None:
    """OpenTelemetry's span as ours, with what was declared in it; None for one that never ended, because its turn was
    given up."""
    if span.end_time is None:
        return None
    return Span(
        name=span.name,
        span_id=f"{span.context.span_id:016x}",
        trace_id=f"{span.context.trace_id:032x}",
        parent_id=f"{span.parent.span_id:016x}" if span.parent else "",
        start_ns=span.start_time,
        end_ns=span.end_time,
        attributes={**plain_value(dict(span.attributes or {})), **declared.get(span.context.span_id, {})},
    )
