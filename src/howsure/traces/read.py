"""Reads spans into a Trace: calls of models and of tools, runs of agents, turns. Every call counts once: a span that
wraps another call of a model or repeats its counts is the same call, and a tool call and its response may be one span
or two. The placeholder that a converter writes for an event without a call is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from howsure.model.transcript import Span
from howsure.traces import names
from howsure.traces.spans import SpanKind, SpanTree, agent_name, in_time_order, tool_name
from howsure.traces.trace import AgentRun, Invocation, LlmCall, ToolOutcome, ToolUse, Trace
from howsure.traces.usage import gemini_counts, read_run_usage, read_usage, settle_counts
from howsure.traces.values import UNREADABLE, TraceProblems, decode_value, first_present, pick_value

#: A call of a model inside one of these is a new call, not a repetition of the call around it.
LLM_BOUNDARIES = frozenset({SpanKind.TOOL, SpanKind.TOOL_RESPONSE, SpanKind.AGENT, SpanKind.INVOCATION})
NO_MODEL_NAMES = frozenset({"", "unknown", "none", "null"})


def llm_calls(tree: SpanTree, problems: TraceProblems) -> list[LlmCall]:
    """Every call of a model, in order."""
    inner: dict[int, list[int]] = {}
    outermost: list[int] = []
    for place in tree.of_kind(SpanKind.LLM):
        around = tree.nearest(place, SpanKind.LLM, *LLM_BOUNDARIES)
        is_inside = around is not None and tree.kinds[around] is SpanKind.LLM
        (inner.setdefault(around, []) if is_inside and around is not None else outermost).append(place)
    calls = [(place, call) for place in outermost for call in _resolve_call(tree, place, inner, problems)]
    calls += _calls_on_tool_spans(tree, problems)
    return _settle_calls([call for _, call in sorted(calls, key=lambda pair: pair[0])])


def _settle_calls(calls: list[LlmCall]) -> list[LlmCall]:
    for model in {call.model for call in calls}:
        own = [place for place, call in enumerate(calls) if call.model == model and call.usage is not None]
        settled = settle_counts([usage for place in own if (usage := calls[place].usage)])
        for place, usage in zip(own, settled, strict=True):
            calls[place] = replace(calls[place], usage=usage)
    return calls


def _resolve_call(tree: SpanTree, place: int, inner: dict[int, list[int]], problems: TraceProblems) -> list[LlmCall]:
    """The innermost spans that report tokens, completed by what the span around them says."""
    own = _read_call(tree, place, problems)
    calls = [call for inside in inner.get(place, ()) for call in _resolve_call(tree, inside, inner, problems)]
    if not calls:
        return [] if _is_placeholder(own, tree.spans[place].attributes) else [own]
    if own.counted and not any(call.counted for call in calls):
        return [replace(own, model=own.model or calls[0].model)]
    if len(calls) > 1:
        return calls
    chunks = own.grounding_chunks if calls[0].grounding_chunks is None else calls[0].grounding_chunks
    return [replace(calls[0], model=calls[0].model or own.model, grounding_chunks=chunks)]


def _is_placeholder(call: LlmCall, attributes: Mapping[str, Any]) -> bool:
    """Converters write such a span for an event that holds no call: its attributes name no model, request, response or
    tokens. (Without any attribute nothing was recorded about the call.)"""
    if not attributes or call.model or call.usage is not None or first_present(attributes, names.SAID):
        return False
    return all(decode_value(attributes.get(name)) in (None, "", {}, []) for name in (*names.INPUTS, *names.OUTPUTS))


def _calls_on_tool_spans(tree: SpanTree, problems: TraceProblems) -> list[tuple[int, LlmCall]]:
    """Converters attach the response of the model, or only its tokens, to the tool call that it asked for: a response
    sometimes to several spans, and to the span of the model too."""
    calls: list[tuple[int, LlmCall]] = []
    seen = [one for place in tree.of_kind(SpanKind.LLM) if (one := _attached_response(tree.spans[place].attributes))]
    for place in tree.of_kind(SpanKind.TOOL):
        attributes = tree.spans[place].attributes
        response = _attached_response(attributes)
        if response is None and not first_present(attributes, names.MODELS):
            continue
        repeated = response is not None and any(_same_response(response, other) for other in seen)
        if repeated or any(tree.kinds[inside] is SpanKind.LLM for inside in tree.below(place)):
            continue
        call = _read_call(tree, place, problems)
        if call.counted and (response is not None or call.model):
            seen += [response] if response else []
            # The times of the span are those of the tool, not of the model.
            calls.append((place, replace(call, start_ns=None, end_ns=None, busy_ns=None, answered_ns=None)))
    return calls


def _attached_response(attributes: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """The event and the response of a model on this span; None if it has no response with tokens."""
    response = decode_value(attributes.get(names.LLM_RESPONSE))
    counted = gemini_counts(pick_value(response, "usage_metadata", "usageMetadata")) is not None
    return (attributes.get(names.EVENT_ID), response) if counted else None


def _same_response(one: tuple[Any, Any], other: tuple[Any, Any]) -> bool:
    return bool(one[0] == other[0] if one[0] and other[0] else one[1] == other[1])


def _read_call(tree: SpanTree, place: int, problems: TraceProblems) -> LlmCall:
    span = _decode_outputs(tree.spans[place])
    agent = tree.nearest(place, SpanKind.AGENT)
    # Beside the call, too: where a model does not say why it stopped, ADK ends its span after the tools have run.
    inside = [*tree.below(place), *(other for other in tree.beside(place) if _begins_within(tree.spans[other], span))]
    tools = [tree.spans[other] for other in sorted(inside) if tree.kinds[other] is SpanKind.TOOL]
    return LlmCall(
        model=_read_model(span),
        usage=read_usage(span.attributes, tree.title(place), problems),
        span=span.name,
        span_id=span.span_id,
        agent="" if agent is None else agent_name(tree.spans[agent]),
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        busy_ns=_busy_time(span, tools),
        answered_ns=min((tool.start_ns for tool in tools if tool.start_ns is not None), default=span.end_ns),
        grounding_chunks=_count_grounding(span.attributes),
    )


def _begins_within(other: Span, span: Span) -> bool:
    times = (span.start_ns, other.start_ns, span.end_ns)
    return None not in times and (span.start_ns or 0) <= (other.start_ns or 0) < (span.end_ns or 0)


def _decode_outputs(span: Span) -> Span:
    """The span with its outputs decoded, so that each is decoded once. What cannot be decoded stays unchanged."""
    decoded = {
        name: decode_value(span.attributes[name])
        for name in names.OUTPUTS
        if isinstance(span.attributes.get(name), str)
    }
    readable = {name: value for name, value in decoded.items() if value is not UNREADABLE}
    return replace(span, attributes={**span.attributes, **readable}) if readable else span


def _read_model(span: Span) -> str:
    for name in names.MODELS:
        value = span.attributes.get(name)
        if isinstance(value, str) and value.lower() not in NO_MODEL_NAMES:
            return value
    request, response = (decode_value(span.attributes.get(name)) for name in (names.LLM_REQUEST, names.LLM_RESPONSE))
    model = pick_value(request, "model") or pick_value(response, "model_version", "modelVersion")
    return model if isinstance(model, str) else ""


def _busy_time(span: Span, tools: list[Span]) -> int | None:
    """The duration of the span without the times in which a tool ran inside it (overlaps counted once)."""
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
    """How many sources the response cites; None if no response can be read."""
    seen = False
    for name in names.OUTPUTS:
        answer = decode_value(attributes.get(name))
        if answer is UNREADABLE or answer in (None, "", {}):
            continue
        seen = True
        candidates = pick_value(answer, "candidates")
        parts = [answer, *candidates] if isinstance(candidates, list) else [answer]
        metadata = [pick_value(part, "grounding_metadata", "groundingMetadata") for part in parts]
        chunks = [pick_value(each, "grounding_chunks", "groundingChunks") for each in metadata]
        if count := sum(len(each) for each in chunks if isinstance(each, list)):
            return count
    return 0 if seen or first_present(attributes, names.SAID) else None


#: A wrapper and what it wraps are on the same side of these: an agent used as a tool makes calls of its own.
TOOL_BOUNDARIES = (SpanKind.TOOL, SpanKind.TOOL_RESPONSE, SpanKind.AGENT, SpanKind.INVOCATION, SpanKind.LLM)
#: Keys under which frameworks wrap the result of a tool.
WRAPPINGS = ("result", "response", "output")


def tool_uses(tree: SpanTree, problems: TraceProblems) -> list[ToolUse]:
    """Every call of a tool, in order."""
    calls: list[ToolUse] = []
    owners: dict[int, int] = {}
    lone: list[ToolUse] = []
    for place in tree.of_kind(SpanKind.TOOL, SpanKind.TOOL_RESPONSE):
        use = _read_use(tree, place, problems)
        around = tree.nearest(place, *TOOL_BOUNDARIES)
        if around in owners and _same_call(calls[owners[around]], use):
            owners[place] = owners[around]
            calls[owners[around]] = _merge_uses(calls[owners[around]], use)
        elif tree.kinds[place] is SpanKind.TOOL_RESPONSE or (
            use.arguments is None and (use.response is not None or use.outcome is ToolOutcome.UNREADABLE)
        ):
            lone.append(use)
        else:
            owners[place] = len(calls)
            calls.append(use)
    return in_time_order(_pair_responses(calls, lone))


def _pair_responses(calls: list[ToolUse], responses: list[ToolUse]) -> list[ToolUse]:
    """Joins each response with its call: the one with the same id, else the first of the same name without a
    response."""
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
    """The same tool (a response may lack the name), and no different ids."""
    return other.name in (call.name, "") and (not call.call_id or not other.call_id or call.call_id == other.call_id)


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


def _read_use(tree: SpanTree, place: int, problems: TraceProblems) -> ToolUse:
    span = tree.spans[place]
    agent = tree.nearest(place, SpanKind.AGENT)
    arguments = _read_attribute(span.attributes, names.ARGUMENTS, tree.title(place), problems)
    response = _read_attribute(span.attributes, names.RESPONSES, tree.title(place), problems)
    if arguments is UNREADABLE:
        # Arguments exist, so the span is a call and not a response.
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


def _read_attribute(
    attributes: Mapping[str, Any], spellings: tuple[str, ...], span: str, problems: TraceProblems
) -> Any:
    """The decoded value of the first attribute that has one; UNREADABLE, with a problem, if it cannot be decoded."""
    name = first_present(attributes, spellings)
    value = decode_value(attributes[name]) if name else None
    if value == names.NOT_SPECIFIED or value == {"result": names.NOT_SPECIFIED}:
        return None
    # ADK writes only JSON here: other text was cut off or garbled.
    if value is UNREADABLE or (name == names.TOOL_RESPONSE and isinstance(value, str)):
        problems.add("unreadable_json", "is not JSON", span, name or "", attributes[name or ""])
        return UNREADABLE
    return value


def _call_id(attributes: Mapping[str, Any]) -> str:
    """The id of the call. Some libraries write the id of the run before it: the last one counts."""
    value = decode_value(attributes.get(first_present(attributes, names.CALL_IDS) or ""))
    if isinstance(value, list) and value:
        value = value[-1]
    return value if isinstance(value, str) else "" if value is None or value is UNREADABLE else str(value)


def _read_outcome(attributes: Mapping[str, Any], response: Any) -> ToolOutcome:
    status = str(attributes.get(first_present(attributes, names.STATUSES) or "")).upper()
    if first_present(attributes, names.ERRORS) or status.removeprefix("STATUS_CODE_") == "ERROR":
        return ToolOutcome.FAILED
    if response is UNREADABLE:
        return ToolOutcome.UNREADABLE
    if response is None:
        return ToolOutcome.NO_RESPONSE
    return ToolOutcome.FAILED if says_error(response) else ToolOutcome.SUCCEEDED


def says_error(response: Any, depth: int = 2) -> bool:
    """Whether the response of a tool reports an error: status "error", a value in `error`, or the flag of MCP."""
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
    """The trace of these spans. What cannot be read is in `problems` and is not counted."""
    problems = TraceProblems()
    tree = SpanTree([_fix_times(span, problems) for span in spans], problems)
    starts = [span.start_ns for span in tree.spans if span.start_ns is not None]
    ends = [span.end_ns for span in tree.spans if span.end_ns is not None]
    return Trace(
        llm_calls=tuple(llm_calls(tree, problems)),
        tool_uses=tuple(tool_uses(tree, problems)),
        agent_runs=tuple(_read_agent_runs(tree, problems)),
        invocations=tuple(_read_invocations(tree)),
        start_ns=min(starts, default=None),
        end_ns=max(ends, default=None),
        problems=tuple(problems.items),
    )


def _fix_times(span: Span, problems: TraceProblems) -> Span:
    """A span that ends before it starts loses its end."""
    if span.start_ns is None or span.end_ns is None or span.start_ns <= span.end_ns:
        return span
    problems.add(
        "negative_duration", "ends before it starts; its end is not used", f"span {span.span_id} ({span.name})"
    )
    return replace(span, end_ns=None)


def _read_agent_runs(tree: SpanTree, problems: TraceProblems) -> list[AgentRun]:
    """A run directly inside a run of the same agent is the same run, recorded twice."""
    runs: list[AgentRun] = []
    for place in tree.of_kind(SpanKind.AGENT):
        span, name = tree.spans[place], agent_name(tree.spans[place])
        around = tree.nearest(place, SpanKind.AGENT)
        within = "" if around is None else agent_name(tree.spans[around])
        if within == name and tree.nearest(place, SpanKind.AGENT, SpanKind.TOOL, SpanKind.INVOCATION) == around:
            continue
        usage = read_run_usage(span.attributes, tree.title(place), problems)
        runs.append(
            AgentRun(
                name=name, within=within, usage=usage, span_id=span.span_id, start_ns=span.start_ns, end_ns=span.end_ns
            )
        )
    return runs


def _read_invocations(tree: SpanTree) -> list[Invocation]:
    """The outermost turns (an agent used as a tool has inner turns). Without any: the outermost runs of agents, if
    everything happened inside one of them."""
    kind = SpanKind.INVOCATION if tree.of_kind(SpanKind.INVOCATION) else SpanKind.AGENT
    outermost = [place for place in tree.of_kind(kind) if tree.nearest(place, kind) is None]
    if kind is SpanKind.AGENT and any(
        tree.nearest(place, kind) is None for place in range(len(tree.spans)) if place not in outermost
    ):
        return []
    spans = [tree.spans[place] for place in outermost]
    return [Invocation(span_id=span.span_id, start_ns=span.start_ns, end_ns=span.end_ns) for span in spans]
