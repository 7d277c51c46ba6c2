"""Token counts in every spelling, brought to one form: the prompt holds its cached tokens, the completion does not hold
the thinking. So `total = prompt + completion + thinking`, and the parts add up whichever API counted them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from howsure.model.transcript import Usage
from howsure.traces import names
from howsure.traces.values import UNREADABLE, Notes, amount, decoded, pick, present, whole


class Counts(Struct, frozen=True, kw_only=True):
    """The counts as one library wrote them; `apart`: its thinking tokens are not part of the completion."""

    prompt: int | None = None
    completion: int | None = None
    cached: int | None = None
    thinking: int | None = None
    total: int | None = None
    apart: bool = False

    @property
    def known(self) -> int:
        return sum(count is not None for count in (self.prompt, self.completion, self.cached, self.thinking))


def usage_of(attributes: Mapping[str, Any], span: str, notes: Notes) -> Usage | None:
    """The tokens this span reports for one call of a model; None: it reports none."""
    found = _said(attributes, span, notes) or _kept(attributes, span, notes)
    # The spelling that says most; of equals, the one trusted most.
    best = max(found, key=lambda counts: counts.known, default=None)
    cost = amount(attributes.get(present(attributes, names.COSTS) or ""))
    if best is None:
        return None if cost is None else Usage(cost_usd=cost)
    return _normal(best, cost, span, notes)


def claimed_usage(attributes: Mapping[str, Any], span: str, notes: Notes) -> Usage | None:
    """The tokens an agent's span claims for its run. An answer kept on it counts only the last call."""
    best = max(_claimed(attributes, span, notes), key=lambda counts: counts.known, default=None)
    return None if best is None else _normal(best, None, span, notes)


def tokens(usage: Usage) -> int | None:
    """Prompt, completion and thinking together; None when the prompt or the completion was not counted."""
    if usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    return usage.prompt_tokens + usage.completion_tokens + (usage.thinking_tokens or 0)


def gemini_counts(metadata: Any) -> Counts | None:
    """`usage_metadata`, snake_case or camelCase. The API leaves out what is zero, and counts thinking apart."""
    prompt = whole(pick(metadata, "prompt_token_count", "promptTokenCount"))
    if prompt is None and pick(metadata, "candidates_token_count", "candidatesTokenCount") is None:
        return None
    # Results of built-in tools fed back to the model: billed as prompt, counted beside it.
    fed_back = whole(pick(metadata, "tool_use_prompt_token_count", "toolUsePromptTokenCount")) or 0
    return Counts(
        prompt=None if prompt is None else prompt + fed_back,
        completion=_zero_if_left_out(metadata, "candidates_token_count", "candidatesTokenCount"),
        cached=_zero_if_left_out(metadata, "cached_content_token_count", "cachedContentTokenCount"),
        thinking=_zero_if_left_out(metadata, "thoughts_token_count", "thoughtsTokenCount"),
        total=whole(pick(metadata, "total_token_count", "totalTokenCount")),
        apart=True,
    )


def _zero_if_left_out(metadata: Any, *spellings: str) -> int | None:
    found = pick(metadata, *spellings)
    return 0 if found is None else whole(found)


def _claimed(attributes: Mapping[str, Any], span: str, notes: Notes) -> list[Counts]:
    found = (read(attributes, span, notes) for read in (_gen_ai, _openinference))
    return [counts for counts in found if counts is not None]


def _said(attributes: Mapping[str, Any], span: str, notes: Notes) -> list[Counts]:
    response = _adk(attributes, span, notes)
    return ([] if response is None else [response]) + _claimed(attributes, span, notes)


def _kept(attributes: Mapping[str, Any], span: str, notes: Notes) -> list[Counts]:
    """Where the span itself counts nothing: what the answer kept on it says, or the tool that collected it."""
    found = (read(attributes, span, notes) for read in (_payload, _langfuse))
    return [counts for counts in found if counts is not None]


def _adk(attributes: Mapping[str, Any], span: str, notes: Notes) -> Counts | None:
    response = decoded(attributes.get(names.LLM_RESPONSE))
    if response is UNREADABLE or isinstance(response, str):
        notes.add("unreadable_json", "is not JSON", span, names.LLM_RESPONSE, attributes[names.LLM_RESPONSE])
        return None
    return gemini_counts(pick(response, "usage_metadata", "usageMetadata"))


def _gen_ai(attributes: Mapping[str, Any], span: str, notes: Notes) -> Counts | None:
    read = _reader(attributes, "gen_ai.usage.", span, notes)
    inside = read("reasoning.output_tokens", "reasoning_tokens", "details.reasoning_tokens")
    beside = read("experimental.reasoning_tokens", "thoughts_tokens")
    return _counts(
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
        total=read("total_tokens") or whole(attributes.get("llm.usage.total_tokens")),
        apart=inside is None and beside is not None,
    )


