"""The price table: list prices by model name. The longest known name with which the name of the model begins wins, and
there is no default price."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from math import isfinite
from typing import Any

import msgspec
from msgspec import Struct, field

from howsure.errors import ConfigInvalid
from howsure.model.transcript import Usage

TOKENS_PER_PRICE = 1_000_000

#: May follow a built-in name without making it another model: a date, a build number, `preview`, `latest` …
RELEASE = re.compile(
    r"(?:[-@:](?:latest|preview|exp|experimental|stable|v\d+|\d{3,4}|\d{8}|\d{4}-\d\d-\d\d|\d\d-\d\d(?:\d\d)?|\d))*"
)
#: A single digit is a version (`-4-7`), unless it ends a build (`-v2:0`).
VERSION = re.compile(r"-\d(?=$|[-@:])")
PROVIDERS = frozenset(
    {"openai", "anthropic", "google", "gemini", "vertex_ai", "vertexai", "azure", "azure_openai", "bedrock", "mistral"}
    | {"mistralai", "openrouter", "google-gla", "google-vertex", "litellm", "models"}
)
VENDORS = re.compile(r"(?:(?:us|eu|apac|jp|au|global)\.)?(?:anthropic|mistral|openai)\.")


class PriceTier(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The price of a call whose prompt is longer than `prompt_tokens`."""

    prompt_tokens: int
    prompt: float
    completion: float
    cached: float | None = None


class Price(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """US dollars for a million tokens. `cached` None: cached tokens cost as much as other prompt tokens."""

    prompt: float
    completion: float
    cached: float | None = None
    above: PriceTier | None = None

    def __post_init__(self) -> None:
        amounts = [self.prompt, self.completion, self.cached or 0]
        if not all(isfinite(amount) and amount >= 0 for amount in amounts):
            raise ValueError("a price is a finite number, zero or more")

    def of(self, usage: Usage) -> float | None:
        """The cost of these tokens; None if prompt or completion was not counted."""
        if usage.prompt_tokens is None or usage.completion_tokens is None:
            return None
        rate: Price | PriceTier = self
        if self.above is not None and usage.prompt_tokens > self.above.prompt_tokens:
            rate = self.above
        cached = min(usage.cached_tokens or 0, usage.prompt_tokens)
        # Thinking is billed as output, and is not part of the completion (see `howsure.traces.usage`).
        written = usage.completion_tokens + (usage.thinking_tokens or 0)
        read = cached * (rate.prompt if rate.cached is None else rate.cached)
        return ((usage.prompt_tokens - cached) * rate.prompt + read + written * rate.completion) / TOKENS_PER_PRICE


class PriceList(Struct, frozen=True, kw_only=True):
    """The list prices that come with Howsure, as in their file."""

    as_of: str
    source: str
    unit: str
    models: dict[str, Price] = field(default_factory=dict)


@cache
def _price_list() -> PriceList:
    content = resources.files("howsure.prices").joinpath("prices.json").read_bytes()
    return msgspec.json.decode(content, type=PriceList)


class PriceTable:
    """Prices by model name. The prices of a user come first, and apply to every model whose name begins with theirs."""

    def __init__(self, listed: PriceList, own: Mapping[str, Price]) -> None:
        self.as_of = listed.as_of
        self.source = listed.source
        self._listed = listed.models
        self._own = {name.strip().lower(): price for name, price in own.items()}
        self._cache: dict[str, Price | None] = {}

    @classmethod
    def load(cls, extra: Mapping[str, Any] | None = None) -> PriceTable:
        """The list prices that come with Howsure, and `extra`: {model: {prompt, completion, cached?}} for a million
        tokens."""
        return cls(_price_list(), {name: _own_price(name, price) for name, price in (extra or {}).items()})

    def price(self, model: str) -> Price | None:
        """The price of a model; None if it is unknown."""
        if model not in self._cache:
            self._cache[model] = self._find(model)
        return self._cache[model]

    def _find(self, model: str) -> Price | None:
        spelled = list(_spellings(model))
        for name in spelled:
            for known in _prefixes(name):
                if known in self._own:
                    return self._own[known]
        for name in spelled:
            for known in _prefixes(name):
                if known in self._listed and _is_release(name[len(known) :]):
                    return self._listed[known]
        return None

    def cost(self, model: str, usage: Usage) -> float | None:
        """US dollars; None if the price or a count is unknown. Never a guess."""
        price = self.price(model)
        return None if price is None else price.of(usage)


def _own_price(name: str, price: Any) -> Price:
    try:
        return price if isinstance(price, Price) else msgspec.convert(price, Price)
    except (msgspec.ValidationError, ValueError) as error:
        raise ConfigInvalid(
            f"price of {name!r}: {error}; expected numbers `prompt`, `completion` and, if you like, `cached`, "
            "in US dollars for a million tokens"
        ) from error


def _spellings(model: str) -> Iterator[str]:
    """The name as it is, then without its prefixes: `models/…`, `openai/…`, `openai:…`, `us.anthropic.…`."""
    name = model.strip().lower()
    yield name
    bare = name.rpartition("/")[2]
    provider, colon, rest = bare.partition(":")
    if colon and provider in PROVIDERS:
        bare = rest
    bare = VENDORS.sub("", bare, count=1) if VENDORS.match(bare) else bare
    if bare.startswith("claude"):
        # Resellers write versions with a dot.
        bare = bare.replace(".", "-")
    if bare != name:
        yield bare


def _prefixes(name: str) -> Iterator[str]:
    """The name and its beginnings at each separator, longest first."""
    yield name
    for place in range(len(name) - 1, 0, -1):
        if name[place] in "-@:/":
            yield name[:place]


def _is_release(rest: str) -> bool:
    """Whether the rest of a name is only a date or build. Another word (`-lite`, `-audio`) makes it another model."""
    return RELEASE.fullmatch(rest) is not None and not VERSION.match(rest)
