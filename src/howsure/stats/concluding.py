"""What may be concluded from a paired difference: that there is none to speak of, or how many pairs would settle one
that is not settled yet."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

from howsure.stats.paired import Difference, Method
from howsure.stats.power import PairedMeans, PairedRates, needed

FEWEST = 10
"""From so many pairs on, runs that agree on every one may be called equal: what they could still hide is said."""


def is_equal(found: Difference, margin: float) -> bool:
    """No difference beyond the margin is left possible; or not one pair differs, and there are some."""
    if not found.raised + found.lowered and found.n >= FEWEST:
        return True
    return found.interval is not None and max(abs(end) for end in found.interval) <= margin


def pairs_to_settle(found: Difference, margin: float) -> int | None:
    """How many pairs would tell, with a chance of 80 %, if the difference stays as it is: either that it is not zero or
    that it is within the margin, whichever takes fewer. None: nobody can say from so few, or more than ten million."""
    size = max(abs(found.difference), margin - abs(found.difference))
    if size <= 0 or found.interval is None:
        return None
    if found.method is Method.MCNEMAR:
        discordant = max((found.raised + found.lowered) / found.n, size)
        count = needed(PairedRates(discordant=min(1.0, discordant)), min(1.0, size))
    else:
        # The interval holds what clusters and repeats do to the spread; a plain deviation would not.
        low, high = found.interval
        error = (high - low) / (2 * NormalDist().inv_cdf((1 + found.confidence) / 2))
        count = needed(PairedMeans(deviation=error * sqrt(found.n)), size) if error > 0 else None
    return None if count is None else max(count, found.n + 1)
