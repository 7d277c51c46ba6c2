"""Token counts of all libraries in one form: prompt tokens include the cached ones, completion tokens exclude thinking.
So `total = prompt + completion + thinking`, whichever API counted them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from howsure.model.transcript import Usage
from howsure.traces import names
from howsure.traces.values import (
    UNREADABLE,
    TraceProblems,
    decode_value,
    first_present,
    pick_value,
    read_amount,
    read_count,
)


class TokenCounts(Struct, frozen=True, kw_only=True):
    """The counts as a library wrote them. `tools` are the tokens of the prompt that tools brought. `apart`: thinking
    tokens are not part of the completion."""

    prompt: int | None = None
    completion: int | None = None
    cached: int | None = None
    thinking: int | None = None
    tools: int | None = None
    total: int | None = None
    apart: bool = False

    @property
    def known(self) -> int:
        return sum(count is not None for count in (self.prompt, self.completion, self.cached, self.thinking))


CountsReader = Callable[[Mapping[str, Any], str, TraceProblems], TokenCounts | None]


def read_usage(attributes: Mapping[str, Any], span: str, problems: TraceProblems) -> Usage | None:
    """The tokens that this span reports for one call of a model; None if it reports none."""
    best = _best_counts((_read_adk, _read_gen_ai, _read_openinference), attributes, span, problems)
    # If the span itself has no counts: those in its output, or of the tool that collected the spans.
    best = best or _best_counts((_read_payload, _read_langfuse), attributes, span, problems)
    cost = read_amount(attributes.get(first_present(attributes, names.COSTS) or ""))
    if best is None:
        return None if cost is None else Usage(cost_usd=cost)
    return _normalize_counts(best, cost, span, problems)


def read_run_usage(attributes: Mapping[str, Any], span: str, problems: TraceProblems) -> Usage | None:
    """The tokens that the span of an agent reports for its run. (An output on that span counts only the last call.)"""
    best = _best_counts((_read_gen_ai, _read_openinference), attributes, span, problems)
    return None if best is None else _normalize_counts(best, None, span, problems)


def total_tokens(usage: Usage) -> int | None:
    """Prompt, completion and thinking together; None if prompt or completion was not counted."""
    if usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    return usage.prompt_tokens + usage.completion_tokens + (usage.thinking_tokens or 0)


def gemini_counts(metadata: Any) -> TokenCounts | None:
    """`usage_metadata` in snake_case or camelCase. It counts thinking separately. Models leave out what they do not
    count, and some what is zero: `settle_counts` tells the two apart."""
    prompt = _pick_count(metadata, "prompt_token_count", "promptTokenCount")
    if prompt is None and pick_value(metadata, "candidates_token_count", "candidatesTokenCount") is None:
        return None
    # Results of built-in tools that go back to the model: billed as prompt, counted separately.
    fed_back = _pick_count(metadata, "tool_use_prompt_token_count", "toolUsePromptTokenCount")
    return TokenCounts(
        prompt=None if prompt is None else prompt + (fed_back or 0),
        completion=_zero_if_left_out(metadata, "candidates_token_count", "candidatesTokenCount"),
        cached=_pick_count(metadata, "cached_content_token_count", "cachedContentTokenCount"),
        thinking=_pick_count(metadata, "thoughts_token_count", "thoughtsTokenCount"),
        tools=fed_back,
        total=_pick_count(metadata, "total_token_count", "totalTokenCount"),
        apart=True,
    )


def settle_counts(usages: Sequence[Usage]) -> list[Usage]:
    """The tokens of calls of one model: a kind that one of them reports, and another leaves out, was zero there; a kind
    that none reports is unknown."""
    reported = {
        kind for kind in ("cached_tokens", "thinking_tokens") for one in usages if getattr(one, kind) is not None
    }
    return [
        replace(one, **{kind: getattr(one, kind) or 0 for kind in reported}) if one.prompt_tokens is not None else one
        for one in usages
    ]


def _zero_if_left_out(metadata: Any, *spellings: str) -> int | None:
    found = pick_value(metadata, *spellings)
    return 0 if found is None else read_count(found)


def _best_counts(
    readers: Sequence[CountsReader], attributes: Mapping[str, Any], span: str, problems: TraceProblems
) -> TokenCounts | None:
    """Those of the library that reports most; among equals, of the most trusted."""
    found = [counts for read in readers if (counts := read(attributes, span, problems)) is not None]
    return max(found, key=lambda counts: counts.known, default=None)


def _pick_count(mapping: Any, *spellings: str) -> int | None:
    return read_count(pick_value(mapping, *spellings))


def _read_adk(attributes: Mapping[str, Any], span: str, problems: TraceProblems) -> TokenCounts | None:
    response = decode_value(attributes.get(names.LLM_RESPONSE))
    if response is UNREADABLE or isinstance(response, str):
        problems.add("unreadable_json", "is not JSON", span, names.LLM_RESPONSE, attributes[names.LLM_RESPONSE])
        return None
    return gemini_counts(pick_value(response, "usage_metadata", "usageMetadata"))


def _read_gen_ai(attributes: Mapping[str, Any], span: str, problems: TraceProblems) -> TokenCounts | None:
    read = _count_reader(attributes, "gen_ai.usage.", span, problems)
    inside = read("reasoning.output_tokens", "reasoning_tokens", "details.reasoning_tokens")
    beside = read("experimental.reasoning_tokens", "thoughts_tokens")
    return _none_if_empty(
        TokenCounts(
            prompt=read("input_tokens", "prompt_tokens"),
            completion=read("output_tokens", "completion_tokens"),
            cached=read(
                "cache_read.input_tokens",
                "cache_read_input_tokens",
                "cache_read_tokens",
                "cached_tokens",
                "details.cache_read_tokens",
                "details.cache_read_input_tokens",
                "details.cached_tokens",
                "experimental.cached_tokens",
            ),
            thinking=beside if inside is None else inside,
            total=read("total_tokens") or read_count(attributes.get("llm.usage.total_tokens")),
            apart=inside is None and beside is not None,
        )
    )


def _read_openinference(attributes: Mapping[str, Any], span: str, problems: TraceProblems) -> TokenCounts | None:
    read = _count_reader(attributes, "llm.token_count.", span, problems)
    return _none_if_empty(
        TokenCounts(
            prompt=read("prompt"),
            completion=read("completion"),
            cached=read("prompt_details.cache_read", "prompt_details.cache_input"),
            thinking=read("completion_details.reasoning"),
            total=read("total"),
        )
    )


def _read_payload(attributes: Mapping[str, Any], span: str, problems: TraceProblems) -> TokenCounts | None:
    """The whole response of the provider, if it is on the span."""
    for name in names.OUTPUTS[1:]:
        answer = decode_value(attributes.get(name))
        metadata = pick_value(answer, "usage_metadata", "usageMetadata")
        counts = gemini_counts(metadata) or _read_openai(metadata) or _read_openai(pick_value(answer, "usage"))
        if counts is not None:
            return counts
    return None


def _read_openai(usage: Any) -> TokenCounts | None:
    """The two APIs of OpenAI, the API of Anthropic, and the form of LangChain."""
    inputs = pick_value(usage, "prompt_tokens_details", "input_tokens_details", "input_token_details")
    outputs = pick_value(usage, "completion_tokens_details", "output_tokens_details", "output_token_details")
    beside = _pick_count(usage, "cache_read_input_tokens")
    return _none_if_empty(
        TokenCounts(
            prompt=_pick_count(usage, "prompt_tokens", "input_tokens"),
            completion=_pick_count(usage, "completion_tokens", "output_tokens"),
            cached=_pick_count(inputs, "cached_tokens", "cache_read") if inputs else beside,
            thinking=_pick_count(outputs, "reasoning_tokens", "reasoning"),
            total=_pick_count(usage, "total_tokens"),
        )
    )


def _read_langfuse(attributes: Mapping[str, Any], span: str, problems: TraceProblems) -> TokenCounts | None:
    details = decode_value(attributes.get(names.USAGE_DETAILS))
    if details is UNREADABLE:
        problems.add("unreadable_json", "is not JSON", span, names.USAGE_DETAILS, attributes[names.USAGE_DETAILS])
        return None
    return _none_if_empty(
        TokenCounts(
            prompt=_pick_count(details, "input", "prompt_tokens", "input_tokens"),
            completion=_pick_count(details, "output", "completion_tokens", "output_tokens"),
            cached=_pick_count(details, "input_cached_tokens", "input_cache_read", "prompt_details.cache_read"),
            thinking=_pick_count(
                details, "output_reasoning_tokens", "output_reasoning", "completion_details.reasoning"
            ),
            total=_pick_count(details, "total"),
        )
    )


def _count_reader(
    attributes: Mapping[str, Any], prefix: str, span: str, problems: TraceProblems
) -> Callable[..., int | None]:
    def read(*endings: str) -> int | None:
        name = first_present(attributes, [prefix + ending for ending in endings])
        if name is None:
            return None
        count = read_count(attributes[name])
        if count is None:
            problems.add("not_a_count", "is not a number of tokens", span, name, attributes[name])
        return count

    return read


def _none_if_empty(counts: TokenCounts) -> TokenCounts | None:
    return None if counts.prompt is None and counts.completion is None else counts


def _normalize_counts(counts: TokenCounts, cost: float | None, span: str, problems: TraceProblems) -> Usage:
    prompt, completion = counts.prompt, counts.completion
    cached, thinking = counts.cached or 0, counts.thinking or 0
    if prompt is not None and cached and _cached_beside(counts):
        prompt += cached
        problems.add("cached_apart", "counts cached tokens beside the prompt; they were added to it", span)
    if completion is not None and thinking and not _thinking_apart(counts):
        completion -= thinking
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=counts.cached,
        thinking_tokens=counts.thinking,
        tool_prompt_tokens=counts.tools,
        cost_usd=cost,
    )


def _thinking_apart(counts: TokenCounts) -> bool:
    """Whether thinking is outside the completion: by the reported total, else by the library."""
    completion, thinking = counts.completion or 0, counts.thinking or 0
    if thinking > completion:
        return True
    if counts.total is not None and counts.prompt is not None:
        if counts.total == counts.prompt + completion:
            return False
        if counts.total == counts.prompt + completion + thinking:
            return True
    return counts.apart


def _cached_beside(counts: TokenCounts) -> bool:
    """Whether cached tokens are outside the prompt: they are more than the prompt, or the total needs both."""
    prompt, cached = counts.prompt or 0, counts.cached or 0
    if cached > prompt:
        return True
    rest = (counts.completion or 0) + (counts.thinking or 0 if counts.apart else 0)
    return counts.total is not None and counts.total == prompt + cached + rest != prompt + rest
