"""Numbers as people read them: rounded by rule, with the interval and the count they rest on. A rate over nothing is a
dash, never 0 %."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import Struct

from howsure.model.score import Scale
from howsure.stats.intervals import rate_interval

NOTHING = "–"


class Rate(Struct, frozen=True):
    """How many of how many held, and how sure that makes us."""

    passed: int
    judged: int

    @property
    def value(self) -> float | None:
        return self.passed / self.judged if self.judged else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % Wilson interval; None when nothing was judged."""
        return rate_interval(self.passed, self.judged) if self.judged else None

    @property
    def percent(self) -> str:
        return NOTHING if self.value is None else percent(self.value)

    @property
    def bounds(self) -> str:
        """`39–86`, in percent; empty when nothing was judged."""
        return "" if self.interval is None else f"{100 * self.interval[0]:.0f}–{100 * self.interval[1]:.0f}"

    def __str__(self) -> str:
        """`66.7 % [39–86] n 12`."""
        return f"{self.percent} [{self.bounds}] n {self.judged}" if self.judged else NOTHING


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def number(value: float | None) -> str:
    """Up to three decimals, no more digits than say something; a dash for what was not measured."""
    if value is None:
        return NOTHING
    if value and abs(value) < 0.001:
        return f"{value:.2g}"
    text = f"{value:,.3f}" if abs(value) < 100 else f"{value:,.1f}"
    return text.rstrip("0").rstrip(".")


def on_scale(value: float | None, scale: Scale) -> str:
    """`3.5 of 5`; on an open scale the value alone."""
    if value is None or scale.high is None:
        return number(value)
    return f"{number(value)} of {number(scale.high)}"


def counted(count: int, noun: str) -> str:
    """`1 case`, `2 cases`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def utc(moment: datetime | None) -> str | None:
    """ISO 8601 with its suffix. A time without a zone is UTC: that is how stores hand them back."""
    if moment is None:
        return None
    known = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return known.astimezone(UTC).isoformat().replace("+00:00", "Z")
