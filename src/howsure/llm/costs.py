"""What a model's answers cost: list prices by its name, nothing for a model on one's own machine, else not known."""

from __future__ import annotations

from collections.abc import Iterable

from howsure.llm.specs import ModelSpec, Provider, is_loopback
from howsure.model.transcript import Usage
from howsure.prices.table import Price, PriceTable

#: Served by oneself: a list price of the same model name is somebody else's.
OWN = (Provider.OLLAMA, Provider.VLLM)
FREE = Price(prompt=0.0, completion=0.0)
BYTES_PER_TOKEN = 3


class Costs:
    """The price of one model."""

    def __init__(self, spec: ModelSpec, prices: PriceTable) -> None:
        self._prices = prices
        names = (str(spec),) if spec.provider in OWN else (str(spec), spec.model)
        self._price = next((price for name in names if (price := prices.price(name))), None)
        if self._price is None and spec.provider in OWN and is_loopback(spec.base_url):
            self._price = FREE

    @property
    def known(self) -> bool:
        return self._price is not None

    def of(self, usage: Usage, replied: str) -> float | None:
        """In USD. A deployment's own name says nothing about its price; the model that replied may."""
        price = self._price or (self._prices.price(replied) if replied else None)
        return None if price is None else price.of(usage)


def estimated(usage: Usage, asked: bytes, text: str) -> Usage:
    """For budgets alone: what the provider did not count, by size, rather more than less."""
    prompt, completion = usage.prompt_tokens, usage.completion_tokens
    return Usage(
        prompt_tokens=len(asked) // BYTES_PER_TOKEN if prompt is None else prompt,
        completion_tokens=len(text.encode()) // BYTES_PER_TOKEN if completion is None else completion,
        cached_tokens=usage.cached_tokens,
        thinking_tokens=usage.thinking_tokens,
    )


def priced(specs: Iterable[ModelSpec], prices: PriceTable) -> list[tuple[str, bool]]:
    """Each model and whether its price is known: for `budget.check_priced`."""
    return [(str(spec), Costs(spec, prices).known) for spec in specs]
