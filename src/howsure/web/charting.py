"""Charts as numbers: where each bar, line and tick lies, in percent of the picture. Templates draw them as SVG, so no
program and no style is needed to see them."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from msgspec import Struct

BINS = 24


class Bar(Struct, frozen=True):
    """So many values between two others."""

    x: float
    width: float
    height: float
    said: str


class Histogram(Struct, frozen=True, kw_only=True):
    """How values are spread; `middle` is the median and `high` what 95 of 100 stay under, with their places."""

    title: str
    bars: tuple[Bar, ...]
    n: int
    missing: int
    low: str
    middle: str
    high: str
    most: str
    middle_at: float
    high_at: float


def histogram(title: str, values: Sequence[float | None], unit: str) -> Histogram | None:
    """From zero to the largest value; None where nothing is known."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return None
    top = known[-1] or 1.0
    numbers = [0] * BINS
    for value in known:
        numbers[min(int(BINS * value / top), BINS - 1)] += 1
    most, wide = max(numbers), 100 / BINS
    middle, high = quantile(known, 0.5), quantile(known, 0.95)
    return Histogram(
        title=title,
        bars=tuple(
            Bar(
                round(place * wide + 0.2, 2),
                round(wide - 0.4, 2),
                round(100 * number / most, 1),
                f"{number:,} between {amount(top * place / BINS, unit)} and {amount(top * (place + 1) / BINS, unit)}",
            )
            for place, number in enumerate(numbers)
            if number
        ),
        n=len(known),
        missing=len(values) - len(known),
        low=amount(known[0], unit),
        middle=amount(middle, unit),
        high=amount(high, unit),
        most=amount(known[-1], unit),
        middle_at=round(100 * middle / top, 2),
        high_at=round(100 * high / top, 2),
    )


def quantile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that so large a share does not exceed."""
    return ordered[max(ceil(share * len(ordered)) - 1, 0)]


def amount(value: float, unit: str) -> str:
    """Three digits that say something: `1.24 s`, `0.00031 $`, `1,240 tokens`."""
    if value >= 1000:
        return f"{value:,.0f} {unit}"
    return f"{value:.3g} {unit}"


class Stop(Struct, frozen=True, kw_only=True):
    """One run in a trend: its rate and interval, in percent from the top, and how far right it stands."""

    x: float
    y: float | None
    top: float
    height: float
    said: str
    address: str


def spread(number: int, place: int) -> float:
    """Places from left to right with the same room around each."""
    return round(100 * (place + 0.5) / max(number, 1), 3)
