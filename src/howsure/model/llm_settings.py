"""Settings of calls to language models: providers, the options of a call, rate limits and retry limits. howsure.yaml is
read into these; `problems` says what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Any

from msgspec import Struct, field

MOST_ALTERNATIVES = 20
PROVIDER_NAMES = ("openai", "anthropic", "google", "azure", "mistral", "ollama", "vllm", "openai-compatible")
"""The built-in providers (`llm.providers`); plug-ins may add more."""


class CallSettings(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The options of a call. None: the default of the provider. An option that a provider lacks is left out of the
    body."""

    temperature: float | None = None
    """From 0 to 2."""
    max_tokens: int | None = None
    """The longest reply."""
    top_p: float | None = None
    """From 0 to 1."""
    seed: int | None = None
    """For providers that can repeat a reply."""
    logprobs: int | None = None
    """Ask for the probabilities of tokens, judges for those of ratings: the number of alternatives for each."""
    effort: str | None = None
    """How long the model may think, as the provider calls it."""
    stop: tuple[str, ...] = ()
    """Texts at which a reply ends."""
    schema_by_prompt: bool = False
    """Put the JSON Schema of the reply into the prompt, for servers that cannot enforce one."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Added to the body unchanged; it wins over everything else."""

    def problems(self) -> Iterator[str]:
        """One sentence for each wrong option."""
        for name, value, low, high in (
            ("temperature", self.temperature, 0, 2),
            ("top_p", self.top_p, 0, 1),
            ("logprobs", self.logprobs, 0, MOST_ALTERNATIVES),
        ):
            if value is not None and not low <= value <= high:
                yield f"`{name}`: expected a number from {low} to {high}, found {value}"
        if self.max_tokens is not None and self.max_tokens < 1:
            yield f"`max_tokens`: expected 1 or more, found {self.max_tokens}"


class RateLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a provider allows for one model. None: unknown or unlimited."""

    requests_per_minute: float | None = None
    """Calls a minute."""
    tokens_per_minute: float | None = None
    """Tokens a minute, of prompts and replies."""

    def __post_init__(self) -> None:
        if any(rate is not None and not rate > 0 for rate in (self.requests_per_minute, self.tokens_per_minute)):
            raise ValueError("a rate is more than zero")


class RetryLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long one call is retried."""

    attempts: int = 12
    """Attempts of one call."""
    seconds: float = 300.0
    """Seconds for all attempts and the pauses between them."""
    first_contact: float = 20.0
    """Seconds for a server that has never answered."""

    def problems(self) -> Iterator[str]:
        if self.attempts < 1:
            yield f"`attempts`: expected 1 or more, found {self.attempts}"
        for name, seconds in (("seconds", self.seconds), ("first_contact", self.first_contact)):
            if not (isfinite(seconds) and seconds > 0):
                yield f"`{name}`: expected more than 0, found {seconds}"


def rate_problems(pattern: str) -> Iterator[str]:
    """A rate is set for `provider:model`, for `provider:*`, or for `*`."""
    provider, colon, model = pattern.partition(":")
    if pattern != "*" and (not colon or not model.strip() or provider not in PROVIDER_NAMES):
        yield f"expected provider:model, provider:* or *, with one of {', '.join(PROVIDER_NAMES)}"
