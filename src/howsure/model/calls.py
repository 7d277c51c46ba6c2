"""How language models may be called: who serves them, the settings of a call, rates, and patience. What a user may set
in howsure.yaml is made of these; `problems` says what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from math import isfinite
from typing import Any

from msgspec import Struct, field

MOST_ALTERNATIVES = 20


class Provider(Enum):
    """Who serves the model, or whose way of asking it understands."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    GOOGLE = "google"
    AZURE = "azure"
    MISTRAL = "mistral"
    OLLAMA = "ollama"
    VLLM = "vllm"
    OPENAI_COMPATIBLE = "openai-compatible"


class CallSettings(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How to answer; None: the provider's default. What a provider does not have is left out of its body.

    `logprobs` is the number of alternatives asked for at each token. `schema_by_prompt` asks in words for servers that
    cannot enforce a JSON Schema. `extra` goes into the body as it is and wins over everything else.
    """

    temperature: float | None = None
    max_tokens: int | None = None
    top_p: float | None = None
    seed: int | None = None
    logprobs: int | None = None
    effort: str | None = None
    stop: tuple[str, ...] = ()
    schema_by_prompt: bool = False
    extra: dict[str, Any] = field(default_factory=dict)

    def problems(self) -> Iterator[str]:
        """`temperature`: what is wrong with it."""
        for name, value, low, high in (
            ("temperature", self.temperature, 0, 2),
            ("top_p", self.top_p, 0, 1),
            ("logprobs", self.logprobs, 0, MOST_ALTERNATIVES),
        ):
            if value is not None and not low <= value <= high:
                yield f"`{name}`: expected a number from {low} to {high}, found {value}"
        if self.max_tokens is not None and self.max_tokens < 1:
            yield f"`max_tokens`: expected 1 or more, found {self.max_tokens}"


class Rates(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a provider allows for one model; None: not known, or not limited."""

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None

    def __post_init__(self) -> None:
        if any(rate is not None and not rate > 0 for rate in (self.requests_per_minute, self.tokens_per_minute)):
            raise ValueError("a rate is more than zero")


class Patience(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long one call is tried: failed attempts, seconds of attempts and pauses, and the seconds that a server gets
    which has never answered anything."""

    attempts: int = 12
    seconds: float = 300.0
    first_contact: float = 20.0

    def problems(self) -> Iterator[str]:
        if self.attempts < 1:
            yield f"`attempts`: expected 1 or more, found {self.attempts}"
        for name, seconds in (("seconds", self.seconds), ("first_contact", self.first_contact)):
            if not (isfinite(seconds) and seconds > 0):
                yield f"`{name}`: expected more than 0, found {seconds}"


def rate_problems(pattern: str) -> Iterator[str]:
    """A rate is set for `provider:model`, for `provider:*`, or for `*`."""
    provider, colon, model = pattern.partition(":")
    known = [each.value for each in Provider]
    if pattern != "*" and (not colon or not model.strip() or provider not in known):
        yield f"expected provider:model, provider:* or *, with one of {', '.join(known)}"
