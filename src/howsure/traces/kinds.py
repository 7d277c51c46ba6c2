"""What a span is: a turn, an agent's run, a call of a model, a call of a tool, a tool's response, or none of these."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Any

from howsure.model.transcript import Span
from howsure.traces import names
from howsure.traces.values import decoded, present, text


class Kind(Enum):
    """The kinds of span the measures know."""

    INVOCATION = "invocation"
    AGENT = "agent"
    LLM = "llm"
    TOOL = "tool"
    TOOL_RESPONSE = "tool_response"
    OTHER = "other"


SPAN_KINDS = {"LLM": Kind.LLM, "TOOL": Kind.TOOL, "AGENT": Kind.AGENT}
# A chain may be anything: its name decides.
UNDECIDED = frozenset({"CHAIN", "UNKNOWN", ""})
OPERATIONS = {
    "chat": Kind.LLM,
    "completion": Kind.LLM,
    "text_completion": Kind.LLM,
    "generate_content": Kind.LLM,
    "execute_tool": Kind.TOOL,
    "invoke_agent": Kind.AGENT,
    # Making an agent is not running it.
    "create_agent": Kind.OTHER,
    "embeddings": Kind.OTHER,
    "retrieval": Kind.OTHER,
}
OBSERVATIONS = {"generation": Kind.LLM, "tool": Kind.TOOL, "agent": Kind.AGENT, "embedding": Kind.OTHER}
TRACELOOP = {"tool": Kind.TOOL, "agent": Kind.AGENT}

NAMED = (
    (re.compile(r"invocation(\s*\[.*\])?"), Kind.INVOCATION),
    (re.compile(r"(?:invoke_agent|agent_run)\b\s*\[?(?P<name>[^\]]*)\]?"), Kind.AGENT),
    (re.compile(r"call_llm|llm\.chat|(?:generate_content|chat|text_completion)(\s+\S+)?"), Kind.LLM),
    (re.compile(r"tool_response\b[\s:]*\[?(?P<name>[^\]]*)\]?"), Kind.TOOL_RESPONSE),
    (re.compile(r"(?:execute_tool|tool_call)\b[\s:]*\[?(?P<name>[^\]]*)\]?"), Kind.TOOL),
    (re.compile(r"running tool:\s*(?P<name>.+)"), Kind.TOOL),
    (re.compile(r"tool\.(?P<name>.+)"), Kind.TOOL),
)


def kind_of(span: Span) -> Kind:
    """What the span says it is, else what its name says, else what its attributes show."""
    attributes = span.attributes
    named = _named(span.name)[0]
    if _is_merged(span):
        return Kind.OTHER
    if named in (Kind.INVOCATION, Kind.TOOL_RESPONSE):
        return named
    declared = _declared(attributes)
    if declared is not None:
        return declared
    if present(attributes, names.HTTP_METHODS):
        return Kind.OTHER
    return named if named is not Kind.OTHER else _shown(attributes)


def _declared(attributes: Mapping[str, Any]) -> Kind | None:
    kind = str(attributes.get(names.SPAN_KIND) or "").upper()
    # Event emitters write an "agent" span for every update; only the run itself is one.
    if kind == "AGENT" and attributes.get(names.EMITTER_TARGET):
        return Kind.OTHER
    if kind not in UNDECIDED:
        return SPAN_KINDS.get(kind, Kind.OTHER)
    for name, known in (
        (names.OPERATION, OPERATIONS),
        (names.OBSERVATION_TYPE, OBSERVATIONS),
        (names.TRACELOOP_KIND, TRACELOOP),
    ):
        found = known.get(str(attributes.get(name) or "").lower())
        if found is not None:
            return found
    return Kind.LLM if attributes.get(names.REQUEST_TYPE) in ("chat", "completion") else None


def _shown(attributes: Mapping[str, Any]) -> Kind:
    if present(attributes, names.TOOLS) or _tool_message(attributes):
        return Kind.TOOL
    if attributes.get(names.LLM_RESPONSE) not in (None, "", "{}", {}):
        return Kind.LLM
    if present(attributes, ("gen_ai.request.model", "llm.model_name")):
        return Kind.LLM
    return Kind.AGENT if present(attributes, names.AGENTS) else Kind.OTHER


def _tool_message(attributes: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """LangChain marks a tool's span by nothing but the message it gives back."""
    for name in names.OUTPUTS[1:]:
        value = attributes.get(name)
        message = decoded(value) if isinstance(value, str) and '"tool_call_id"' in value else value
        if isinstance(message, Mapping) and message.get("type") == "tool" and "tool_call_id" in message:
            return message
    return None


@lru_cache(maxsize=4096)
def _named(name: str) -> tuple[Kind, str]:
    for pattern, kind in NAMED:
        match = pattern.fullmatch(name.strip())
        if match:
            return kind, (match.groupdict().get("name") or "").strip()
    return Kind.OTHER, ""


def _is_merged(span: Span) -> bool:
    return text(span.attributes, names.TOOLS) in names.MERGED or _named(span.name)[1] in names.MERGED


def tool_name(span: Span) -> str:
    """The tool's name: an attribute's, else the one in the span's name, else the span's name."""
    return text(span.attributes, names.TOOLS) or _named(span.name)[1] or span.name


def agent_name(span: Span) -> str:
    """The agent's name: an attribute's, else the one in the span's name, else its id, else the span's name."""
    said = text(span.attributes, names.AGENTS) or _named(span.name)[1]
    return said or text(span.attributes, (names.AGENT_ID,)) or span.name
