"""Budgets: how they are written, and that they hold."""

from __future__ import annotations

import pytest

from howsure.errors import BudgetReached, ConfigInvalid
from howsure.llm.base import ModelSpec
from howsure.llm.budget import Allowance, BudgetMeter, BudgetUse, check_priced, parse_budget
from howsure.llm.costs import ModelPrice, estimate_usage, known_prices
from howsure.model.transcript import Usage
from howsure.prices.table import PriceTable


@pytest.mark.parametrize(
    ("text", "allowance"),
    [
        ("2USD", Allowance(usd=2.0)),
        ("0.50 usd", Allowance(usd=0.5)),
        ("$3", Allowance(usd=3.0)),
        ("3$", Allowance(usd=3.0)),
        ("500ktok", Allowance(tokens=500_000)),
        ("1.5Mtok", Allowance(tokens=1_500_000)),
        ("2000 tokens", Allowance(tokens=2000)),
        ("10m", Allowance(seconds=600.0)),
        ("90s", Allowance(seconds=90.0)),
        ("1h30m", Allowance(seconds=5400.0)),
        ("10min", Allowance(seconds=600.0)),
        ("2USD, 10m", Allowance(usd=2.0, seconds=600.0)),
    ],
)
def test_a_budget_is_money_tokens_or_time(text: str, allowance: Allowance) -> None:
    assert parse_budget(text) == allowance


@pytest.mark.parametrize("text", ["", "2", "2EUR", "10M", "500k", "tok", "1.2.3USD", "-2USD", "ten minutes", "2USD,"])
def test_what_cannot_be_read_is_said_with_what_can(text: str) -> None:
    with pytest.raises(
        ConfigInvalid, match=r"cannot read .*; write money as 2USD, tokens as 500ktok or 2Mtok, time as"
    ):
        parse_budget(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [("0USD", "expected more than nothing, found '0USD'"), ("2USD,3USD", "two limits on usd"), ("0s", "more than")],
)
def test_a_budget_of_nothing_or_of_two_minds_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigInvalid, match=message):
        parse_budget(text)


@pytest.mark.parametrize(
    ("allowance", "calls", "message"),
    [
        (Allowance(usd=0.1), 4, r"the budget of 0.1 USD is spent \(0.1200 USD\)"),
        (Allowance(tokens=100), 3, r"the budget of 100 tokens is spent \(120 tokens\)"),
        (Allowance(seconds=5.0), 5, "the budget of 5 s is over"),
    ],
)
def test_a_budget_ends_with_the_call_that_reaches_it(allowance: Allowance, calls: int, message: str) -> None:
    now = 100.0
    spending = BudgetMeter(allowance, lambda: now)
    made = 0
    with pytest.raises(BudgetReached, match=message):
        while made < 100:
            spending.reserve()
            made += 1
            now += 1.0
            spending.settle(Usage(prompt_tokens=20, completion_tokens=10, thinking_tokens=10), 0.03)
    assert made == calls


def test_a_resumed_run_brings_what_it_had_spent() -> None:
    spending = BudgetMeter(Allowance(tokens=100), lambda: 0.0, BudgetUse(tokens=90, usd=1.0, seconds=60.0))
    spending.reserve()
    spending.settle(Usage(prompt_tokens=10, completion_tokens=0), None)
    with pytest.raises(BudgetReached):
        spending.reserve()
    assert spending.spent == BudgetUse(tokens=100, usd=1.0, seconds=60.0)


def test_no_limit_is_no_limit() -> None:
    spending = BudgetMeter(Allowance(), lambda: 0.0)
    spending.settle(Usage(prompt_tokens=10**9, completion_tokens=10**9), 1e9)
    spending.reserve()
    assert spending.spent.tokens == 2 * 10**9


def a_spec(provider: str, model: str, base_url: str = "https://h") -> ModelSpec:
    return ModelSpec(provider=provider, model=model, base_url=base_url)


PRICES = PriceTable.load(
    {"our-deployment": {"prompt": 1.0, "completion": 2.0}, "ollama:big": {"prompt": 9, "completion": 9}}
)


@pytest.mark.parametrize(
    ("spec", "replied", "cost"),
    [
        (a_spec("openai", "gpt-4o"), "gpt-4o-2024-08-06", 0.0125),
        (a_spec("azure", "our-deployment"), "gpt-4o-2024-08-06", 0.003),
        (a_spec("azure", "another"), "gpt-4o-2024-08-06", 0.0125),
        (a_spec("azure", "another"), "", None),
        (a_spec("openai-compatible", "nobody-knows"), "", None),
        (a_spec("ollama", "gpt-4o", "http://127.0.0.1:11434"), "gpt-4o", 0.0),
        (a_spec("ollama", "big", "http://127.0.0.1:11434"), "big", 0.018),
        (a_spec("vllm", "m", "http://gpu:8000/v1"), "m", None),
    ],
    ids=["listed", "own price of a deployment", "by the model that replied", "nobody knows which", "unknown",
         "one's own machine", "one's own machine, priced", "somebody's machine"],
)  # fmt: skip
def test_what_an_answer_costs(spec: ModelSpec, replied: str, cost: float | None) -> None:
    found = ModelPrice(spec, PRICES).cost(Usage(prompt_tokens=1000, completion_tokens=1000), replied)
    assert found == (None if cost is None else pytest.approx(cost))


def test_a_budget_in_money_needs_every_price_before_anything_is_spent() -> None:
    models = known_prices([a_spec("openai", "gpt-4o"), a_spec("openai", "gpt-99")], PRICES)
    with pytest.raises(ConfigInvalid, match="--budget in USD needs the price of openai:gpt-99; set it under `prices`"):
        check_priced(Allowance(usd=1.0), models)
    check_priced(Allowance(tokens=1000.0), models)


def test_what_was_not_counted_is_estimated_by_size() -> None:
    assert estimate_usage(Usage(), b"x" * 300, "é" * 30) == Usage(prompt_tokens=100, completion_tokens=20)
    assert estimate_usage(Usage(prompt_tokens=7, completion_tokens=0), b"x" * 300, "abc").prompt_tokens == 7
