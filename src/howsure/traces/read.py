"""Spans → Trace: the one door to what a trace tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from howsure.model.transcript import Span
from howsure.traces import names
from howsure.traces.spans import SpanKind, SpanTree, agent_name, tool_name
from howsure.traces.trace import AgentRun, Invocation, LlmCall, ToolOutcome, ToolUse, Trace
from howsure.traces.usage import gemini_counts, read_run_usage, read_usage
from howsure.traces.values import UNREADABLE, TraceProblems, decode_value, first_present, pick_value

#: A model called inside one of these was called anew: it is no repetition of the call around it.
LLM_BOUNDARIES = frozenset({SpanKind.TOOL, SpanKind.TOOL_RESPONSE, SpanKind.AGENT, SpanKind.INVOCATION})
NO_MODEL_NAMES = frozenset({"", "unknown", "none", "null"})


def llm_calls(tree: SpanTree, notes: TraceProblems) -> list[LlmCall]:
    """Every call of a model, in order."""
    inner: dict[int, list[int]] = {}
    outermost: list[int] = []
    for place in tree.of_kind(SpanKind.LLM):
        around = _enclosing_call(tree, place)
        (outermost if around is None else inner.setdefault(around, [])).append(place)
    found = [(place, call) for place in outermost for call in _resolve_call(tree, place, inner, notes)]
    found += _calls_on_tool_spans(tree, notes)
    return [call for _, call in sorted(found, key=lambda pair: pair[0])]


def _enclosing_call(tree: SpanTree, place: int) -> int | None:
    for around in tree.above(place):
        if tree.kinds[around] is SpanKind.LLM:
            return around
        if tree.kinds[around] in LLM_BOUNDARIES:
            return None
    return None


def _resolve_call(tree: SpanTree, place: int, inner: dict[int, list[int]], notes: TraceProblems) -> list[LlmCall]:
    """The innermost spans that report tokens; they learn from the span around them what they do not say themselves."""
    own = _read_call(tree, place, notes)
    calls = [call for inside in inner.get(place, ()) for call in _resolve_call(tree, inside, inner, notes)]
    if not calls:
        return [own]
    if own.counted and not any(call.counted for call in calls):
        return [replace(own, model=own.model or calls[0].model)]
    return [_complete_call(calls[0], own)] if len(calls) == 1 else calls


def _complete_call(call: LlmCall, around: LlmCall) -> LlmCall:
    chunks = around.grounding_chunks if call.grounding_chunks is None else call.grounding_chunks
    return replace(call, model=call.model or around.model, grounding_chunks=chunks)


def _calls_on_tool_spans(tree: SpanTree, notes: TraceProblems) -> list[tuple[int, LlmCall]]:
    """Converters hang the model's response on the tool call it asked for; one response may hang on several."""
    found: list[tuple[int, LlmCall]] = []
    seen: list[Any] = []
    for place in tree.of_kind(SpanKind.TOOL):
        attributes = tree.spans[place].attributes
        response = decode_value(attributes.get(names.LLM_RESPONSE))
        if gemini_counts(pick_value(response, "usage_metadata", "usageMetadata")) is None:
            continue
        event = attributes.get(names.EVENT_ID) or response
        if event not in seen:
            seen.append(event)
            # The span's times are the tool's, not the model's.
            call = replace(_read_call(tree, place, notes), start_ns=None, end_ns=None, busy_ns=None, answered_ns=None)
            found.append((place, call))
    return found


def _read_call(tree: SpanTree, place: int, notes: TraceProblems) -> LlmCall:
    span = _decode_outputs(tree.spans[place])
    agent = tree.nearest(place, SpanKind.AGENT)
    tools = [tree.spans[inside] for inside in tree.below(place) if tree.kinds[inside] is SpanKind.TOOL]
    return LlmCall(
        model=_read_model(span),
        usage=read_usage(span.attributes, tree.title(place), notes),
        span=span.name,
        span_id=span.span_id,
        agent="" if agent is None else agent_name(tree.spans[agent]),
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        busy_ns=_busy_time(span, tools),
        answered_ns=min((tool.start_ns for tool in tools if tool.start_ns is not None), default=span.end_ns),
        grounding_chunks=_count_grounding(span.attributes),
    )


