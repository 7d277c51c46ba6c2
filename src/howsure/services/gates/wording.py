"""The words of a ruling: the value in its unit, its interval, what that means for the limit, and what would help."""

from __future__ import annotations

from enum import Enum
from math import inf

from howsure.model.gate import Outcome
from howsure.policies.gates import Bound, Sign
from howsure.reports.figures import counted, number
from howsure.stats.intervals import Interval

GOOD = {Sign.AT_LEAST: "at or above", Sign.AT_MOST: "at or below", Sign.MORE: "above", Sign.LESS: "below"}
BAD = {Sign.AT_LEAST: "below", Sign.AT_MOST: "above", Sign.MORE: "at or below", Sign.LESS: "at or above"}


class Unit(Enum):
    """What a value is counted in."""

    SHARE = "share"
    POINTS = "points"
    SECONDS = "seconds"
    DOLLARS = "USD"
    TOKENS = "tokens"
    CASES = "cases"
    CHANGE = "percentage points"

    def say(self, value: float) -> str:
        match self:
            case Unit.SHARE:
                return f"{_percent(value)} %"
            case Unit.SECONDS:
                return f"{value:.0f} ms" if abs(value) < 0.001 else _time(value)
            case Unit.DOLLARS:
                return f"{value:.4f}".rstrip("0").rstrip(".") + " USD" if abs(value) < 1 else f"{value:,.2f} USD"
            case Unit.TOKENS:
                return f"{value:,.0f} tokens"
            case Unit.CHANGE:
                return f"{_signed(100 * value)} points"
            case Unit.CASES:
                return f"{value:,.0f}"
            case Unit.POINTS:
                return number(value)


def _percent(share: float) -> str:
    """One decimal; more of them where it would round to none or to all."""
    text = f"{100 * share:.1f}"
    if text in ("0.0", "100.0") and share not in (0, 1):
        text = f"{100 * share:.3f}"
    return text.rstrip("0").rstrip(".")


def _signed(points: float) -> str:
    if 0 < abs(points) < 0.05:
        return f"{points:+.2g}"
    return f"{points:+.1f}" if points else "0.0"


def _time(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms" if abs(seconds) < 1 else f"{number(round(seconds, 2))} s"


def span(unit: Unit, interval: Interval) -> str:
    """`86.1 % to 95.2 %`; an end that the values cannot give is said to be unknown."""
    low, high = interval
    below = "an unknown low" if low == -inf else unit.say(low)
    above = "an unknown high" if high == inf else unit.say(high)
    return f"{below} to {above}"


def standing(unit: Unit, bound: Bound, outcome: Outcome) -> str:
    """Where the interval lies, after a comma."""
    limit = unit.say(bound.limit)
    match outcome:
        case Outcome.HELD:
            return f"all of it {GOOD[bound.sign]} {limit}"
        case Outcome.FAILED:
            return f"all of it {BAD[bound.sign]} {limit}"
        case Outcome.INCONCLUSIVE:
            return f"and {limit} lies within it"


def more(cases: int | None) -> str:
    """What would settle it."""
    if cases is None:
        return "No number of cases can be named that would settle it: the value lies too near the limit."
    return f"About {counted(cases, 'more case')} like these would settle it."


def without(missing: int, noun: str, lacking: str = "a verdict") -> str:
    """What is not counted."""
    return f" {counted(missing, noun)} without {lacking}: not counted." if missing else ""
