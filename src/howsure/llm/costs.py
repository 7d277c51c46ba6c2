"""What calls cost: the list price of a model by its name (nothing on one's own machine, else not known), and counters
of calls, tokens and money for each model."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import astuple

from howsure.llm.base import Completion, ModelSpec
from howsure.llm.specs import is_loopback
from howsure.model.transcript import Usage
from howsure.prices.table import Price, PriceTable

#: Providers that users run themselves: the list price of a model of the same name is somebody else's.
SELF_HOSTED = ("ollama", "vllm")
FREE = Price(prompt=0.0, completion=0.0)
BYTES_PER_TOKEN = 3


class ModelPrice:
    """The price of one model."""

    def __init__(self, spec: ModelSpec, prices: PriceTable) -> None:
        self._prices = prices
        names = (str(spec),) if spec.provider in SELF_HOSTED else (str(spec), spec.model)
        self._price = next((price for name in names if (price := prices.price(name))), None)
        if self._price is None and spec.provider in SELF_HOSTED and is_loopback(spec.base_url):
            self._price = FREE

    @property
    def known(self) -> bool:
        return self._price is not None

    def cost(self, usage: Usage, replying_model: str) -> float | None:
        """In USD. A deployment's own name says nothing about its price; the model that replied may."""
        price = self._price or (self._prices.price(replying_model) if replying_model else None)
        return None if price is None else price.of(usage)


def estimate_usage(usage: Usage, body: bytes, text: str) -> Usage:
    """For budgets alone: the tokens that the provider did not count, estimated from sizes, rather high."""
    prompt, completion = usage.prompt_tokens, usage.completion_tokens
    return Usage(
        prompt_tokens=len(body) // BYTES_PER_TOKEN if prompt is None else prompt,
        completion_tokens=len(text.encode()) // BYTES_PER_TOKEN if completion is None else completion,
        cached_tokens=usage.cached_tokens,
        thinking_tokens=usage.thinking_tokens,
    )


def known_prices(specs: Iterable[ModelSpec], prices: PriceTable) -> list[tuple[str, bool]]:
    """Each model and whether its price is known: for `budget.check_priced`."""
    return [(str(spec), ModelPrice(spec, prices).known) for spec in specs]


class CallCounters(Struct, kw_only=True):
    """The counts of one model, or of all.

    `answered` calls were paid for; `cached` ones were not: they came from the cache or from an equal call under way.
    `retries` are the attempts beyond the first of each call, `refused` those of all attempts that met an overloaded
    provider. `unpriced` calls have no known cost, and are not in `cost_usd`.
    """

    answered: int = 0
    cached: int = 0
    failed: int = 0
    attempts: int = 0
    retries: int = 0
    refused: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    thinking_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0

    def add(self, completion: Completion) -> None:
        """Book an answer that was paid for."""
        usage = completion.usage
        self.answered += 1
        self.prompt_tokens += usage.prompt_tokens or 0
        self.completion_tokens += usage.completion_tokens or 0
        self.thinking_tokens += usage.thinking_tokens or 0
        if completion.cost_usd is None:
            self.unpriced += 1
        else:
            self.cost_usd += completion.cost_usd


def sum_counters(counters: Iterable[CallCounters]) -> CallCounters:
    columns = zip(*map(astuple, counters), strict=True)
    return CallCounters(**dict(zip(CallCounters.__struct_fields__, map(sum, columns), strict=False)))