def _decode_outputs(span: Span) -> Span:
    """The span with the answers kept on it decoded, so that each is decoded once; what is broken stays as it was."""
    kept = {
        name: decode_value(span.attributes[name])
        for name in names.OUTPUTS
        if isinstance(span.attributes.get(name), str)
    }
    opened = {name: value for name, value in kept.items() if value is not UNREADABLE}
    return replace(span, attributes={**span.attributes, **opened}) if opened else span


def _read_model(span: Span) -> str:
    for name in names.MODELS:
        value = span.attributes.get(name)
        if isinstance(value, str) and value.lower() not in NO_MODEL_NAMES:
            return value
    request, response = (decode_value(span.attributes.get(name)) for name in (names.LLM_REQUEST, names.LLM_RESPONSE))
    found = pick_value(request, "model") or pick_value(response, "model_version", "modelVersion")
    return found if isinstance(found, str) else ""


def _busy_time(span: Span, tools: list[Span]) -> int | None:
    """The span's length without the stretches in which a tool ran inside it (overlapping ones counted once)."""
    if span.start_ns is None or span.end_ns is None:
        return None
    busy, reached = span.end_ns - span.start_ns, span.start_ns
    inside = [(tool.start_ns, tool.end_ns) for tool in tools if tool.start_ns is not None and tool.end_ns is not None]
    for start, end in sorted(inside):
        start, end = max(start, reached), min(end, span.end_ns)
        if end > start:
            busy -= end - start
            reached = end
    return busy


def _count_grounding(attributes: dict[str, Any]) -> int | None:
    """How many sources the response cites; None where no response can be read."""
    seen = False
    for name in names.OUTPUTS:
        answer = decode_value(attributes.get(name))
        if answer is UNREADABLE or answer in (None, "", {}):
            continue
        seen = True
        chunks = _count_chunks(answer)
        if chunks:
            return chunks
    return 0 if seen or first_present(attributes, names.SAID) else None


def _count_chunks(answer: Any) -> int:
    candidates = pick_value(answer, "candidates")
    parts = [answer, *candidates] if isinstance(candidates, list) else [answer]
    metadata = [pick_value(part, "grounding_metadata", "groundingMetadata") for part in parts]
    chunks = [pick_value(found, "grounding_chunks", "groundingChunks") for found in metadata]
    return sum(len(found) for found in chunks if isinstance(found, list))


#: The spans between which a wrapper and what it wraps are not looked for: an agent used as a tool calls its own.
TOOL_BOUNDARIES = (SpanKind.TOOL, SpanKind.TOOL_RESPONSE, SpanKind.AGENT, SpanKind.INVOCATION, SpanKind.LLM)
#: Keys under which frameworks wrap what the tool itself returned.
WRAPPINGS = ("result", "response", "output")


def tool_uses(tree: SpanTree, notes: TraceProblems) -> list[ToolUse]:
    """Every call of a tool, in order."""
    calls: list[ToolUse] = []
    owners: dict[int, int] = {}
    lone: list[ToolUse] = []
    for place in tree.of_kind(SpanKind.TOOL, SpanKind.TOOL_RESPONSE):
        use = _read_use(tree, place, notes)
        around = tree.nearest(place, *TOOL_BOUNDARIES)
        if around in owners and _same_call(calls[owners[around]], use):
            owners[place] = owners[around]
            calls[owners[around]] = _merge_uses(calls[owners[around]], use)
        elif tree.kinds[place] is SpanKind.TOOL_RESPONSE or _is_response_only(use):
            lone.append(use)
        else:
            owners[place] = len(calls)
            calls.append(use)
    return _sort_uses(_pair_responses(calls, lone))


def _sort_uses(uses: list[ToolUse]) -> list[ToolUse]:
    if any(use.start_ns is None for use in uses):
        return uses
    return sorted(uses, key=lambda use: use.start_ns or 0)


