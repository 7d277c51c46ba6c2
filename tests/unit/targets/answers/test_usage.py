"""Token counts in every spelling, brought to ours."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.model.transcript import Usage
from howsure.targets.answer_parts import UnreadableAnswer, usage_of


@pytest.mark.parametrize(
    ("given", "usage"),
    [
        (None, None),
        ({}, None),
        ({"total_tokens": 9}, None),
        ({"prompt_tokens": 3, "completion_tokens": 4}, Usage(prompt_tokens=3, completion_tokens=4)),
        ({"promptTokens": 3, "completionTokens": 4}, Usage(prompt_tokens=3, completion_tokens=4)),
        ({"input_tokens": 3, "output_tokens": 4.0}, Usage(prompt_tokens=3, completion_tokens=4)),
        (
            {"promptTokenCount": 9, "candidatesTokenCount": 4, "thoughtsTokenCount": 2, "cachedContentTokenCount": 5},
            Usage(prompt_tokens=9, completion_tokens=4, thinking_tokens=2, cached_tokens=5),
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 6,
                "prompt_tokens_details": {"cached_tokens": 5},
                "completion_tokens_details": {"reasoning_tokens": 2},
            },
            Usage(prompt_tokens=9, completion_tokens=4, thinking_tokens=2, cached_tokens=5),
        ),
        (
            {"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": 100},
            Usage(prompt_tokens=103, completion_tokens=4, cached_tokens=100),
        ),
        (
            {"prompt_tokens": 9, "completion_tokens": 6, "thinking_tokens": 2},
            Usage(prompt_tokens=9, completion_tokens=6, thinking_tokens=2),
        ),
        ({"cost_usd": 0.5}, Usage(cost_usd=0.5)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, Usage(prompt_tokens=0, completion_tokens=0)),
        (Usage(prompt_tokens=1), Usage(prompt_tokens=1)),
    ],
    ids=str,
)
def test_usage_is_read(given: Any, usage: Usage | None) -> None:
    assert usage_of(given) == usage


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1], "`usage`: expected an object of token counts, found a list [1]"),
        ({"prompt_tokens": "many"}, "`usage.prompt_tokens`: expected a whole number from 0, found text 'many'"),
        ({"prompt_tokens": -1}, "`usage.prompt_tokens`: expected a whole number from 0, found a number -1"),
        ({"prompt_tokens": 1.5}, "`usage.prompt_tokens`: expected a whole number from 0, found a number 1.5"),
        ({"prompt_tokens": True}, "`usage.prompt_tokens`: expected a whole number from 0, found true"),
        (
            {"output_tokens": float("inf")},
            "`usage.completion_tokens`: expected a whole number from 0, found a number inf",
        ),
        ({"cost": "cheap"}, "`usage.cost_usd`: expected an amount from 0, found text 'cheap'"),
    ],
    ids=str,
)
def test_amounts_that_are_none_are_told(given: Any, message: str) -> None:
    with pytest.raises(UnreadableAnswer) as caught:
        usage_of(given)
    assert str(caught.value) == message
