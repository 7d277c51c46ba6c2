"""Measures of tokens: their cost, the share from the cache, the share of thinking, the fullest call, mean output."""

from __future__ import annotations

from typing import Any

from howsure.graders.measures.base import NO_SPANS, Evidence, Found, Missing, counted, sentences
from howsure.graders.measures.spending import Spending, spending, total_of
from howsure.model.score import Why
from howsure.prices.table import PriceTable
from howsure.traces.usage import tokens
from howsure.traces.views import LlmCall


def token_usage(evidence: Evidence) -> Found | Missing:
    """Cost in US dollars: each call at its model's price. Not known as soon as one call's is not."""
    spent = spending(evidence)
    if isinstance(spent, Missing):
        return spent
    costs = [_cost(evidence.prices, call) for call in spent.calls]
    gaps = _gaps(evidence.prices, spent)
    known = sum(cost for cost in costs if cost is not None)
    details = _token_details(spent, None if gaps else known)
    details["prices_as_of"] = evidence.prices.as_of
    if gaps:
        details["known_cost_usd"] = known
        return Missing(why=Why.ERROR, reason=sentences(*gaps, spent.note), details=details)
    total = details["total_tokens"]
    said = sentences(f"${known:.6f} for {total} tokens", _full_price_note(evidence.prices, spent), spent.note)
    return Found(value=known, reason=said, details=details)


def _cost(prices: PriceTable, call: LlmCall) -> float | None:
    """By the table; where it does not know the model, what the trace itself says the call cost."""
    if call.usage is None:
        return None
    cost = prices.cost(call.model, call.usage)
    return call.usage.cost_usd if cost is None else cost


def _gaps(prices: PriceTable, spent: Spending) -> list[str]:
    """Why the cost is not known."""
    unpriced = [call for call in spent.calls if _cost(prices, call) is None]
    models = sorted({call.model for call in unpriced if call.model and prices.price(call.model) is None})
    nameless = sum(not call.model for call in unpriced)
    halves = sum(prices.price(call.model) is not None for call in unpriced)
    gaps = [f"no price is known for model {model}" for model in models]
    if nameless:
        gaps.append(f"no model is named for {counted(nameless, 'count')} of tokens")
    if halves:
        gaps.append(f"{counted(halves, 'call')} of a model without both prompt and completion tokens")
    if spent.uncounted:
        gaps.append(f"{spent.uncounted} of {counted(spent.llm_calls or 0, 'call')} of a model report no tokens")
    return gaps


def _token_details(spent: Spending, cost: float | None) -> dict[str, Any]:
    usages = spent.usages
    prompt = total_of([usage.prompt_tokens for usage in usages])
    completion = total_of([usage.completion_tokens for usage in usages])
    thinking = total_of([usage.thinking_tokens for usage in usages])
    return {
        "llm_calls": spent.llm_calls,
        "models_used": list(dict.fromkeys(call.model for call in spent.calls if call.model)),
        "total_tokens": total_of([prompt, completion, thinking]),
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "cached_tokens": total_of([usage.cached_tokens for usage in usages]),
        "thinking_tokens": thinking,
        "estimated_cost_usd": cost,
        "calls_without_usage": spent.uncounted,
    }


def _full_price_note(prices: PriceTable, spent: Spending) -> str:
    models = [call.model for call in spent.calls if call.usage is not None and call.usage.cached_tokens]
    known = {model: prices.price(model) for model in models}
    full = sorted(model for model, price in known.items() if price is not None and price.cached is None)
    return f"cached tokens at the full prompt price (no other is known) for {', '.join(full)}" if full else ""


