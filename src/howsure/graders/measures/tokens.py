"""Measures of tokens: `token_usage` (cost), `cache_efficiency`, `thinking_metrics`, `context_saturation` (the largest
call) and `output_density`. They read the tokens of each call from the best source there is: the spans, what agents
report for whole runs, or what the target reports."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from howsure.graders.measures.base import NO_SPANS, MeasuredValue, MeasureEvidence, NoMeasurement, join_parts, plural
from howsure.model.score import UnscoredReason
from howsure.model.transcript import Usage
from howsure.prices.table import PriceTable
from howsure.traces.trace import LlmCall, Trace
from howsure.traces.usage import total_tokens

FROM_TARGET = "from the usage the target reported"
FROM_AGENTS = "the calls report no tokens; from what the agents' spans claim for whole runs"


class TokenSpending(Struct, frozen=True, kw_only=True):
    """The tokens of one transcript. `calls` are the calls that report tokens. `llm_calls` None: their number was not
    recorded. `per_call` False: the counts are sums over several calls. `note` names the source if it is not the
    spans."""

    calls: tuple[LlmCall, ...]
    llm_calls: int | None = None
    uncounted: int = 0
    per_call: bool = True
    note: str = ""

    @property
    def usages(self) -> tuple[Usage, ...]:
        return tuple(call.usage for call in self.calls if call.usage is not None)


def token_spending(evidence: MeasureEvidence) -> TokenSpending:
    """The tokens of a transcript, or why they are unknown."""
    trace, usage = evidence.trace, evidence.transcript.usage
    if trace is not None and (spending := _from_trace(trace)):
        return spending
    if usage is not None and (usage.prompt_tokens, usage.completion_tokens, usage.cost_usd) != (None, None, None):
        note = f"{NO_SPANS}; {FROM_TARGET}" if trace is None else FROM_TARGET
        return TokenSpending(calls=(LlmCall(usage=usage),), per_call=False, note=note)
    if trace is None:
        raise NoMeasurement(NO_SPANS)
    reason = "the spans report no token counts" if trace.llm_calls else "no call of a model was recorded"
    raise NoMeasurement(reason, details={"llm_calls": len(trace.llm_calls)})


def _from_trace(trace: Trace) -> TokenSpending | None:
    calls = tuple(call for call in trace.llm_calls if call.counted)
    if calls:
        total = len(trace.llm_calls)
        return TokenSpending(calls=calls, llm_calls=total, uncounted=total - len(calls))
    runs = [run for run in trace.agent_runs if not run.within and run.usage is not None]
    if not runs:
        return None
    models = {call.model for call in trace.llm_calls}
    model = models.pop() if len(models) == 1 else ""
    claimed = tuple(LlmCall(model=model, usage=run.usage, agent=run.name) for run in runs)
    return TokenSpending(calls=claimed, llm_calls=len(trace.llm_calls) or None, per_call=False, note=FROM_AGENTS)


def total_of(counts: Sequence[int | None]) -> int | None:
    """The sum of the known counts; None if none is known."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def token_usage(evidence: MeasureEvidence) -> MeasuredValue:
    """Cost in US dollars: each call at the price of its model. Unknown if the cost of one call is unknown."""
    spending = token_spending(evidence)
    costs = [_cost(evidence.prices, call) for call in spending.calls]
    gaps = _gaps(evidence.prices, spending)
    known = sum(cost for cost in costs if cost is not None)
    usages = spending.usages
    prompt = total_of([usage.prompt_tokens for usage in usages])
    completion = total_of([usage.completion_tokens for usage in usages])
    thinking = total_of([usage.thinking_tokens for usage in usages])
    brought = total_of([usage.tool_prompt_tokens for usage in usages])
    total = total_of([prompt, completion, thinking])
    details = {
        "llm_calls": spending.llm_calls,
        "models_used": list(dict.fromkeys(call.model for call in spending.calls if call.model)),
        "total_tokens": total,
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "cached_tokens": total_of([usage.cached_tokens for usage in usages]),
        "thinking_tokens": thinking,
        "tool_prompt_tokens": brought,
        "estimated_cost_usd": None if gaps else known,
        "calls_without_usage": spending.uncounted,
        "prices_as_of": evidence.prices.as_of,
    }
    if gaps:
        details["known_cost_usd"] = known
        raise NoMeasurement(join_parts(*gaps, spending.note), UnscoredReason.ERROR, details)
    from_tools = f"{brought} prompt tokens were brought by tools" if brought else ""
    reason = join_parts(
        f"${known:.6f} for {total} tokens", from_tools, _full_price_note(evidence.prices, spending), spending.note
    )
    return MeasuredValue(value=known, reason=reason, details=details)


def _cost(prices: PriceTable, call: LlmCall) -> float | None:
    """By the price table; if it does not know the model, the cost that the trace reports."""
    if call.usage is None:
        return None
    cost = prices.cost(call.model, call.usage)
    return call.usage.cost_usd if cost is None else cost


def _gaps(prices: PriceTable, spending: TokenSpending) -> list[str]:
    """Why the cost is unknown."""
    unpriced = [call for call in spending.calls if _cost(prices, call) is None]
    models = sorted({call.model for call in unpriced if call.model and prices.price(call.model) is None})
    nameless = sum(not call.model for call in unpriced)
    halves = sum(prices.price(call.model) is not None for call in unpriced)
    gaps = [f"no price is known for model {model}" for model in models]
    if nameless:
        gaps.append(f"no model is named for {plural(nameless, 'count')} of tokens")
    if halves:
        gaps.append(f"{plural(halves, 'call')} of a model without both prompt and completion tokens")
    if spending.uncounted:
        gaps.append(f"{spending.uncounted} of {plural(spending.llm_calls or 0, 'call')} of a model report no tokens")
    return gaps


