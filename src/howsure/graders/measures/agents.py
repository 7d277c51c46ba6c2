"""The measures of who took part and on what the answers rest: runs of agents and transfers, and cited sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from howsure.graders.measures.base import NO_SPANS, Evidence, Found, Missing, counted
from howsure.model.transcript import AgentStep
from howsure.traces.views import ToolUse, Trace

TRANSFER = "transfer_to_agent"
TRANSFER_TO = "transfer_to_"
TARGET_KEYS = ("agent_name", "agentName", "agent")


def agent_handoffs(evidence: Evidence) -> Found | Missing:
    """Runs of agents, plus calls of tools that hand over to one, as the golden world counts them.

    `delegations` is the stricter number: how often control passed from one agent to another.
    """
    trace = evidence.trace
    if trace is None:
        return _from_steps(evidence)
    if not trace.agent_runs and not trace.tool_uses:
        return Missing(reason="no run of an agent was recorded")
    transfers = [use for use in trace.tool_uses if _is_transfer(use.name)]
    agents = _agents([*(run.name for run in trace.agent_runs), *(_target(use) for use in transfers)])
    total, delegations = len(trace.agent_runs) + len(transfers), _delegations(trace, transfers)
    details = {
        "total_handoffs": total,
        "unique_agents_count": len(agents),
        "agents_invoked_list": agents,
        "agent_runs": len(trace.agent_runs),
        "transfer_calls": len(transfers),
        "delegations": delegations,
    }
    runs, calls = counted(len(trace.agent_runs), "run"), counted(len(transfers), "transfer call")
    passed = counted(delegations, "time")
    said = f"{runs} of {counted(len(agents), 'agent')} and {calls}; control passed between agents {passed}"
    return Found(value=float(total), reason=said, details=details)


def _from_steps(evidence: Evidence) -> Found | Missing:
    """Without spans: the order in which agents took part."""
    steps = [step.name for step in evidence.transcript.trajectory if isinstance(step, AgentStep)]
    if not steps:
        return Missing(reason=NO_SPANS)
    agents = _agents(steps)
    delegations = sum(before != after for before, after in pairwise(steps))
    details = {
        "total_handoffs": len(steps),
        "unique_agents_count": len(agents),
        "agents_invoked_list": agents,
        "agent_runs": len(steps),
        "transfer_calls": None,
        "delegations": delegations,
    }
    said = f"{counted(len(steps), 'step')} of {counted(len(agents), 'agent')}; {NO_SPANS}; from the agents' steps"
    return Found(value=float(len(steps)), reason=said, details=details)


def _is_transfer(name: str) -> bool:
    return name.endswith("Agent") or name.startswith(TRANSFER_TO)


def _target(use: ToolUse) -> str:
    """The agent a call hands over to; empty where the call does not say."""
    if use.name != TRANSFER:
        return use.name.removeprefix(TRANSFER_TO)
    arguments = use.arguments if isinstance(use.arguments, Mapping) else {}
    named = next((arguments[key] for key in TARGET_KEYS if key in arguments), "")
    return named if isinstance(named, str) else ""


def _agents(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name for name in names if name))


def _delegations(trace: Trace, transfers: list[ToolUse]) -> int:
    """Runs inside another agent's run, and the transfers that no such run shows: a transfer and its run are one."""
    inner = [run.name for run in trace.agent_runs if run.within and run.within != run.name]
    unseen = len(inner)
    for use in transfers:
        target = _target(use)
        if target in inner:
            inner.remove(target)
        elif not target and inner:
            inner.pop(0)
        else:
            unseen += 1
    return unseen


def grounding_utilization(evidence: Evidence) -> Found | Missing:
    """How many sources the responses cite, and how many responses cite any."""
    if evidence.trace is None:
        return Missing(reason=NO_SPANS)
    if not evidence.trace.llm_calls:
        return Missing(reason="no call of a model was recorded")
    chunks = [call.grounding_chunks for call in evidence.trace.llm_calls if call.grounding_chunks is not None]
    if not chunks:
        return Missing(reason="no response of a model was recorded, so nobody knows what it cites")
    grounded = sum(count > 0 for count in chunks)
    details = {
        "total_grounding_chunks": sum(chunks),
        "total_grounded_responses": grounded,
        "total_llm_responses": len(chunks),
        "grounded_share": grounded / len(chunks),
    }
    said = f"{counted(sum(chunks), 'source')} cited; {grounded} of {counted(len(chunks), 'response')} cite any"
    return Found(value=float(sum(chunks)), reason=said, details=details)