def cache_efficiency(evidence: Evidence) -> Found | Missing:
    """Cached tokens ÷ prompt tokens, over the calls that report both. The prompt holds its cached tokens."""
    spent = spending(evidence)
    if isinstance(spent, Missing):
        return spent
    pairs = [
        (usage.prompt_tokens, usage.cached_tokens)
        for usage in spent.usages
        if usage.prompt_tokens is not None and usage.cached_tokens is not None
    ]
    if not pairs:
        return Missing(reason=sentences("no call reports cached tokens", spent.note))
    cached = sum(pair[1] for pair in pairs)
    prompt = sum(pair[0] for pair in pairs)
    # Only a usage that did not come from spans can still count them beside the prompt.
    beside = "more cached tokens than prompt: they were counted beside it" if cached > prompt else ""
    whole = prompt + cached if beside else prompt
    if not whole:
        return Missing(reason=sentences("no prompt tokens were used", spent.note))
    details = {
        "cache_hit_rate": cached / whole,
        "total_cached_tokens": cached,
        "total_fresh_prompt_tokens": whole - cached,
        "total_input_tokens": whole,
    }
    said = sentences(f"{cached} of {whole} prompt tokens came from the cache", beside, _silent(spent, len(pairs)))
    return Found(value=cached / whole, reason=sentences(said, spent.note), details=details)


def thinking_share(evidence: Evidence) -> Found | Missing:
    """Thinking ÷ (thinking + completion), over the calls that report thinking."""
    spent = spending(evidence)
    if isinstance(spent, Missing):
        return spent
    pairs = [
        (usage.thinking_tokens, usage.completion_tokens or 0)
        for usage in spent.usages
        if usage.thinking_tokens is not None
    ]
    if not pairs:
        return Missing(reason=sentences("no call reports thinking tokens", spent.note))
    thought = sum(pair[0] for pair in pairs)
    said = sum(pair[1] for pair in pairs)
    if not thought + said:
        return Missing(reason=sentences("the model wrote nothing", spent.note))
    details = {
        "reasoning_ratio": thought / (thought + said),
        "total_thinking_tokens": thought,
        "total_candidate_tokens": said,
        "total_output_tokens": thought + said,
        "turns_with_thinking": sum(pair[0] > 0 for pair in pairs) if spent.per_call else None,
    }
    told = f"{thought} of {thought + said} output tokens were thinking"
    reason = sentences(told, _silent(spent, len(pairs)), spent.note)
    return Found(value=thought / (thought + said), reason=reason, details=details)


def context_saturation(evidence: Evidence) -> Found | Missing:
    """The most tokens in one call (prompt + completion + thinking), and which call that was."""
    spent = _calls(evidence)
    if isinstance(spent, Missing):
        return spent
    sizes = [(size, call) for call in spent.calls if call.usage and (size := tokens(call.usage)) is not None]
    if not sizes:
        return Missing(reason="no call reports both prompt and completion tokens")
    most, peak = max(sizes, key=lambda pair: pair[0])
    details = {
        "max_total_tokens": most,
        "peak_usage_span": peak.span,
        "peak_span_id": peak.span_id,
        "peak_model": peak.model,
        "peak_agent": peak.agent,
    }
    return Found(
        value=float(most),
        reason=sentences(f"{most} tokens in one call, in {peak.span}", _silent(spent, len(sizes))),
        details=details,
    )


def output_density(evidence: Evidence) -> Found | Missing:
    """Completion tokens for each call of a model, on average. Thinking is not output anyone reads."""
    spent = _calls(evidence)
    if isinstance(spent, Missing):
        return spent
    written = [usage.completion_tokens for usage in spent.usages if usage.completion_tokens is not None]
    if not written:
        return Missing(reason="no call reports completion tokens")
    mean = sum(written) / len(written)
    details = {
        "average_output_tokens": mean,
        "total_output_tokens": sum(written),
        "llm_calls_count": len(written),
    }
    said = f"{mean:.1f} completion tokens a call, over {counted(len(written), 'call')}"
    return Found(value=mean, reason=sentences(said, _silent(spent, len(written))), details=details)


def _calls(evidence: Evidence) -> Spending | Missing:
    """The spending where it is known call by call."""
    spent = spending(evidence)
    if isinstance(spent, Missing) or spent.per_call:
        return spent
    return Missing(reason=NO_SPANS if evidence.trace is None else "no single call of a model reports tokens")


def _silent(spent: Spending, used: int) -> str:
    """How many calls the value leaves out."""
    if not spent.per_call or spent.llm_calls is None or used == spent.llm_calls:
        return ""
    return f"{spent.llm_calls - used} of {counted(spent.llm_calls, 'call')} do not report it"
