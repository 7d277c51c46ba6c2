"""How many cases would settle a question that is still open: until the interval, around a value that stays what it is,
no longer holds the limit. About so many: the value will move a little, too."""

from __future__ import annotations

from math import ceil

from howsure.stats.intervals import Interval, rate_interval
from howsure.stats.rates import SMALL, exact

MOST = 10_000_000
NEAR = 1e-9


def cases_for_rate(passed: int, judged: int, limit: float) -> int | None:
    """The cases in all at which a rate like this one is told from the limit. None: it lies on the limit, or more than
    ten million would be needed."""
    if not judged or abs(passed / judged - limit) < NEAR:
        return None
    rate = passed / judged
    low, high = judged, max(2 * judged, 2)
    if _apart(rate, low, limit):
        return low
    while not _apart(rate, high, limit):
        low, high = high, 2 * high
        if high > MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _apart(rate, middle, limit) else (middle, high)
    return high


def cases_for_value(value: float, interval: Interval, n: int, limit: float) -> int | None:
    """The same for any estimate: intervals shrink with the root of the number of cases."""
    gap = value - limit
    reach = value - interval[0] if gap > 0 else interval[1] - value
    if abs(gap) < NEAR:
        return None
    needed = ceil(n * (reach / abs(gap)) ** 2)
    return max(needed, n) if needed <= MOST else None


def _apart(rate: float, n: int, limit: float) -> bool:
    # A whole number of cases has to have passed.
    passed = round(rate * n)
    found = exact(passed, n) if n < SMALL else rate_interval(passed, n)
    return found is not None and (found[0] > limit or found[1] < limit)
