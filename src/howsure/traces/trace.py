"""The Trace: what the spans of a transcript show, typed. Calls of models and tools, runs of agents, turns. Frozen; made
by `read_trace` in read.py."""

from __future__ import annotations

from enum import Enum
from typing import Any

from msgspec import Struct, field

from howsure.errors import Problem
from howsure.model.transcript import Usage


class ToolOutcome(Enum):
    """How a tool call ended, as far as it was recorded."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNREADABLE = "unreadable"
    NO_RESPONSE = "no_response"


class LlmCall(Struct, frozen=True, kw_only=True):
    """One call of a model. `grounding_chunks` None: unknown, because the response was not recorded.

    `busy_ns` is its duration without the tools that ran inside its span; `answered_ns` is when it had answered.
    """

    model: str = ""
    usage: Usage | None = None
    span: str = ""
    span_id: str = ""
    agent: str = ""
    start_ns: int | None = None
    end_ns: int | None = None
    busy_ns: int | None = None
    answered_ns: int | None = None
    grounding_chunks: int | None = None

    @property
    def counted(self) -> bool:
        """Whether it reports any tokens."""
        return self.usage is not None and (self.usage.prompt_tokens, self.usage.completion_tokens) != (None, None)


class ToolUse(Struct, frozen=True, kw_only=True):
    """One call of a tool with its response, whether they came as one span or as two."""

    name: str
    call_id: str = ""
    arguments: Any = None
    response: Any = None
    outcome: ToolOutcome = ToolOutcome.NO_RESPONSE
    agent: str = ""
    start_ns: int | None = None
    end_ns: int | None = None
    spans: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        return self.outcome is ToolOutcome.FAILED


class AgentRun(Struct, frozen=True, kw_only=True):
    """One run of an agent. `within` is the agent in whose run it happened; `usage` is what the span of the run
    reports."""

    name: str
    within: str = ""
    usage: Usage | None = None
    span_id: str = ""
    start_ns: int | None = None
    end_ns: int | None = None


class Invocation(Struct, frozen=True, kw_only=True):
    """One turn: from a user's message to the agent's answer."""

    span_id: str = ""
    start_ns: int | None = None
    end_ns: int | None = None


class Trace(Struct, frozen=True, kw_only=True):
    """Everything that the spans of one transcript show, in order of time. `problems`: what could not be read."""

    llm_calls: tuple[LlmCall, ...] = ()
    tool_uses: tuple[ToolUse, ...] = ()
    agent_runs: tuple[AgentRun, ...] = ()
    invocations: tuple[Invocation, ...] = ()
    start_ns: int | None = None
    end_ns: int | None = None
    problems: tuple[Problem, ...] = field(default=())