def _pair_responses(calls: list[ToolUse], responses: list[ToolUse]) -> list[ToolUse]:
    """Each response with its call: the one with its id, else the first of its name that still waits for one."""
    for response in responses:
        waiting = [place for place, call in enumerate(calls) if call.outcome is ToolOutcome.NO_RESPONSE]
        place = next(
            (place for place in waiting if response.call_id and calls[place].call_id == response.call_id), None
        )
        if place is None:
            place = next((place for place in waiting if _same_call(calls[place], response)), None)
        if place is None:
            calls.append(replace(response, name=response.name or "tool_response"))
        else:
            calls[place] = _merge_uses(calls[place], response)
    return calls


def _same_call(call: ToolUse, other: ToolUse) -> bool:
    """Same tool (a response may leave its name out), and no two ids that differ."""
    return other.name in (call.name, "") and (not call.call_id or not other.call_id or call.call_id == other.call_id)


def _is_response_only(use: ToolUse) -> bool:
    return use.arguments is None and (use.response is not None or use.outcome is ToolOutcome.UNREADABLE)


def _merge_uses(call: ToolUse, other: ToolUse) -> ToolUse:
    answered = call if call.outcome is not ToolOutcome.NO_RESPONSE else other
    # A failure that either span reports is a failure.
    outcome = ToolOutcome.FAILED if call.failed or other.failed else answered.outcome
    return replace(
        call,
        call_id=call.call_id or other.call_id,
        arguments=other.arguments if call.arguments is None else call.arguments,
        response=answered.response,
        outcome=outcome,
        end_ns=max((end for end in (call.end_ns, other.end_ns) if end is not None), default=None),
        spans=call.spans + other.spans,
    )


def _read_use(tree: SpanTree, place: int, notes: TraceProblems) -> ToolUse:
    span = tree.spans[place]
    agent = tree.nearest(place, SpanKind.AGENT)
    arguments = _read_attribute(span.attributes, names.ARGUMENTS, tree.title(place), notes)
    response = _read_attribute(span.attributes, names.RESPONSES, tree.title(place), notes)
    if arguments is UNREADABLE:
        # They were there all the same: the span is a call, not a response.
        arguments = span.attributes[first_present(span.attributes, names.ARGUMENTS) or ""]
    return ToolUse(
        name="" if span.name == tool_name(span) and tree.kinds[place] is SpanKind.TOOL_RESPONSE else tool_name(span),
        call_id=_call_id(span.attributes),
        arguments=arguments,
        response=None if response is UNREADABLE else response,
        outcome=_read_outcome(span.attributes, response),
        agent="" if agent is None else agent_name(tree.spans[agent]),
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        spans=(span.span_id or span.name,),
    )


def _read_attribute(attributes: Mapping[str, Any], spellings: tuple[str, ...], span: str, notes: TraceProblems) -> Any:
    """The value under the first spelling that has one, decoded; UNREADABLE (and noted) where it is broken."""
    name = first_present(attributes, spellings)
    value = decode_value(attributes[name]) if name else None
    if value == names.NOT_SPECIFIED or value == {"result": names.NOT_SPECIFIED}:
        return None
    # ADK writes JSON here and nothing else: text that is none was cut off or garbled.
    if value is UNREADABLE or (name == names.TOOL_RESPONSE and isinstance(value, str)):
        notes.add("unreadable_json", "is not JSON", span, name or "", attributes[name or ""])
        return UNREADABLE
    return value


def _call_id(attributes: Mapping[str, Any]) -> str:
    """Some libraries write the id of the run and that of the call together: the last is the call's."""
    value = decode_value(attributes.get(first_present(attributes, names.CALL_IDS) or ""))
    if isinstance(value, list) and value:
        value = value[-1]
    return value if isinstance(value, str) else "" if value is None or value is UNREADABLE else str(value)


