"""Measures of tools: how often they were used, how often that worked, and how often files and code were touched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from howsure.graders.measures.base import NO_SPANS, Evidence, Found, Missing, counted, sentences
from howsure.model.score import Why
from howsure.model.transcript import ToolCall
from howsure.traces.tools import says_error
from howsure.traces.views import Outcome, ToolUse

SANDBOX = (
    "save_artifact",
    "load_artifact",
    "read_file",
    "write_file",
    "run_python_script",
    "execute_code",
    "save_to_file",
    "read_from_file",
)
FROM_MESSAGES = "from the calls in the messages"


class Uses(Struct, frozen=True, kw_only=True):
    """The tool calls of one transcript, and a note where they do not come from spans."""

    uses: tuple[ToolUse, ...]
    note: str = ""


def tool_uses_of(evidence: Evidence) -> Uses | Missing:
    """The calls in the spans; where these hold none, those in the messages."""
    trace, calls = evidence.trace, evidence.transcript.tool_calls
    if trace is not None and (trace.tool_uses or not calls):
        return Uses(uses=trace.tool_uses)
    if not calls:
        return Missing(reason=NO_SPANS)
    missing = NO_SPANS if trace is None else "the spans hold no tool call"
    return Uses(uses=tuple(_as_use(call) for call in calls), note=f"{missing}; {FROM_MESSAGES}")


def _as_use(call: ToolCall) -> ToolUse:
    outcome = Outcome.NO_RESPONSE
    if call.result is not None:
        outcome = Outcome.FAILED if call.result.failed or says_error(call.result.content) else Outcome.SUCCEEDED
    return ToolUse(name=call.name, call_id=call.id, arguments=call.arguments, outcome=outcome)


def tool_utilization(evidence: Evidence) -> Found | Missing:
    """How many tool calls there were; a call and its response count once."""
    found = tool_uses_of(evidence)
    if isinstance(found, Missing):
        return found
    counts = Counter(use.name for use in found.uses)
    details = {
        "total_tool_calls": len(found.uses),
        "unique_tools_used": len(counts),
        "tool_counts": dict(counts),
    }
    said = f"{counted(len(found.uses), 'tool call')} to {counted(len(counts), 'tool')}"
    return Found(value=float(len(found.uses)), reason=sentences(said, found.note), details=details)


def tool_success_rate(evidence: Evidence) -> Found | Missing:
    """Calls answered without an error ÷ calls whose outcome is known; a call left without a response did not work."""
    found = tool_uses_of(evidence)
    if isinstance(found, Missing):
        return found
    if not found.uses:
        return Missing(reason=sentences("no tool was called", found.note))
    counts = Counter(use.outcome for use in found.uses)
    worked, failed = counts[Outcome.SUCCEEDED], counts[Outcome.FAILED]
    silent, garbled = counts[Outcome.NO_RESPONSE], counts[Outcome.UNREADABLE]
    details: dict[str, Any] = {
        "tool_success_rate": None,
        "total_tool_calls": len(found.uses),
        "failed_tool_calls": failed,
        "failed_tools_list": _names(found.uses, Outcome.FAILED),
        "calls_without_response": silent,
        "unreadable_responses": garbled,
    }
    gap = _unknown(counts, len(found.uses))
    if gap is not None:
        return Missing(why=gap[0], reason=sentences(gap[1], found.note), details=details)
    decided = worked + failed + silent
    details["tool_success_rate"] = worked / decided
    said = [f"{worked} of {counted(decided, 'call')} worked", f"{failed} failed" if failed else ""]
    said += [f"{silent} without a response" if silent else "", f"{_responses(garbled)} left out" if garbled else ""]
    return Found(value=worked / decided, reason=sentences(*said, found.note), details=details)


def _unknown(counts: Counter[Outcome], total: int) -> tuple[Why, str] | None:
    """Why there is no rate: nobody recorded a response, or none can be read."""
    if counts[Outcome.UNREADABLE] == total:
        return Why.ERROR, _responses(total)
    if counts[Outcome.NO_RESPONSE] == total:
        return Why.NOT_APPLICABLE, "no tool's response was recorded"
    # Where content is not captured, a failure shows in the span's status and a success nowhere.
    if counts[Outcome.NO_RESPONSE] and not counts[Outcome.SUCCEEDED] and not counts[Outcome.UNREADABLE]:
        known, rest = counts[Outcome.FAILED], counts[Outcome.NO_RESPONSE]
        return Why.ERROR, f"{known} of {counted(total, 'call')} failed; no response was recorded for the other {rest}"
    return None


def _responses(number: int) -> str:
    return f"{counted(number, 'response')} that cannot be read"


def _names(uses: Sequence[ToolUse], outcome: Outcome) -> list[str]:
    return list(dict.fromkeys(use.name for use in uses if use.outcome is outcome))


def sandbox_usage(evidence: Evidence) -> Found | Missing:
    """How many calls went to tools that touch files, artifacts or code."""
    found = tool_uses_of(evidence)
    if isinstance(found, Missing):
        return found
    counts = Counter(use.name for use in found.uses if any(mark in use.name.lower() for mark in SANDBOX))
    total = sum(counts.values())
    details = {
        "total_sandbox_ops": total,
        "unique_ops_used": len(counts),
        "sandbox_tools_used": list(counts),
        "op_counts": dict(counts),
    }
    said = f"{total} of {counted(len(found.uses), 'tool call')} touched files, artifacts or code"
    return Found(value=float(total), reason=sentences(said, found.note), details=details)
