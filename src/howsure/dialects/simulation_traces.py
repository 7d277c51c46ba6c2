"""`session_trace`: the spans in simulation rows, the steps they show, whether their times were made up, and what else
they hold: user turns, and tool calls with their original keys.

One converter rewrites every key inside session events in camel case, also in the arguments and results of tools
(`customer_id` → `customerId`), so that no reference would match. Where the row also holds the original of a call, and
rewriting that gives what the event has, `repair_calls` uses the original. It changes nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import structs

from howsure.dialects.problems import Spot, kind_of, shown, with_article
from howsure.dialects.simulation_messages import objects_in
from howsure.dialects.strict_json import Json
from howsure.errors import Problem
from howsure.model.transcript import AgentStep, Message, Span, Step, ToolCall, ToolResult, ToolStep

SECOND = 1_000_000_000
_FIELDS = {
    "name": ("name",),
    "span_id": ("span_id", "spanId"),
    "trace_id": ("trace_id", "traceId"),
    "parent_id": ("parent_span_id", "parentSpanId", "parent_id"),
    "start_ns": ("start_time", "startTime", "start_time_unix_nano", "startTimeUnixNano"),
    "end_ns": ("end_time", "endTime", "end_time_unix_nano", "endTimeUnixNano"),
    "attributes": ("attributes",),
}
_SPELLINGS = {spelling: name for name, spellings in _FIELDS.items() for spelling in spellings}
_AGENT = re.compile(r"(?:invoke_agent|agent_run)\s*\[?(?P<name>[^\]]*)\]?")
_TOOL = re.compile(r"(?:execute_tool|tool_call)\b\s*\[?(?P<name>[^\]]*)\]?")
_CALL_ARGUMENTS = "gcp.vertex.agent.tool_call_args"
_CALL_RESULT = "gcp.vertex.agent.tool_response"
_REQUEST = "gcp.vertex.agent.llm_request"
_FRACTION = re.compile(r"[0-9]+(?:\.[0-9]+(?:[eE]\+?[0-9]{1,2})?|[eE]\+?[0-9]{1,2})")
_ROUNDING = 1_000
"""How many nanoseconds a length of one second may be off: the times were counted in floating-point seconds."""


def read_spans(raw_spans: Sequence[Any], spot: Spot) -> tuple[tuple[Span, ...], list[Problem]]:
    spans: list[Span] = []
    problems: list[Problem] = []
    for place, raw in enumerate(raw_spans):
        at = spot.below(place)
        if isinstance(raw, dict) and isinstance(raw.get("name"), str):
            try:
                spans.append(_span(raw))
            except ValueError as error:
                problems.append(at.problem("bad-span", str(error), found=shown(raw)))
        else:
            message = f"must be an object with a `name`, not {with_article(kind_of(raw))}"
            problems.append(at.problem("bad-span", message, expected="a span", found=shown(raw)))
    return tuple(spans), problems


def _span(raw: Json) -> Span:
    fields: Json = {}
    others: Json = {}
    for key, value in raw.items():
        if value is not None:
            (fields if key in _SPELLINGS else others)[_SPELLINGS.get(key, f"span.{key}")] = value
    attributes = fields.get("attributes", {})
    if isinstance(attributes, str):
        attributes = _json(attributes)
    if not isinstance(attributes, dict):
        raise ValueError("`attributes` must be an object, or the JSON text of one")
    return Span(
        name=fields["name"],
        span_id=str(fields.get("span_id", "")),
        trace_id=str(fields.get("trace_id", "")),
        parent_id=str(fields.get("parent_id", "")),
        start_ns=nanoseconds(fields.get("start_ns")),
        end_ns=nanoseconds(fields.get("end_ns")),
        attributes={**attributes, **others} if others else attributes,
    )


_LATEST = float(1 << 63)
"""No time has more nanoseconds, and none more seconds."""


def nanoseconds(raw: Any) -> int | None:
    """The time in nanoseconds. Whole numbers are nanoseconds, numbers with a fraction seconds, both also as text; ISO
    dates are read too; an empty text is no time."""
    if isinstance(raw, str):
        text = raw.strip()
        raw = float(text) if _FRACTION.fullmatch(text) else text or None
    if isinstance(raw, str) and raw.isdecimal() and len(raw) < 20:
        raw = int(raw)
    if raw is None or (isinstance(raw, int) and not isinstance(raw, bool) and raw.bit_length() < 64):
        return raw
    if isinstance(raw, float) and abs(raw) < _LATEST:
        return int(raw) if raw >= 1e15 else round(raw * SECOND)
    if isinstance(raw, str):
        try:
            moment = datetime.fromisoformat(raw)
        except ValueError:
            raise ValueError(f"{shown(raw)} is not a time") from None
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        seconds = int(moment.replace(microsecond=0).timestamp())
        return seconds * SECOND + moment.microsecond * 1_000
    raise ValueError(f"{shown(raw)} is not a time")


def span_document(span: Span) -> Json:
    return {
        "name": span.name,
        "span_id": span.span_id,
        "trace_id": span.trace_id,
        "parent_span_id": span.parent_id or None,
        "start_time": span.start_ns,
        "end_time": span.end_ns,
        "attributes": span.attributes,
    }


def has_made_up_times(spans: Sequence[Span]) -> bool:
    """Whether a converter made the times up: every call lasts exactly one second, or children are in traces of their
    own."""
    calls = [span for span in spans if span.name == "call_llm" or span.name.startswith("execute_tool")]
    lengths = [None if one.start_ns is None or one.end_ns is None else one.end_ns - one.start_ns for one in calls]
    if len(calls) > 1 and all(length is not None and abs(length - SECOND) <= _ROUNDING for length in lengths):
        return True
    traces = {span.trace_id for span in spans if span.trace_id}
    known = {span.span_id for span in spans}
    return len(traces) == len(spans) > 1 and any(span.parent_id in known for span in spans if span.parent_id)


def steps_of_spans(spans: Sequence[Span], *, made_up: bool) -> tuple[Step, ...]:
    """The steps: agents when they take over (and anew in each turn), and tool calls, in the order they began."""
    steps: list[Step] = []
    speaking = ""
    seen: dict[str, int] = {}
    if all(span.start_ns is not None for span in spans):
        # Of those that began together the longest first, because it contains the others.
        spans = sorted(spans, key=lambda span: (span.start_ns or 0, -(span.end_ns or 0)))
    for span in spans:
        agent, tool = _AGENT.match(span.name), _tool(span)
        if span.name == "invocation":
            speaking = ""
        elif agent and agent["name"].strip() and agent["name"].strip() != speaking:
            speaking = agent["name"].strip()
            steps.append(AgentStep(name=speaking))
        elif tool:
            seen[tool] = seen.get(tool, 0) + 1
            asks, answers = _CALL_ARGUMENTS in span.attributes, _CALL_RESULT in span.attributes
            # Converters write a call and its response as two spans: the second is no call.
            if not made_up or (asks if asks or answers else seen[tool] % 2 == 1):
                steps.append(ToolStep(name=tool))
    return tuple(steps)


def _tool(span: Span) -> str:
    named = _TOOL.match(span.name)
    if not named:
        return ""
    name = str(span.attributes.get("gen_ai.tool.name") or named["name"]).strip()
    # One span more than there were calls, where several were made at once.
    return "" if name == "(merged)" or "(merged)" in named["name"] else name


def steps_of_summary(summary: Any) -> tuple[Step, ...]:
    """The steps of a `trace_summary` list: `agent:X`, `sub-agent:X`, `tool:Y`, or names of agents."""
    steps: list[Step] = []
    for entry in summary if isinstance(summary, list) else ():
        if isinstance(entry, str) and entry.strip():
            kind, _, name = entry.partition(":")
            if kind == "tool" and name:
                steps.append(ToolStep(name=name.strip()))
            else:
                steps.append(AgentStep(name=name.strip() if kind in ("agent", "sub-agent") and name else entry))
    return tuple(steps)


def user_turns_of_spans(spans: Sequence[Any]) -> list[str]:
    """The user's texts in the longest request to a model. (Texts that begin with `For context:` repeat what other
    agents said.)"""
    longest: list[str] = []
    for span in spans:
        attributes = span.get("attributes") if isinstance(span, dict) else None
        attributes = _json(attributes) if isinstance(attributes, str) else attributes
        request = _json(attributes.get(_REQUEST)) if isinstance(attributes, dict) else None
        contents = objects_in(request.get("contents")) if isinstance(request, dict) else []
        said = [objects_in(content.get("parts")) for content in contents if content.get("role") == "user"]
        texts = ["".join(one["text"] for one in parts if isinstance(one.get("text"), str)) for parts in said]
        turns = [text for text in texts if text.strip() and not text.startswith("For context:")]
        longest = max(longest, turns, key=len)
    return longest


def calls_of_spans(spans: Sequence[Span]) -> Iterator[tuple[str, Any, Any]]:
    """The name, arguments and result of each tool span that has any."""
    for span in spans:
        tool = _tool(span)
        if tool:
            yield tool, _json(span.attributes.get(_CALL_ARGUMENTS)), _json(span.attributes.get(_CALL_RESULT))


def _json(raw: Any) -> Any:
    """The value of a JSON text; None where it is not JSON."""
    if not isinstance(raw, str):
        return raw
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None


Original = tuple[str, Any, Any]
"""The name of a tool, and the arguments or the result of one call (None: not known)."""


def repair_calls(messages: tuple[Message, ...], originals: Iterable[Original]) -> tuple[Message, ...]:
    known = _Originals(originals)
    if not known or not any(message.tool_calls for message in messages):
        return messages
    return tuple(
        structs.replace(message, tool_calls=tuple(map(known.restored, message.tool_calls)))
        if message.tool_calls
        else message
        for message in messages
    )


class _Originals:
    """Original arguments and results by tool, in order; each is used once."""

    def __init__(self, originals: Iterable[Original]) -> None:
        self._arguments: dict[str, list[Any]] = {}
        self._results: dict[str, list[Any]] = {}
        for name, arguments, result in originals:
            for by_tool, value in ((self._arguments, arguments), (self._results, result)):
                if value is not None and camel(value) != value:
                    by_tool.setdefault(name, []).append(value)

    def __bool__(self) -> bool:
        return bool(self._arguments or self._results)

    def restored(self, call: ToolCall) -> ToolCall:
        arguments = _taken(self._arguments.get(call.name, []), call.arguments)
        result = call.result
        if result is not None:
            content = _taken(self._results.get(call.name, []), result.content)
            result = ToolResult(content=content, failed=result.failed)
        return structs.replace(call, arguments=arguments, result=result)


def _taken(originals: list[Any], rewritten: Any) -> Any:
    for place, original in enumerate(originals):
        if camel(original) == rewritten:
            return originals.pop(place)
    return rewritten


def camel(value: Any) -> Any:
    """The value with every key in camel case, at any depth."""
    if isinstance(value, dict):
        words = [key.split("_") for key in value]
        keys = [first + "".join(word.title() for word in rest) for first, *rest in words]
        return {key: camel(inner) for key, inner in zip(keys, value.values(), strict=True)}
    return [camel(inner) for inner in value] if isinstance(value, list) else value


def originals_in(extract: Any) -> Iterator[Original]:
    """The original calls in `custom_extract`."""
    for entry in objects_in(extract):
        for call in objects_in(entry.get("tool_calls")):
            yield str(call.get("name", "")), call.get("args"), None
        for response in objects_in(entry.get("tool_responses")):
            yield str(response.get("name", "")), None, response.get("response")
