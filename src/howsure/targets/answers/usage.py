"""Usage in an answer: token counts in the spellings of the common APIs, brought to the meaning of `Usage` (the prompt
holds its cached tokens, the completion does not hold the thinking).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from howsure.model.transcript import Usage
from howsure.targets.answers.fields import Fields, Unreadable, found

PROMPT = ("prompt_tokens", "input_tokens", "prompt_token_count", "input_token_count")
COMPLETION = ("completion_tokens", "output_tokens", "candidates_token_count", "output_token_count")
CACHED = ("cached_tokens", "cache_read_input_tokens", "cached_content_token_count", "cache_read_tokens")
THINKING = ("thinking_tokens", "thoughts_token_count", "reasoning_tokens")
COST = ("cost_usd", "total_cost_usd", "cost", "total_cost")
PROMPT_DETAILS = ("prompt_tokens_details", "input_tokens_details", "input_token_details")
COMPLETION_DETAILS = ("completion_tokens_details", "output_tokens_details", "output_token_details")


def usage_of(value: Any, where: str = "usage") -> Usage | None:
    """What was spent; None where nobody says."""
    if value is None or isinstance(value, Usage):
        return value
    if not isinstance(value, Mapping):
        raise Unreadable(f"`{where}`: expected an object of token counts, found {found(value)}")
    fields, prompt_details, completion_details = Fields(value), *_details(value)
    cached = _count(fields, where, CACHED)
    if cached is None:
        cached = _count(prompt_details, where, ("cached_tokens", "cache_read"))
    inside = _count(completion_details, where, ("reasoning_tokens", "reasoning"))
    thinking = _count(fields, where, THINKING) if inside is None else inside
    usage = Usage(
        prompt_tokens=_with_cached(_count(fields, where, PROMPT), cached),
        completion_tokens=_without(_count(fields, where, COMPLETION), inside),
        cached_tokens=cached,
        thinking_tokens=thinking,
        cost_usd=_money(fields, where),
    )
    return None if usage == Usage() else usage


def _details(value: Mapping[str, Any]) -> tuple[Fields, Fields]:
    fields = Fields(value)
    details = (fields.first(*PROMPT_DETAILS), fields.first(*COMPLETION_DETAILS))
    prompt, completion = (Fields(one) if isinstance(one, Mapping) else Fields({}) for one in details)
    return prompt, completion


def _count(fields: Fields, where: str, names: tuple[str, ...]) -> int | None:
    value = fields.first(*names)
    if value is None:
        return None
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else -1
    if not (isfinite(number) and number >= 0 and int(number) == number):
        raise Unreadable(f"`{where}.{names[0]}`: expected a whole number from 0, found {found(value)}")
    return int(number)


def _money(fields: Fields, where: str) -> float | None:
    value = fields.first(*COST)
    if value is None:
        return None
    number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else -1.0
    if not (isfinite(number) and number >= 0):
        raise Unreadable(f"`{where}.{COST[0]}`: expected an amount from 0, found {found(value)}")
    return number


def _with_cached(prompt: int | None, cached: int | None) -> int | None:
    """More cached tokens than prompt: the API counted them beside it."""
    return prompt + cached if prompt is not None and cached is not None and cached > prompt else prompt


def _without(completion: int | None, thinking: int | None) -> int | None:
    """Thinking that is told as a detail of the completion is part of it."""
    if completion is None or thinking is None or thinking > completion:
        return completion
    return completion - thinking
