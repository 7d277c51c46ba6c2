"""ToolCallAccuracyExplain, 1 to 5: the calls that were made against those that were expected, the tools that exist, and
what came back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from howsure.judges.offline.opinions import CannotTell, Opinion, View
from howsure.matching.calls import compare_calls
from howsure.model.case import Case
from howsure.model.expectation import ToolCalls
from howsure.model.transcript import ToolCall, Transcript


def tool_accuracy(case: Case, transcript: Transcript) -> View:
    """From the expected calls where the case has them; else only plain faults can be seen."""
    expected = [each for each in case.expectations if isinstance(each, ToolCalls)]
    faults = list(_faults(transcript.tool_calls, case))
    if expected:
        return _compared(expected, transcript, faults)
    if faults:
        return Opinion(value=2, confidence=0.7, reason=f"{'; '.join(faults)}.")
    return CannotTell("the case expects no particular tool calls, so right and wrong ones look the same")


def _compared(expected: Sequence[ToolCalls], transcript: Transcript, faults: Sequence[str]) -> Opinion:
    found = [compare_calls(calls, transcript.messages) for calls in expected]
    value = min(each.value for each in found)
    reasons = [reason for each in found for reason in each.reasons] + list(faults)
    lowered = max(0.0, value - 0.25 * len(faults))
    return Opinion(
        value=round(1 + 4 * lowered),
        confidence=0.8,
        reason=f"{'; '.join(reasons[:4])}." if reasons else "The calls are the expected ones.",
        details={"matched": sum(each.matched for each in found), "value": round(value, 3)},
    )


def _faults(calls: Sequence[ToolCall], case: Case) -> Iterable[str]:
    known = {tool.name for tool in case.tools} if case.tools else None
    for name in dict.fromkeys(call.name for call in calls if known is not None and call.name not in known):
        yield f"{name} is none of the agent's tools"
    failed = [call.name for call in calls if call.result is not None and call.result.failed]
    if failed and len(failed) == len(calls):
        yield "every call failed"
    seen: set[str] = set()
    for call in calls:
        key = f"{call.name} {sorted(call.arguments.items(), key=str)}"
        if key in seen:
            yield f"{call.name} was called again with the same arguments"
        seen.add(key)