def _openinference(attributes: Mapping[str, Any], span: str, notes: Notes) -> Counts | None:
    read = _reader(attributes, "llm.token_count.", span, notes)
    return _counts(
        prompt=read("prompt"),
        completion=read("completion"),
        cached=read("prompt_details.cache_read", "prompt_details.cache_input"),
        thinking=read("completion_details.reasoning"),
        total=read("total"),
    )


def _payload(attributes: Mapping[str, Any], span: str, notes: Notes) -> Counts | None:
    """The provider's own answer, kept whole on the span."""
    for name in names.OUTPUTS[1:]:
        answer = decoded(attributes.get(name))
        metadata = pick(answer, "usage_metadata", "usageMetadata")
        counts = gemini_counts(metadata) or _openai(metadata) or _openai(pick(answer, "usage"))
        if counts is not None:
            return counts
    return None


def _openai(usage: Any) -> Counts | None:
    """The two APIs of OpenAI, Anthropic's, and LangChain's form of them all."""
    inputs = pick(usage, "prompt_tokens_details", "input_tokens_details", "input_token_details")
    outputs = pick(usage, "completion_tokens_details", "output_tokens_details", "output_token_details")
    return _counts(
        prompt=whole(pick(usage, "prompt_tokens", "input_tokens")),
        completion=whole(pick(usage, "completion_tokens", "output_tokens")),
        cached=whole(pick(inputs, "cached_tokens", "cache_read") if inputs else pick(usage, "cache_read_input_tokens")),
        thinking=whole(pick(outputs, "reasoning_tokens", "reasoning")),
        total=whole(pick(usage, "total_tokens")),
    )


def _langfuse(attributes: Mapping[str, Any], span: str, notes: Notes) -> Counts | None:
    details = decoded(attributes.get(names.USAGE_DETAILS))
    if details is UNREADABLE:
        notes.add("unreadable_json", "is not JSON", span, names.USAGE_DETAILS, attributes[names.USAGE_DETAILS])
        return None
    return _counts(
        prompt=whole(pick(details, "input", "prompt_tokens", "input_tokens")),
        completion=whole(pick(details, "output", "completion_tokens", "output_tokens")),
        cached=whole(pick(details, "input_cached_tokens", "input_cache_read", "prompt_details.cache_read")),
        thinking=whole(pick(details, "output_reasoning_tokens", "output_reasoning", "completion_details.reasoning")),
        total=whole(pick(details, "total")),
    )


def _reader(attributes: Mapping[str, Any], prefix: str, span: str, notes: Notes) -> Callable[..., int | None]:
    def read(*endings: str) -> int | None:
        name = present(attributes, [prefix + ending for ending in endings])
        if name is None:
            return None
        count = whole(attributes[name])
        if count is None:
            notes.add("not_a_count", "is not a number of tokens", span, name, attributes[name])
        return count

    return read


def _counts(
    *,
    prompt: int | None,
    completion: int | None,
    cached: int | None,
    thinking: int | None,
    total: int | None,
    apart: bool = False,
) -> Counts | None:
    if prompt is None and completion is None:
        return None
    return Counts(prompt=prompt, completion=completion, cached=cached, thinking=thinking, total=total, apart=apart)


def _normal(counts: Counts, cost: float | None, span: str, notes: Notes) -> Usage:
    prompt, completion = counts.prompt, counts.completion
    cached, thinking = counts.cached or 0, counts.thinking or 0
    if prompt is not None and cached and _cached_beside(counts):
        prompt += cached
        notes.add("cached_apart", "counts cached tokens beside the prompt; they were added to it", span)
    if completion is not None and thinking and not _thinking_apart(counts):
        completion -= thinking
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=counts.cached,
        thinking_tokens=counts.thinking,
        cost_usd=cost,
    )


def _thinking_apart(counts: Counts) -> bool:
    """The reported total tells; without one, the spelling does. What is larger than the whole is no part of it."""
    completion, thinking = counts.completion or 0, counts.thinking or 0
    if thinking > completion:
        return True
    if counts.total is not None and counts.prompt is not None:
        if counts.total == counts.prompt + completion:
            return False
        if counts.total == counts.prompt + completion + thinking:
            return True
    return counts.apart


def _cached_beside(counts: Counts) -> bool:
    """Whether the prompt leaves its cached tokens out: more of them than prompt, or a total that needs both."""
    prompt, cached = counts.prompt or 0, counts.cached or 0
    if cached > prompt:
        return True
    rest = (counts.completion or 0) + (counts.thinking or 0 if counts.apart else 0)
    return counts.total is not None and counts.total == prompt + cached + rest != prompt + rest
