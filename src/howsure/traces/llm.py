"""Calls of models, each once: a span that wraps another call of a model, or repeats its counts, is the same call."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from howsure.model.transcript import Span
from howsure.traces import names
from howsure.traces.kinds import Kind, agent_name
from howsure.traces.tree import Tree
from howsure.traces.usage import gemini_counts, usage_of
from howsure.traces.values import UNREADABLE, Notes, decoded, pick, present
from howsure.traces.views import LlmCall

#: A model called inside one of these was called anew: it is no repetition of the call around it.
BOUNDARIES = frozenset({Kind.TOOL, Kind.TOOL_RESPONSE, Kind.AGENT, Kind.INVOCATION})
NOBODY = frozenset({"", "unknown", "none", "null"})


def llm_calls(tree: Tree, notes: Notes) -> list[LlmCall]:
    """Every call of a model, in order."""
    inner: dict[int, list[int]] = {}
    outermost: list[int] = []
    for place in tree.of_kind(Kind.LLM):
        around = _wrapper(tree, place)
        (outermost if around is None else inner.setdefault(around, [])).append(place)
    found = [(place, call) for place in outermost for call in _resolved(tree, place, inner, notes)]
    found += _on_tool_spans(tree, notes)
    return [call for _, call in sorted(found, key=lambda pair: pair[0])]


def _wrapper(tree: Tree, place: int) -> int | None:
    for around in tree.above(place):
        if tree.kinds[around] is Kind.LLM:
            return around
        if tree.kinds[around] in BOUNDARIES:
            return None
    return None


def _resolved(tree: Tree, place: int, inner: dict[int, list[int]], notes: Notes) -> list[LlmCall]:
    """The innermost spans that report tokens; they learn from the span around them what they do not say themselves."""
    own = _call(tree, place, notes)
    calls = [call for inside in inner.get(place, ()) for call in _resolved(tree, inside, inner, notes)]
    if not calls:
        return [own]
    if own.counted and not any(call.counted for call in calls):
        return [replace(own, model=own.model or calls[0].model)]
    return [_completed(calls[0], own)] if len(calls) == 1 else calls


def _completed(call: LlmCall, around: LlmCall) -> LlmCall:
    chunks = around.grounding_chunks if call.grounding_chunks is None else call.grounding_chunks
    return replace(call, model=call.model or around.model, grounding_chunks=chunks)


def _on_tool_spans(tree: Tree, notes: Notes) -> list[tuple[int, LlmCall]]:
    """Converters hang the model's response on the tool call it asked for; one response may hang on several."""
    found: list[tuple[int, LlmCall]] = []
    seen: list[Any] = []
    for place in tree.of_kind(Kind.TOOL):
        attributes = tree.spans[place].attributes
        response = decoded(attributes.get(names.LLM_RESPONSE))
        if gemini_counts(pick(response, "usage_metadata", "usageMetadata")) is None:
            continue
        event = attributes.get(names.EVENT_ID) or response
        if event not in seen:
            seen.append(event)
            # The span's times are the tool's, not the model's.
            call = replace(_call(tree, place, notes), start_ns=None, end_ns=None, busy_ns=None, answered_ns=None)
            found.append((place, call))
    return found


def _call(tree: Tree, place: int, notes: Notes) -> LlmCall:
    span = _opened(tree.spans[place])
    agent = tree.nearest(place, Kind.AGENT)
    tools = [tree.spans[inside] for inside in tree.below(place) if tree.kinds[inside] is Kind.TOOL]
    return LlmCall(
        model=_model(span),
        usage=usage_of(span.attributes, tree.title(place), notes),
        span=span.name,
        span_id=span.span_id,
        agent="" if agent is None else agent_name(tree.spans[agent]),
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        busy_ns=_busy(span, tools),
        answered_ns=min((tool.start_ns for tool in tools if tool.start_ns is not None), default=span.end_ns),
        grounding_chunks=_grounding(span.attributes),
    )


def _opened(span: Span) -> Span:
    """The span with the answers kept on it decoded, so that each is decoded once; what is broken stays as it was."""
    kept = {
        name: decoded(span.attributes[name]) for name in names.OUTPUTS if isinstance(span.attributes.get(name), str)
    }
    opened = {name: value for name, value in kept.items() if value is not UNREADABLE}
    return replace(span, attributes={**span.attributes, **opened}) if opened else span


def _model(span: Span) -> str:
    for name in names.MODELS:
        value = span.attributes.get(name)
        if isinstance(value, str) and value.lower() not in NOBODY:
            return value
    request, response = (decoded(span.attributes.get(name)) for name in (names.LLM_REQUEST, names.LLM_RESPONSE))
    found = pick(request, "model") or pick(response, "model_version", "modelVersion")
    return found if isinstance(found, str) else ""


def _busy(span: Span, tools: list[Span]) -> int | None:
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


def _grounding(attributes: dict[str, Any]) -> int | None:
    """How many sources the response cites; None where no response can be read."""
    seen = False
    for name in names.OUTPUTS:
        answer = decoded(attributes.get(name))
        if answer is UNREADABLE or answer in (None, "", {}):
            continue
        seen = True
        chunks = _chunks(answer)
        if chunks:
            return chunks
    return 0 if seen or present(attributes, names.SAID) else None


def _chunks(answer: Any) -> int:
    candidates = pick(answer, "candidates")
    parts = [answer, *candidates] if isinstance(candidates, list) else [answer]
    metadata = [pick(part, "grounding_metadata", "groundingMetadata") for part in parts]
    chunks = [pick(found, "grounding_chunks", "groundingChunks") for found in metadata]
    return sum(len(found) for found in chunks if isinstance(found, list))
