"""Measures of tools, agents and sources: `tool_utilization`, `tool_success_rate`, `sandbox_usage` (files and code),
`agent_handoffs` and `grounding_utilization` (cited sources)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from msgspec import Struct

from howsure.graders.measures.base import NO_SPANS, MeasuredValue, MeasureEvidence, NoMeasurement, join_parts, plural
from howsure.model.score import UnscoredReason
from howsure.model.transcript import CODE_EXECUTION, AgentStep, ToolCall
from howsure.traces.read import says_error
from howsure.traces.trace import ToolOutcome, ToolUse, Trace

SANDBOX = (
    *("save_artifact", "load_artifact", "read_file", "write_file", "run_python_script", "execute_code"),
    *("save_to_file", "read_from_file", CODE_EXECUTION),
)
FROM_MESSAGES = "from the calls in the messages"


class ToolUses(Struct, frozen=True, kw_only=True):
    """The tool calls of one transcript, and a note if they do not come from spans."""

    uses: tuple[ToolUse, ...]
    note: str = ""


def tool_uses_of(evidence: MeasureEvidence) -> ToolUses:
    """The calls in the spans, or else those in the messages. Code that the provider ran is in no span."""
    trace, calls = evidence.trace, evidence.transcript.tool_calls
    if trace is not None and (trace.tool_uses or not calls):
        is_told = any(use.name == CODE_EXECUTION for use in trace.tool_uses)
        code = () if is_told else tuple(_as_use(call) for call in calls if call.name == CODE_EXECUTION)
        return ToolUses(uses=trace.tool_uses + code)
    if not calls:
        raise NoMeasurement(NO_SPANS)
    missing = NO_SPANS if trace is None else "the spans hold no tool call"
    return ToolUses(uses=tuple(_as_use(call) for call in calls), note=f"{missing}; {FROM_MESSAGES}")


def _as_use(call: ToolCall) -> ToolUse:
    outcome = ToolOutcome.NO_RESPONSE
    if call.result is not None:
        outcome = ToolOutcome.FAILED if call.result.failed or says_error(call.result.content) else ToolOutcome.SUCCEEDED
    return ToolUse(name=call.name, call_id=call.id, arguments=call.arguments, outcome=outcome)


def tool_utilization(evidence: MeasureEvidence) -> MeasuredValue:
    """How many tool calls there were. A call and its response count once."""
    used = tool_uses_of(evidence)
    counts = Counter(use.name for use in used.uses)
    details = {"total_tool_calls": len(used.uses), "unique_tools_used": len(counts), "tool_counts": dict(counts)}
    reason = f"{plural(len(used.uses), 'tool call')} to {plural(len(counts), 'tool')}"
    return MeasuredValue(value=float(len(used.uses)), reason=join_parts(reason, used.note), details=details)


def tool_success_rate(evidence: MeasureEvidence) -> MeasuredValue:
    """Calls answered without an error ÷ calls with a known outcome. A call without a response counts as failed."""
    used = tool_uses_of(evidence)
    if not used.uses:
        raise NoMeasurement(join_parts("no tool was called", used.note))
    counts = Counter(use.outcome for use in used.uses)
    worked, failed = counts[ToolOutcome.SUCCEEDED], counts[ToolOutcome.FAILED]
    silent, garbled = counts[ToolOutcome.NO_RESPONSE], counts[ToolOutcome.UNREADABLE]
    details: dict[str, Any] = {
        "tool_success_rate": None,
        "total_tool_calls": len(used.uses),
        "failed_tool_calls": failed,
        "failed_tools_list": list(dict.fromkeys(use.name for use in used.uses if use.outcome is ToolOutcome.FAILED)),
        "calls_without_response": silent,
        "unreadable_responses": garbled,
    }
    if gap := _unknown(counts, len(used.uses)):
        raise NoMeasurement(join_parts(gap[1], used.note), gap[0], details)
    decided = worked + failed + silent
    details["tool_success_rate"] = worked / decided
    parts = [f"{worked} of {plural(decided, 'call')} worked", f"{failed} failed" if failed else ""]
    parts += [f"{silent} without a response" if silent else "", f"{_responses(garbled)} left out" if garbled else ""]
    return MeasuredValue(value=worked / decided, reason=join_parts(*parts, used.note), details=details)


def _unknown(counts: Counter[ToolOutcome], total: int) -> tuple[UnscoredReason, str] | None:
    """Why there is no rate: no response was recorded, or none can be read."""
    if counts[ToolOutcome.UNREADABLE] == total:
        return UnscoredReason.ERROR, _responses(total)
    if counts[ToolOutcome.NO_RESPONSE] == total:
        return UnscoredReason.NOT_APPLICABLE, "no tool's response was recorded"
    # If content is not captured, a failure shows in the status of the span and a success does not show at all.
    if counts[ToolOutcome.NO_RESPONSE] and not counts[ToolOutcome.SUCCEEDED] and not counts[ToolOutcome.UNREADABLE]:
        known, rest = counts[ToolOutcome.FAILED], counts[ToolOutcome.NO_RESPONSE]
        return (
            UnscoredReason.ERROR,
            f"{known} of {plural(total, 'call')} failed; no response was recorded for the other {rest}",
        )
    return None


def _responses(number: int) -> str:
    return f"{plural(number, 'response')} that cannot be read"


def sandbox_usage(evidence: MeasureEvidence) -> MeasuredValue:
    """How many calls used a tool that touches files, artifacts or code."""
    used = tool_uses_of(evidence)
    counts = Counter(use.name for use in used.uses if any(mark in use.name.lower() for mark in SANDBOX))
    total = sum(counts.values())
    details = {
        "total_sandbox_ops": total,
        "unique_ops_used": len(counts),
        "sandbox_tools_used": list(counts),
        "op_counts": dict(counts),
    }
    reason = f"{total} of {plural(len(used.uses), 'tool call')} touched files, artifacts or code"
    return MeasuredValue(value=float(total), reason=join_parts(reason, used.note), details=details)


TRANSFER = "transfer_to_agent"
TRANSFER_TO = "transfer_to_"
TARGET_KEYS = ("agent_name", "agentName", "agent")


def agent_handoffs(evidence: MeasureEvidence) -> MeasuredValue:
    """Runs of agents plus calls of tools that hand over to an agent, as the golden world counts them. `delegations` is
    stricter: how often control passed from one agent to another."""
    trace = evidence.trace
    if trace is None:
        return _from_steps(evidence)
    if not trace.agent_runs and not trace.tool_uses:
        raise NoMeasurement("no run of an agent was recorded")
    transfers = [use for use in trace.tool_uses if (use.name.endswith("Agent") or use.name.startswith(TRANSFER_TO))]
    agents = _agents([*(run.name for run in trace.agent_runs), *(_target(use) for use in transfers)])
    delegations = _delegations(trace, transfers)
    runs, calls = plural(len(trace.agent_runs), "run"), plural(len(transfers), "transfer call")
    passed = plural(delegations, "time")
    reason = f"{runs} of {plural(len(agents), 'agent')} and {calls}; control passed between agents {passed}"
    return _handoffs(reason, agents, len(trace.agent_runs), len(transfers), delegations)


def _from_steps(evidence: MeasureEvidence) -> MeasuredValue:
    """Without spans: from the order in which agents took part."""
    steps = [step.name for step in evidence.transcript.trajectory if isinstance(step, AgentStep)]
    if not steps:
        raise NoMeasurement(NO_SPANS)
    agents = _agents(steps)
    delegations = sum(before != after for before, after in pairwise(steps))
    reason = f"{plural(len(steps), 'step')} of {plural(len(agents), 'agent')}; {NO_SPANS}; from the agents' steps"
    return _handoffs(reason, agents, len(steps), None, delegations)


def _handoffs(reason: str, agents: list[str], runs: int, transfers: int | None, delegations: int) -> MeasuredValue:
    total = runs + (transfers or 0)
    details = {
        "total_handoffs": total,
        "unique_agents_count": len(agents),
        "agents_invoked_list": agents,
        "agent_runs": runs,
        "transfer_calls": transfers,
        "delegations": delegations,
    }
    return MeasuredValue(value=float(total), reason=reason, details=details)


def _target(use: ToolUse) -> str:
    """The agent that a call hands over to; empty if the call does not name it."""
    if use.name != TRANSFER:
        return use.name.removeprefix(TRANSFER_TO)
    arguments = use.arguments if isinstance(use.arguments, Mapping) else {}
    named = next((arguments[key] for key in TARGET_KEYS if key in arguments), "")
    return named if isinstance(named, str) else ""


def _agents(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name for name in names if name))


def _delegations(trace: Trace, transfers: list[ToolUse]) -> int:
    """Runs inside the run of another agent, plus transfers without such a run. A transfer and its run count once."""
    inner = [run.name for run in trace.agent_runs if run.within and run.within != run.name]
    total = len(inner)
    for use in transfers:
        target = _target(use)
        if target in inner:
            inner.remove(target)
        elif not target and inner:
            inner.pop(0)
        else:
            total += 1
    return total


def grounding_utilization(evidence: MeasureEvidence) -> MeasuredValue:
    """How many sources the responses cite, and how many responses cite any."""
    if evidence.trace is None:
        raise NoMeasurement(NO_SPANS)
    if not evidence.trace.llm_calls:
        raise NoMeasurement("no call of a model was recorded")
    chunks = [call.grounding_chunks for call in evidence.trace.llm_calls if call.grounding_chunks is not None]
    if not chunks:
        raise NoMeasurement("no response of a model was recorded, so its citations are unknown")
    grounded = sum(count > 0 for count in chunks)
    details = {
        "total_grounding_chunks": sum(chunks),
        "total_grounded_responses": grounded,
        "total_llm_responses": len(chunks),
        "grounded_share": grounded / len(chunks),
    }
    reason = f"{plural(sum(chunks), 'source')} cited; {grounded} of {plural(len(chunks), 'response')} cite any"
    return MeasuredValue(value=float(sum(chunks)), reason=reason, details=details)
