"""Budgets in money, tokens and time, over all model calls of a run. A call that was sent may finish, so a budget is
exceeded by the calls in flight at most.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from msgspec import Struct

from howsure.errors import BudgetReached, ConfigInvalid
from howsure.model.transcript import Usage

MONEY = re.compile(r"(?:\$\s*(?P<before>[\d.]+)|(?P<after>[\d.]+)\s*(?:usd|\$))", re.IGNORECASE)
TOKENS = re.compile(r"(?P<number>[\d.]+)\s*(?P<scale>[km]?)\s*tok(?:en)?s?", re.IGNORECASE)
TIME = re.compile(r"(?:(?P<h>[\d.]+)\s*h)?\s*(?:(?P<m>[\d.]+)\s*m(?:in)?)?\s*(?:(?P<s>[\d.]+)\s*s(?:ec)?)?")
SCALES = {"": 1, "k": 1_000, "m": 1_000_000}
LONGEST_PART = 100
"""Characters: the matching time grows with the square of the length."""
SECONDS = {"h": 3600, "m": 60, "s": 1}


class Allowance(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The limits of a budget; None: no limit."""

    usd: float | None = None
    tokens: float | None = None
    seconds: float | None = None


class BudgetUse(Struct, kw_only=True):
    """What was spent so far, of money, tokens and time."""

    usd: float = 0.0
    tokens: int = 0
    seconds: float = 0.0


def parse_budget(text: str) -> Allowance:
    """`2USD`, `500ktok`, `10m`, or several with commas between them."""
    limits: dict[str, float] = {}
    for part in (part.strip() for part in text.split(",")):
        kind, amount = _amount(part, text)
        if kind in limits:
            raise ConfigInvalid(f"budget {text!r}: two limits on {kind}")
        if not 0 < amount < float("inf"):
            raise ConfigInvalid(f"budget {text!r}: expected more than nothing, found {part!r}")
        limits[kind] = amount
    return Allowance(**limits)


def _amount(part: str, text: str) -> tuple[str, float]:
    try:
        if len(part) > LONGEST_PART:
            raise ValueError
        if money := MONEY.fullmatch(part):
            return "usd", float(money["before"] or money["after"])
        if tokens := TOKENS.fullmatch(part):
            return "tokens", float(tokens["number"]) * SCALES[tokens["scale"].lower()]
        if part and (time := TIME.fullmatch(part)):
            return "seconds", sum(float(time[unit] or 0) * SECONDS[unit] for unit in SECONDS)
    except ValueError:
        pass
    raise ConfigInvalid(
        f"budget {text!r}: cannot read {part!r};"
        " write money as 2USD, tokens as 500ktok or 2Mtok, time as 10m, 90s or 1h30m"
    )


class CommonBudget(Struct, kw_only=True):
    """A budget that several runs share: its owner, its limits for a month, and the spending of the other runs."""

    whose: str
    allowance: Allowance
    usd: float = 0.0
    tokens: int = 0

    def reached(self, usd: float, tokens: int) -> str:
        """The limit that is reached when this run has spent this much, in a sentence; "": none."""
        allowed, usd, tokens = self.allowance, self.usd + usd, self.tokens + tokens
        if allowed.usd is not None and usd >= allowed.usd:
            return f"{self.whose} has spent its {allowed.usd:g} USD of this month ({usd:.4f} USD)"
        if allowed.tokens is not None and tokens >= allowed.tokens:
            return f"{self.whose} has spent its {allowed.tokens:,.0f} tokens of this month ({tokens:,} tokens)"
        return ""


class BudgetMeter:
    """The `Budget` that all calls of a run share. A resumed run starts with what it had `spent` before; `common` is
    what it shares with other runs."""

    def __init__(
        self,
        allowance: Allowance,
        clock: Callable[[], float],
        spent: BudgetUse | None = None,
        common: CommonBudget | None = None,
    ) -> None:
        self._common = common
        self.allowance = allowance
        self.spent = spent or BudgetUse()
        self._clock = clock
        self._began = clock() - self.spent.seconds

    def reserve(self) -> None:
        if reached := self.reached():
            raise BudgetReached(reached)

    def settle(self, usage: Usage, cost_usd: float | None) -> None:
        counts = (usage.prompt_tokens, usage.completion_tokens, usage.thinking_tokens)
        self.spent.tokens += sum(count for count in counts if count is not None)
        self.spent.usd += cost_usd or 0.0

    def reached(self) -> str:
        """The limit that was reached, in a sentence; empty: none."""
        allowed, spent = self.allowance, self.spent
        spent.seconds = self._clock() - self._began
        if allowed.usd is not None and spent.usd >= allowed.usd:
            return f"the budget of {allowed.usd:g} USD is spent ({spent.usd:.4f} USD)"
        if allowed.tokens is not None and spent.tokens >= allowed.tokens:
            return f"the budget of {allowed.tokens:,.0f} tokens is spent ({spent.tokens:,} tokens)"
        if allowed.seconds is not None and spent.seconds >= allowed.seconds:
            return f"the budget of {allowed.seconds:g} s is over"
        return self._common.reached(spent.usd, spent.tokens) if self._common else ""


def check_priced(allowance: Allowance, models: Iterable[tuple[str, bool]]) -> None:
    """At plan time: a budget in money needs a price for every model. `models`: their names, and whether it is known."""
    unknown = [name for name, known in models if not known]
    if allowance.usd is not None and unknown:
        raise ConfigInvalid(
            f"--budget in USD needs the price of {', '.join(unknown)}; set it under `prices` in howsure.yaml"
            " ({prompt, completion} in USD for a million tokens), or give the budget in tokens or time"
        )
