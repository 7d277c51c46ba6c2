"""How judges are asked: as the settings say; where they say nothing, without randomness, and with the probabilities
that a rating is weighed by. What we add ourselves is only wished for: a model that refuses it is asked without."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from howsure.model.calls import CallSettings, Provider

ALTERNATIVES = 5
"""Alternatives for each token: whole numbers from 1 to 5."""
WITHOUT_LOGPROBS = frozenset({Provider.ANTHROPIC, Provider.MISTRAL})


class Manner(Struct, frozen=True, kw_only=True):
    """`rated` is for questions whose answer is a whole number on a scale; `wished` may be refused, the first first."""

    settings: CallSettings = CallSettings()
    rated: CallSettings = CallSettings()
    wished: tuple[str, ...] = ()


PLAIN = Manner()


def manner_of(provider: Provider, given: CallSettings, votes: int = 1) -> Manner:
    """The manner of a judge. One that votes is left its randomness: otherwise it would vote the same each time."""
    wished: list[str] = []
    settings = replace(given, logprobs=None)
    count = given.logprobs
    if count is None and provider not in WITHOUT_LOGPROBS:
        count = ALTERNATIVES
        wished.append("logprobs")
    if given.temperature is None and votes == 1:
        settings = replace(settings, temperature=0.0)
        wished.append("temperature")
    rated = replace(settings, logprobs=count) if count else settings
    return Manner(settings=settings, rated=rated, wished=tuple(wished))
