"""Spans → Trace: the one door to what a trace tells."""

from __future__ import annotations

from collections.abc import Sequence

from howsure.model.transcript import Span
from howsure.traces.kinds import Kind, agent_name
from howsure.traces.llm import llm_calls
from howsure.traces.tools import tool_uses
from howsure.traces.tree import Tree
from howsure.traces.usage import claimed_usage
from howsure.traces.values import Notes
from howsure.traces.views import AgentRun, Invocation, Trace


def read_trace(spans: Sequence[Span]) -> Trace:
    """What these spans tell. What cannot be read is in `problems`, and is counted as nothing."""
    notes = Notes()
    tree = Tree([_sane(span, notes) for span in spans], notes)
    starts = [span.start_ns for span in tree.spans if span.start_ns is not None]
    ends = [span.end_ns for span in tree.spans if span.end_ns is not None]
    return Trace(
        llm_calls=tuple(llm_calls(tree, notes)),
        tool_uses=tuple(tool_uses(tree, notes)),
        agent_runs=tuple(_agent_runs(tree, notes)),
        invocations=tuple(_invocations(tree)),
        start_ns=min(starts, default=None),
        end_ns=max(ends, default=None),
        problems=tuple(notes.problems),
    )


def _sane(span: Span, notes: Notes) -> Span:
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


def _agent_runs(tree: Tree, notes: Notes) -> list[AgentRun]:
    """A run directly inside a run of the same agent is the same run, traced twice."""
    runs: list[AgentRun] = []
    for place in tree.of_kind(Kind.AGENT):
        span, name = tree.spans[place], agent_name(tree.spans[place])
        around = tree.nearest(place, Kind.AGENT)
        within = "" if around is None else agent_name(tree.spans[around])
        if within == name and tree.nearest(place, Kind.AGENT, Kind.TOOL, Kind.INVOCATION) == around:
            continue
        usage = claimed_usage(span.attributes, tree.title(place), notes)
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


def _invocations(tree: Tree) -> list[Invocation]:
    """The outermost turns (an agent used as a tool has turns of its own inside); without any, the outermost agents'
    runs, where everything happened inside one."""
    kind = Kind.INVOCATION if tree.of_kind(Kind.INVOCATION) else Kind.AGENT
    outermost = [place for place in tree.of_kind(kind) if tree.nearest(place, kind) is None]
    if kind is Kind.AGENT and any(
        tree.nearest(place, kind) is None for place in range(len(tree.spans)) if place not in outermost
    ):
        return []
    spans = [tree.spans[place] for place in outermost]
    return [Invocation(span_id=span.span_id, start_ns=span.start_ns, end_ns=span.end_ns) for span in spans]
