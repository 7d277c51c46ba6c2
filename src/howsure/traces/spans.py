"""The spans of one transcript as a tree: what each span is (a turn, a run of an agent, a call of a model or a tool, a
response of a tool), which spans are inside it, and their order. Spans that are phases of one call
(`tool.search.start-12`, `….success-12`) are joined first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, TypeVar

from howsure.model.transcript import Span
from howsure.traces import names
from howsure.traces.trace import ToolUse
from howsure.traces.values import TraceProblems, decode_value, first_present, first_text


class SpanKind(Enum):
    """The kinds of span that are told apart."""

    INVOCATION = "invocation"
    AGENT = "agent"
    LLM = "llm"
    TOOL = "tool"
    TOOL_RESPONSE = "tool_response"
    OTHER = "other"


SPAN_KINDS = {"LLM": SpanKind.LLM, "TOOL": SpanKind.TOOL, "AGENT": SpanKind.AGENT}
# A chain may be anything: the name of the span decides.
UNDECIDED = frozenset({"CHAIN", "UNKNOWN", ""})
OPERATIONS = {
    "chat": SpanKind.LLM,
    "completion": SpanKind.LLM,
    "text_completion": SpanKind.LLM,
    "generate_content": SpanKind.LLM,
    "execute_tool": SpanKind.TOOL,
    "invoke_agent": SpanKind.AGENT,
    "invoke_workflow": SpanKind.INVOCATION,
    # Creating an agent is not running it.
    "create_agent": SpanKind.OTHER,
    "embeddings": SpanKind.OTHER,
    "retrieval": SpanKind.OTHER,
}
OBSERVATIONS = {"generation": SpanKind.LLM, "tool": SpanKind.TOOL, "agent": SpanKind.AGENT, "embedding": SpanKind.OTHER}
TRACELOOP = {"tool": SpanKind.TOOL, "agent": SpanKind.AGENT}

NAME_PATTERNS = (
    (re.compile(r"invocation(\s*\[.*\])?|invoke_workflow\b.*"), SpanKind.INVOCATION),
    (re.compile(r"(?:invoke_agent|agent_run)\b\s*\[?(?P<name>[^\]]*)\]?"), SpanKind.AGENT),
    (re.compile(r"call_llm|llm\.chat|(?:generate_content|chat|text_completion)(\s+\S+)?"), SpanKind.LLM),
    (re.compile(r"tool_response\b[\s:]*\[?(?P<name>[^\]]*)\]?"), SpanKind.TOOL_RESPONSE),
    (re.compile(r"(?:execute_tool|tool_call)\b[\s:]*\[?(?P<name>[^\]]*)\]?"), SpanKind.TOOL),
    (re.compile(r"running tool:\s*(?P<name>.+)"), SpanKind.TOOL),
    (re.compile(r"tool\.(?P<name>.+)"), SpanKind.TOOL),
)


def kind_of(span: Span) -> SpanKind:
    """The declared kind, else the kind by the name of the span, else the kind by its attributes."""
    attributes = span.attributes
    named = _read_name(span.name)[0]
    if first_text(span.attributes, names.TOOLS) in names.MERGED or _read_name(span.name)[1] in names.MERGED:
        return SpanKind.OTHER
    if named in (SpanKind.INVOCATION, SpanKind.TOOL_RESPONSE):
        return named
    declared = _declared_kind(attributes)
    if declared is not None:
        return declared
    if first_present(attributes, names.HTTP_METHODS):
        return SpanKind.OTHER
    return named if named is not SpanKind.OTHER else _kind_by_attributes(attributes)


def _declared_kind(attributes: Mapping[str, Any]) -> SpanKind | None:
    kind = str(attributes.get(names.SPAN_KIND) or "").upper()
    # Event emitters write an "agent" span for every update, which is not a run.
    if kind == "AGENT" and attributes.get(names.EMITTER_TARGET):
        return SpanKind.OTHER
    if kind not in UNDECIDED:
        return SPAN_KINDS.get(kind, SpanKind.OTHER)
    for name, known in (
        (names.OPERATION, OPERATIONS),
        (names.OBSERVATION_TYPE, OBSERVATIONS),
        (names.TRACELOOP_KIND, TRACELOOP),
    ):
        declared = known.get(str(attributes.get(name) or "").lower())
        if declared is not None:
            return declared
    return SpanKind.LLM if attributes.get(names.REQUEST_TYPE) in ("chat", "completion") else None


def _kind_by_attributes(attributes: Mapping[str, Any]) -> SpanKind:
    if first_present(attributes, names.TOOLS) or _tool_message(attributes):
        return SpanKind.TOOL
    if attributes.get(names.LLM_RESPONSE) not in (None, "", "{}", {}):
        return SpanKind.LLM
    if first_present(attributes, ("gen_ai.request.model", "llm.model_name")):
        return SpanKind.LLM
    return SpanKind.AGENT if first_present(attributes, names.AGENTS) else SpanKind.OTHER


def _tool_message(attributes: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """LangChain marks the span of a tool only by the message that it returns."""
    for name in names.OUTPUTS[1:]:
        value = attributes.get(name)
        message = decode_value(value) if isinstance(value, str) and '"tool_call_id"' in value else value
        if isinstance(message, Mapping) and message.get("type") == "tool" and "tool_call_id" in message:
            return message
    return None


@lru_cache(maxsize=4096)
def _read_name(name: str) -> tuple[SpanKind, str]:
    for pattern, kind in NAME_PATTERNS:
        match = pattern.fullmatch(name.strip())
        if match:
            return kind, (match.groupdict().get("name") or "").strip()
    return SpanKind.OTHER, ""


def tool_name(span: Span) -> str:
    """The name of the tool: from an attribute, else from the name of the span, else that name itself."""
    return first_text(span.attributes, names.TOOLS) or _read_name(span.name)[1] or span.name


def agent_name(span: Span) -> str:
    """The name of the agent: from an attribute, else from the name of the span, else its id, else that name itself."""
    name = first_text(span.attributes, names.AGENTS) or _read_name(span.name)[1]
    return name or first_text(span.attributes, (names.AGENT_ID,)) or span.name


PHASE = re.compile(r"(?P<path>.+)\.(?P<phase>start|success|error|finish)-(?P<number>\d+)")
PhasedCall = tuple[str, str]


def join_phases(spans: Iterable[Span]) -> list[Span]:
    """The spans in their order, with the phases of one call joined."""
    out: list[Span] = []
    places: dict[PhasedCall, int] = {}
    parts: dict[PhasedCall, list[Span]] = {}
    for span in spans:
        match = PHASE.fullmatch(span.name) if span.attributes.get(names.SPAN_KIND) in ("LLM", "TOOL") else None
        if match is None:
            out.append(span)
            continue
        # The path of the emitter without the phase, and the number.
        call = (match["path"], match["number"])
        if call not in places:
            places[call] = len(out)
            out.append(span)
        parts.setdefault(call, []).append(span)
    for call, place in places.items():
        out[place] = _merge_phases(call, parts[call])
    return out


def _merge_phases(call: PhasedCall, parts: list[Span]) -> Span:
    """All phases end with the run, so a call ends where its last phase starts. A single phase has no end."""
    ordered = sorted(parts, key=lambda span: (span.start_ns is None, span.start_ns or 0))
    attributes: dict[str, Any] = {}
    for span in ordered:
        attributes.update({name: value for name, value in span.attributes.items() if value is not None})
    if any(f"{call[0]}.error-" in span.name for span in parts):
        attributes.setdefault("error.type", "error")
    first, last = ordered[0], ordered[-1]
    return Span(
        name=call[0],
        span_id=first.span_id,
        trace_id=first.trace_id,
        parent_id=first.parent_id,
        start_ns=first.start_ns,
        end_ns=last.start_ns if len(parts) > 1 else None,
        attributes=attributes,
    )


class SpanTree:
    """Spans by position: in order of time if all have one, else in the given order."""

    def __init__(self, spans: Sequence[Span], problems: TraceProblems) -> None:
        self.spans = in_time_order(join_phases(_drop_duplicates(spans, problems)))
        self.kinds = [kind_of(span) for span in self.spans]
        self._parents = self._links()
        self._children: dict[int, list[int]] = {}
        for place, parent in enumerate(self._parents):
            if parent is not None:
                self._children.setdefault(parent, []).append(place)

    def _links(self) -> list[int | None]:
        # By span id only: converters give every span its own trace id.
        known: dict[str, int] = {}
        for place, span in enumerate(self.spans):
            if span.span_id:
                known.setdefault(span.span_id, place)
        return _break_cycles([known.get(span.parent_id) if span.parent_id else None for span in self.spans])

    def of_kind(self, *kinds: SpanKind) -> list[int]:
        return [place for place, kind in enumerate(self.kinds) if kind in kinds]

    def above(self, place: int) -> Iterator[int]:
        """The spans around this one, from the inside out."""
        parent = self._parents[place]
        while parent is not None:
            yield parent
            parent = self._parents[parent]

    def nearest(self, place: int, *kinds: SpanKind) -> int | None:
        """The closest span of these kinds around this one."""
        return next((around for around in self.above(place) if self.kinds[around] in kinds), None)

    def below(self, place: int) -> list[int]:
        """Every span inside this one."""
        inside: list[int] = []
        waiting = list(self._children.get(place, ()))
        while waiting:
            inner = waiting.pop()
            inside.append(inner)
            waiting += self._children.get(inner, ())
        return sorted(inside)

    def beside(self, place: int) -> list[int]:
        """Every other span directly inside the same span."""
        parent = self._parents[place]
        return [] if parent is None else [other for other in self._children[parent] if other != place]

    def title(self, place: int) -> str:
        """The name of the span in problems."""
        span = self.spans[place]
        return f"span {span.span_id or place + 1} ({span.name})"


def _break_cycles(parents: list[int | None]) -> list[int | None]:
    """If spans are inside one another in a cycle, the first becomes outermost, so that none is lost."""
    for place in range(len(parents)):
        seen: set[int] = set()
        around = parents[place]
        while around is not None and around not in seen:
            if around == place:
                parents[place] = None
                break
            seen.add(around)
            around = parents[around]
    return parents


def _drop_duplicates(spans: Sequence[Span], problems: TraceProblems) -> list[Span]:
    """A span that was exported twice is one span."""
    seen: set[tuple[str, str, str]] = set()
    out: list[Span] = []
    for span in spans:
        key = (span.trace_id, span.span_id, span.name)
        if span.span_id and key in seen:
            problems.add("span_twice", "was recorded twice; the first counts", f"span {span.span_id} ({span.name})")
            continue
        seen.add(key)
        out.append(span)
    return out


Timed = TypeVar("Timed", Span, ToolUse)


def in_time_order(spans: list[Timed]) -> list[Timed]:
    """By their starts, if all have one; else as they are."""
    if any(span.start_ns is None for span in spans):
        return spans
    return sorted(spans, key=lambda span: span.start_ns or 0)
