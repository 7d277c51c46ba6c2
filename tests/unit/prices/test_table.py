"""Prices: the longest known name, no default, and nothing priced as its cheaper cousin."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.errors import ConfigInvalid
from howsure.model.transcript import Usage
from howsure.prices.table import Price, PriceTable

TABLE = PriceTable.load()
MILLION = Usage(prompt_tokens=1_000_000, completion_tokens=1_000_000)


@pytest.mark.parametrize(
    ("model", "prompt", "completion"),
    [
        ("gemini-3-pro-preview", 2.0, 12.0),
        ("gemini-3-flash-preview", 0.5, 3.0),
        ("gemini-2.5-pro", 1.25, 10.0),
        ("gemini-2.5-flash", 0.3, 2.5),
        ("gemini-2.5-flash-lite", 0.1, 0.4),
        ("gemini-2.0-flash", 0.1, 0.4),
        ("gemini-2.0-flash-exp", 0.1, 0.4),
        ("gemini-2.0-flash-lite", 0.075, 0.3),
        ("gemini-1.5-pro", 1.25, 10.0),
        ("gemini-1.5-flash", 0.075, 0.3),
        ("gemini-1.0-pro", 0.5, 1.5),
        ("gpt-4o", 2.5, 10.0),
        ("gpt-4o-mini", 0.15, 0.6),
        ("gpt-4.1-nano", 0.1, 0.4),
        ("o3", 2.0, 8.0),
        ("claude-3-5-sonnet", 3.0, 15.0),
        ("claude-3-5-haiku", 0.8, 4.0),
        ("mistral-large-2411", 2.0, 6.0),
    ],
)
def test_list_prices(model: str, prompt: float, completion: float) -> None:
    price = TABLE.price(model)
    assert price is not None
    assert (price.prompt, price.completion) == (prompt, completion)


@pytest.mark.parametrize(
    ("model", "known"),
    [
        ("gemini-2.5-flash-lite-preview-06-17", "gemini-2.5-flash-lite"),
        ("gemini-2.5-flash-preview-09-2025", "gemini-2.5-flash"),
        ("gemini-2.0-flash-001", "gemini-2.0-flash"),
        ("gemini-2.0-flash-lite-001", "gemini-2.0-flash-lite"),
        ("gemini-2.5-pro-exp-03-25", "gemini-2.5-pro"),
        ("gemini-1.5-pro-latest", "gemini-1.5-pro"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-05-13"),
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("gpt-4.1-2025-04-14", "gpt-4.1"),
        ("gpt-4-0613", "gpt-4"),
        ("gpt-4-1106-preview", "gpt-4-turbo"),
        ("gpt-4-turbo-2024-04-09", "gpt-4-turbo"),
        ("gpt-3.5-turbo-0125", "gpt-3.5-turbo"),
        ("claude-3-5-sonnet-20241022", "claude-3-5-sonnet"),
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet"),
        ("claude-opus-4-20250514", "claude-opus-4"),
        ("claude-opus-4-1-20250805", "claude-opus-4-1"),
        ("claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("publishers/google/models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("openai/gpt-4o", "gpt-4o"),
        ("openrouter/openai/gpt-4o-mini", "gpt-4o-mini"),
        ("openai:gpt-4o", "gpt-4o"),
        ("anthropic/claude-3.5-sonnet", "claude-3-5-sonnet"),
        ("claude-3-5-sonnet@20240620", "claude-3-5-sonnet"),
        ("claude-3-5-sonnet-v2@20241022", "claude-3-5-sonnet"),
        ("anthropic.claude-3-haiku-20240307-v1:0", "claude-3-haiku"),
        ("us.anthropic.claude-3-5-sonnet-20241022-v2:0", "claude-3-5-sonnet"),
        ("GPT-4o", "gpt-4o"),
        (" gpt-4o ", "gpt-4o"),
    ],
)
def test_a_date_or_a_road_makes_no_other_model(model: str, known: str) -> None:
    assert TABLE.price(model) == TABLE.price(known)
    assert TABLE.price(model) is not None


@pytest.mark.parametrize(
    "model",
    [
        "",
        "mock",
        "unknown",
        "gemini",
        "gemini-2.5",
        "gemini-2.5-flash-image",
        "gemini-2.5-pro-preview-tts",
        "gemini-9-pro",
        "gpt-4.5-preview",
        "gpt-4o-audio-preview",
        "gpt-4o-realtime-preview",
        "gpt-5.9",
        "gpt-5-pro",
        "gpt-40",
        "claude-opus-4-9",
        "claude-opus-4-10",
        "o1-pro",
        "o3x",
        "ft:gpt-4o-2024-08-06:acme::1",
        "mistral-large-latest",
        "llama-3-70b",
        "my-gpt-4o",
    ],
)
def test_an_unknown_model_has_no_price_and_no_cost(model: str) -> None:
    assert TABLE.price(model) is None
    assert TABLE.cost(model, MILLION) is None


@pytest.mark.parametrize(
    ("model", "usage", "cost"),
    [
        ("gemini-2.5-flash", Usage(prompt_tokens=1000, completion_tokens=100), 0.00055),
        ("gemini-2.5-flash", Usage(prompt_tokens=1000, completion_tokens=100, thinking_tokens=300), 0.0013),
        ("gemini-2.5-flash", Usage(prompt_tokens=1000, completion_tokens=0, cached_tokens=400), 0.000192),
        ("gemini-2.0-flash-lite", Usage(prompt_tokens=1000, completion_tokens=0, cached_tokens=400), 0.000075),
        ("gpt-4o", Usage(prompt_tokens=1000, completion_tokens=1000, cached_tokens=1000), 0.01125),
        ("gpt-4o", Usage(prompt_tokens=0, completion_tokens=0), 0.0),
        ("gemini-2.5-pro", Usage(prompt_tokens=200_000, completion_tokens=1000), 0.26),
        ("gemini-2.5-pro", Usage(prompt_tokens=200_001, completion_tokens=1000), 0.5150025),
        ("gemini-2.5-pro", Usage(prompt_tokens=300_000, completion_tokens=0, cached_tokens=100_000), 0.525),
        ("gpt-4o", Usage(prompt_tokens=100, completion_tokens=0, cached_tokens=900), 0.000125),
    ],
    ids=[
        "prompt and completion",
        "thinking is billed as output",
        "cached tokens are cheaper",
        "cached at full price where no other is known",
        "all of it cached",
        "nothing",
        "at the edge of the first tier",
        "over the edge",
        "cached over the edge",
        "never more cached than prompt",
    ],
)
def test_costs_written_out(model: str, usage: Usage, cost: float) -> None:
    assert TABLE.cost(model, usage) == pytest.approx(cost)


@pytest.mark.parametrize(
    "usage", [Usage(), Usage(prompt_tokens=5), Usage(completion_tokens=5), Usage(cached_tokens=5, thinking_tokens=5)]
)
def test_the_cost_of_what_was_not_counted_is_not_known(usage: Usage) -> None:
    assert TABLE.cost("gpt-4o", usage) is None


def test_the_table_says_when_and_whence() -> None:
    assert TABLE.as_of == "2025-12-31"
    assert TABLE.source == "published list prices as of 2025-12-31"


@pytest.mark.parametrize(
    ("model", "cost"),
    [("acme-large", 3.0), ("acme-large-2", 3.0), ("acme-large-turbo", 9.0), ("openai/acme-large", 3.0), ("acme", None)],
)
def test_a_users_own_price_stands_for_every_name_it_begins(model: str, cost: float | None) -> None:
    own = {"Acme-Large": {"prompt": 1, "completion": 2}, "acme-large-turbo": {"prompt": 4, "completion": 5}}
    assert PriceTable.load(own).cost(model, MILLION) == cost


def test_a_users_own_price_goes_before_the_list() -> None:
    table = PriceTable.load({"gpt-4o": {"prompt": 1, "completion": 1, "cached": 0}})
    assert table.cost("gpt-4o-2024-08-06", MILLION) == 2.0
    assert TABLE.cost("gpt-4o-2024-08-06", MILLION) == 12.5


def test_a_price_may_be_given_as_such() -> None:
    assert PriceTable.load({"m": Price(prompt=1, completion=1)}).cost("m", MILLION) == 2.0


@pytest.mark.parametrize(
    "price",
    [
        {},
        {"prompt": 1},
        {"prompt": "cheap", "completion": 1},
        {"prompt": -1, "completion": 1},
        {"prompt": float("nan"), "completion": 1},
        {"prompt": 1, "completion": float("inf")},
        {"prompt": 1, "completion": 1, "per": "1K"},
        3,
        None,
    ],
)
def test_a_price_that_is_none_is_refused_with_the_models_name(price: Any) -> None:
    with pytest.raises(ConfigInvalid, match=r"price of 'acme'.*for a million tokens"):
        PriceTable.load({"acme": price})
