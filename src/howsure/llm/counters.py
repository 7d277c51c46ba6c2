"""What the door counts, for each model."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import astuple

from howsure.llm.base import Completion


class Counters(Struct, kw_only=True):
    """Numbers of one model, or of all.

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


def total(counters: Iterable[Counters]) -> Counters:
    columns = zip(*(astuple(one) for one in counters), strict=True)
    return Counters(**dict(zip(Counters.__struct_fields__, map(sum, columns), strict=False)))