def _full_price_note(prices: PriceTable, spending: TokenSpending) -> str:
    models = [call.model for call in spending.calls if call.usage is not None and call.usage.cached_tokens]
    known = {model: prices.price(model) for model in models}
    full = sorted(model for model, price in known.items() if price is not None and price.cached is None)
    return f"cached tokens at the full prompt price (no other is known) for {', '.join(full)}" if full else ""


def cache_efficiency(evidence: MeasureEvidence) -> MeasuredValue:
    """Cached tokens ÷ prompt tokens, over the calls that report both. Prompt tokens include the cached ones."""
    spending = token_spending(evidence)
    pairs = [
        (usage.prompt_tokens, usage.cached_tokens)
        for usage in spending.usages
        if usage.prompt_tokens is not None and usage.cached_tokens is not None
    ]
    if not pairs:
        raise NoMeasurement(join_parts("no call reports cached tokens", spending.note))
    cached = sum(pair[1] for pair in pairs)
    prompt = sum(pair[0] for pair in pairs)
    # Counts that do not come from spans may still leave the cached tokens out of the prompt.
    beside = "more cached tokens than prompt: they were counted beside it" if cached > prompt else ""
    whole = prompt + cached if beside else prompt
    if not whole:
        raise NoMeasurement(join_parts("no prompt tokens were used", spending.note))
    details = {
        "cache_hit_rate": cached / whole,
        "total_cached_tokens": cached,
        "total_fresh_prompt_tokens": whole - cached,
        "total_input_tokens": whole,
    }
    summary = join_parts(
        f"{cached} of {whole} prompt tokens came from the cache", beside, _unreported(spending, len(pairs))
    )
    return MeasuredValue(value=cached / whole, reason=join_parts(summary, spending.note), details=details)


def thinking_share(evidence: MeasureEvidence) -> MeasuredValue:
    """Thinking ÷ (thinking + completion), over the calls that report thinking."""
    spending = token_spending(evidence)
    pairs = [
        (usage.thinking_tokens, usage.completion_tokens or 0)
        for usage in spending.usages
        if usage.thinking_tokens is not None
    ]
    if not pairs:
        raise NoMeasurement(join_parts("no call reports thinking tokens", spending.note))
    thought = sum(pair[0] for pair in pairs)
    written = sum(pair[1] for pair in pairs)
    if not thought + written:
        raise NoMeasurement(join_parts("the model wrote nothing", spending.note))
    details = {
        "reasoning_ratio": thought / (thought + written),
        "total_thinking_tokens": thought,
        "total_candidate_tokens": written,
        "total_output_tokens": thought + written,
        "turns_with_thinking": sum(pair[0] > 0 for pair in pairs) if spending.per_call else None,
    }
    shares = f"{thought} of {thought + written} output tokens were thinking"
    reason = join_parts(shares, _unreported(spending, len(pairs)), spending.note)
    return MeasuredValue(value=thought / (thought + written), reason=reason, details=details)


def context_saturation(evidence: MeasureEvidence) -> MeasuredValue:
    """The most tokens in one call (prompt + completion + thinking), and which call that was."""
    spending = _spending_per_call(evidence)
    sizes = [(size, call) for call in spending.calls if call.usage and (size := total_tokens(call.usage)) is not None]
    if not sizes:
        raise NoMeasurement("no call reports both prompt and completion tokens")
    most, peak = max(sizes, key=lambda pair: pair[0])
    details = {
        "max_total_tokens": most,
        "peak_usage_span": peak.span,
        "peak_span_id": peak.span_id,
        "peak_model": peak.model,
        "peak_agent": peak.agent,
    }
    return MeasuredValue(
        value=float(most),
        reason=join_parts(f"{most} tokens in one call, in {peak.span}", _unreported(spending, len(sizes))),
        details=details,
    )


def output_density(evidence: MeasureEvidence) -> MeasuredValue:
    """The mean number of completion tokens in a call. Thinking does not count: nobody reads it."""
    spending = _spending_per_call(evidence)
    written = [usage.completion_tokens for usage in spending.usages if usage.completion_tokens is not None]
    if not written:
        raise NoMeasurement("no call reports completion tokens")
    mean = sum(written) / len(written)
    details = {"average_output_tokens": mean, "total_output_tokens": sum(written), "llm_calls_count": len(written)}
    summary = f"{mean:.1f} completion tokens a call, over {plural(len(written), 'call')}"
    return MeasuredValue(value=mean, reason=join_parts(summary, _unreported(spending, len(written))), details=details)


def _spending_per_call(evidence: MeasureEvidence) -> TokenSpending:
    """The tokens, if they are known for each call."""
    spending = token_spending(evidence)
    if not spending.per_call:
        raise NoMeasurement(NO_SPANS if evidence.trace is None else "no single call of a model reports tokens")
    return spending


def _unreported(spending: TokenSpending, used: int) -> str:
    """How many calls do not report what is measured."""
    if not spending.per_call or spending.llm_calls is None or used == spending.llm_calls:
        return ""
    return f"{spending.llm_calls - used} of {plural(spending.llm_calls, 'call')} do not report it"
