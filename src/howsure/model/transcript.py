"""A Transcript: everything said and done in one conversation. The answer and the tool trace are separate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any

from msgspec import Struct, field

from howsure.model.flag import Flag
from howsure.model.simulation import Simulation


class Role(Enum):
    """Who speaks."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"


class Tool(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool of an agent."""

    name: str
    description: str = ""
    parameters: dict[str, Any] | None = None


class ToolResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of a tool call."""

    content: Any = None
    failed: bool = False


class ToolCall(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One call of a tool. `result` None: no response was seen."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    id: str = ""
    result: ToolResult | None = None


CODE_EXECUTION = "code_execution"
"""The tool name for code that a model wrote and its provider ran."""


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message. A message of the assistant may have tool calls, and names the agent if several take part."""

    role: Role
    content: str = ""
    agent: str = ""
    tool_calls: tuple[ToolCall, ...] = ()


class AgentStep(Struct, frozen=True, kw_only=True, tag="agent", tag_field="kind"):
    """An agent took over."""

    name: str


class ToolStep(Struct, frozen=True, kw_only=True, tag="tool", tag_field="kind"):
    """A tool was called."""

    name: str


Step = AgentStep | ToolStep


class Span(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One OpenTelemetry-style span; times in nanoseconds."""

    name: str
    span_id: str = ""
    trace_id: str = ""
    parent_id: str = ""
    start_ns: int | None = None
    end_ns: int | None = None
    attributes: dict[str, Any] = field(default_factory=dict)


class Usage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens and cost. None: unknown (never zero by default). Prompt tokens include the cached ones and those that
    tools brought; completion tokens exclude thinking."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    thinking_tokens: int | None = None
    tool_prompt_tokens: int | None = None
    cost_usd: float | None = None


class BrokenRecording(Struct, frozen=True, kw_only=True, tag="mishap", tag_field="kind", omit_defaults=True):
    """A recording of a conversation that broke. Nothing in it is judged; measures are taken of `transcript`, which is
    what was recorded until then. `failure_kind` is what an earlier run called it."""

    reason: str
    transcript: Transcript | None = None
    failure_kind: str = ""


class SentRequest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The first request to a live target, as it was sent: a system prompt, the earlier conversation, and the first
    message with everything around the user's words. Later turns were sent as the transcript has them.

    `model` and `settings` (temperature, seed, max_tokens …) are those of a chat target; `body` is what an HTTP target
    posts where its settings have a body of their own."""

    messages: tuple[Message, ...]
    model: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    body: str = ""


class Transcript(Struct, frozen=True, kw_only=True, tag="transcript", tag_field="kind", omit_defaults=True):
    """Everything said and done. `answer` is the final message to the user, never text beside a tool call.

    `steps` is the order in which agents and tools took part, if the source knows it better than the messages show.
    `state`, `spans`, `usage` and `duration_ms` are None if they were not recorded. `invented_times`: a converter made
    up the times of the spans, so they say nothing about latency. `simulation`: how the user's side was played. `flags`:
    what the target noticed, such as a reply that was cut off. `sent`: what a live target was sent.
    """

    answer: str
    messages: tuple[Message, ...] = ()
    steps: tuple[Step, ...] = ()
    state: dict[str, Any] | None = None
    spans: tuple[Span, ...] | None = None
    usage: Usage | None = None
    duration_ms: float | None = None
    invented_times: bool = False
    simulation: Simulation | None = None
    flags: tuple[Flag, ...] = ()
    sent: SentRequest | None = None
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def agent_ms(self) -> float | None:
        """How long the agent took, in milliseconds, according to its recording, else to its spans; None: unknown."""
        if self.invented_times:
            return None
        return self.duration_ms if self.duration_ms is not None else spans_ms(self.spans or ())

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Every call, in order."""
        return tuple(call for message in self.messages for call in message.tool_calls)

    @property
    def trajectory(self) -> tuple[Step, ...]:
        """The agents and tools in the order in which they took part."""
        return self.steps or steps_of(self.messages)

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents that took part, each once, in order of appearance."""
        named = [step.name for step in self.trajectory if isinstance(step, AgentStep)]
        return tuple(dict.fromkeys([*named, *(message.agent for message in self.messages if message.agent)]))


class SpanTimes(Struct, frozen=True):
    """The parts of a span that matter for times: begin, end and parent."""

    span_id: str = ""
    parent_id: str = ""
    start_ns: int | None = None
    end_ns: int | None = None


def spans_ms(spans: Sequence[Span] | Sequence[SpanTimes]) -> float | None:
    """The time that the outermost spans cover, without the pauses between them; None where none of them has times."""
    known = {span.span_id for span in spans if span.span_id}
    outermost = [span for span in spans if span.parent_id not in known or not span.parent_id]
    covered, until = 0, 0
    times = [
        (each.start_ns, each.end_ns) for each in outermost if each.start_ns is not None and each.end_ns is not None
    ]
    for start, end in sorted(times):
        covered += max(0, end - max(start, until))
        until = max(until, end)
    return covered / 1e6 if times else None


def steps_of(messages: Iterable[Message]) -> tuple[Step, ...]:
    """Agents (when they take over, and anew in each turn) and tool calls, in the order of the messages."""
    steps: list[Step] = []
    speaking = ""
    for message in messages:
        if message.role is Role.USER:
            speaking = ""
        if message.agent and message.agent != speaking:
            speaking = message.agent
            steps.append(AgentStep(name=speaking))
        steps += [ToolStep(name=call.name) for call in message.tool_calls]
    return tuple(steps)
