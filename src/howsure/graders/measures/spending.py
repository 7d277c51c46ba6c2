"""The tokens of one transcript, call by call, from the best source there is, and a note where that is not the spans."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from howsure.graders.measures.base import NO_SPANS, Evidence, Missing
from howsure.model.transcript import Usage
from howsure.traces.views import LlmCall, Trace

FROM_TARGET = "from the usage the target reported"
FROM_AGENTS = "the calls report no tokens; from what the agents' spans claim for whole runs"


class Spending(Struct, frozen=True, kw_only=True):
    """`calls` are the calls that report tokens; `llm_calls` None: nobody recorded how many there were."""

    calls: tuple[LlmCall, ...]
    llm_calls: int | None = None
    uncounted: int = 0
    per_call: bool = True
    note: str = ""

    @property
    def usages(self) -> tuple[Usage, ...]:
        return tuple(call.usage for call in self.calls if call.usage is not None)


def spending(evidence: Evidence) -> Spending | Missing:
    """What was spent, or why nobody knows."""
    trace, usage = evidence.trace, evidence.transcript.usage
    found = None if trace is None else _from_trace(trace)
    if found is not None:
        return found
    if usage is not None and (usage.prompt_tokens, usage.completion_tokens, usage.cost_usd) != (None, None, None):
        note = f"{NO_SPANS}; {FROM_TARGET}" if trace is None else FROM_TARGET
        return Spending(calls=(LlmCall(usage=usage),), per_call=False, note=note)
    if trace is None:
        return Missing(reason=NO_SPANS)
    calls = len(trace.llm_calls)
    if not calls:
        return Missing(reason="no call of a model was recorded", details={"llm_calls": 0})
    return Missing(reason="the spans report no token counts", details={"llm_calls": calls})


def _from_trace(trace: Trace) -> Spending | None:
    calls = tuple(call for call in trace.llm_calls if call.counted)
    if calls:
        total = len(trace.llm_calls)
        return Spending(calls=calls, llm_calls=total, uncounted=total - len(calls))
    runs = [run for run in trace.agent_runs if not run.within and run.usage is not None]
    if not runs:
        return None
    claimed = tuple(LlmCall(model=_one_model(trace), usage=run.usage, agent=run.name) for run in runs)
    return Spending(calls=claimed, llm_calls=len(trace.llm_calls) or None, per_call=False, note=FROM_AGENTS)


def _one_model(trace: Trace) -> str:
    """The model of every call, where it is one."""
    models = {call.model for call in trace.llm_calls}
    return models.pop() if len(models) == 1 else ""


def total_of(counts: Sequence[int | None]) -> int | None:
    """The sum of what is known; None when nothing is."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