def _read_outcome(attributes: Mapping[str, Any], response: Any) -> ToolOutcome:
    if first_present(attributes, names.ERRORS) or _read_status(attributes) == "ERROR":
        return ToolOutcome.FAILED
    if response is UNREADABLE:
        return ToolOutcome.UNREADABLE
    if response is None:
        return ToolOutcome.NO_RESPONSE
    return ToolOutcome.FAILED if says_error(response) else ToolOutcome.SUCCEEDED


def _read_status(attributes: Mapping[str, Any]) -> str:
    value = attributes.get(first_present(attributes, names.STATUSES) or "")
    return str(value).upper().removeprefix("STATUS_CODE_")


def says_error(response: Any, depth: int = 2) -> bool:
    """Whether a tool's response reports an error: status "error", something in `error`, or the mark that MCP sets."""
    if isinstance(response, str) and response.lstrip()[:1] == "{":
        response = decode_value(response)
    if not isinstance(response, Mapping):
        return False
    if str(response.get("status") or "").lower() == "error" or response.get("isError") is True:
        return True
    if any(response.get(key) not in (None, "", False, [], {}, 0) for key in ("error", "error_message")):
        return True
    return depth > 0 and any(says_error(response.get(key), depth - 1) for key in WRAPPINGS)


def read_trace(spans: Sequence[Span]) -> Trace:
    """What these spans tell. What cannot be read is in `problems`, and is counted as nothing."""
    notes = TraceProblems()
    tree = SpanTree([_fix_times(span, notes) for span in spans], notes)
    starts = [span.start_ns for span in tree.spans if span.start_ns is not None]
    ends = [span.end_ns for span in tree.spans if span.end_ns is not None]
    return Trace(
        llm_calls=tuple(llm_calls(tree, notes)),
        tool_uses=tuple(tool_uses(tree, notes)),
        agent_runs=tuple(_read_agent_runs(tree, notes)),
        invocations=tuple(_read_invocations(tree)),
        start_ns=min(starts, default=None),
        end_ns=max(ends, default=None),
        problems=tuple(notes.problems),
    )


def _fix_times(span: Span, notes: TraceProblems) -> Span:
    """A span that ends before it starts has no times."""
    if span.start_ns is None or span.end_ns is None or span.start_ns <= span.end_ns:
        return span
    notes.add("negative_duration", "ends before it starts; its end is not used", f"span {span.span_id} ({span.name})")
    return Span(
        name=span.name,
        span_id=span.span_id,
        trace_id=span.trace_id,
        parent_id=span.parent_id,
        start_ns=span.start_ns,
        attributes=span.attributes,
    )


def _read_agent_runs(tree: SpanTree, notes: TraceProblems) -> list[AgentRun]:
    """A run directly inside a run of the same agent is the same run, traced twice."""
    runs: list[AgentRun] = []
    for place in tree.of_kind(SpanKind.AGENT):
        span, name = tree.spans[place], agent_name(tree.spans[place])
        around = tree.nearest(place, SpanKind.AGENT)
        within = "" if around is None else agent_name(tree.spans[around])
        if within == name and tree.nearest(place, SpanKind.AGENT, SpanKind.TOOL, SpanKind.INVOCATION) == around:
            continue
        usage = read_run_usage(span.attributes, tree.title(place), notes)
        runs.append(
            AgentRun(
                name=name,
                within=within,
                usage=usage,
                span_id=span.span_id,
                start_ns=span.start_ns,
                end_ns=span.end_ns,
            )
        )
    return runs


def _read_invocations(tree: SpanTree) -> list[Invocation]:
    """The outermost turns (an agent used as a tool has turns of its own inside); without any, the outermost agents'
    runs, where everything happened inside one."""
    kind = SpanKind.INVOCATION if tree.of_kind(SpanKind.INVOCATION) else SpanKind.AGENT
    outermost = [place for place in tree.of_kind(kind) if tree.nearest(place, kind) is None]
    if kind is SpanKind.AGENT and any(
        tree.nearest(place, kind) is None for place in range(len(tree.spans)) if place not in outermost
    ):
        return []
    spans = [tree.spans[place] for place in outermost]
    return [Invocation(span_id=span.span_id, start_ns=span.start_ns, end_ns=span.end_ns) for span in spans]
