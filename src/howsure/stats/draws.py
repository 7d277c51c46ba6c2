"""Draws answers for people to label: at random, with known probabilities. Each answer has a permanent random number,
made from its name, and comes in the order of that number divided by its chance (sequential Poisson sampling; Ohlsson,
1998). So drawing twenty answers and then twenty more gives the same as drawing forty at once, two people get the same
ones, and two runs over the same cases get mostly the same cases. Probabilities are relative: 1 is as likely as in a
plain random draw.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from hashlib import blake2b

SEED = "howsure labels"
LEAST = 0.25
"""Every answer is at least a quarter as likely as in a plain random draw."""


def random_number(name: str, seed: str = SEED) -> float:
    """A number above 0, at most 1, that depends on the name alone."""
    digest = blake2b(f"{seed}\n{name}".encode(errors="surrogatepass"), digest_size=8).digest()
    return (int.from_bytes(digest) + 1) / 2**64


def draw_order(names: Sequence[str], chances: Sequence[float], seed: str = SEED) -> list[int]:
    """The indices of the answers in the order in which they are drawn."""
    keys = [
        (random_number(name, seed) / chance, place)
        for place, (name, chance) in enumerate(zip(names, chances, strict=True))
    ]
    return [place for _, place in sorted(keys)]


def inclusion_probabilities(drawn: Sequence[float], answers: int) -> list[float]:
    """The probability with which each label came among the labels: in proportion to its chance, at most 1, and such
    that the labels together stand for all answers (the inverse probabilities sum to `answers`)."""
    found, sure = [1.0] * len(drawn), 0
    order = sorted(range(len(drawn)), key=lambda place: -drawn[place])
    inverse = sum(1 / chance for chance in drawn)
    while sure < len(drawn) < answers:
        factor = inverse / (answers - sure)
        if factor * drawn[order[sure]] < 1:
            for place in order[sure:]:
                found[place] = factor * drawn[place]
            break
        inverse -= 1 / drawn[order[sure]]
        sure += 1
    return found


def stratum_chances(strata: Sequence[Hashable]) -> list[float]:
    """The mean of a plain random draw and one in which all strata are equally frequent, so that rare verdicts occur
    too."""
    counts = Counter(strata)
    chance = {each: 0.5 + 0.5 * len(strata) / (len(counts) * count) for each, count in counts.items()}
    return [chance[each] for each in strata]


def doubt_chances(doubts: Sequence[float]) -> list[float]:
    """Probabilities in proportion to the doubt (0 to 1), mixed with a plain random draw."""
    mean = sum(doubts) / len(doubts) if doubts else 0.0
    return [LEAST + (1 - LEAST) * doubt / mean if mean else 1.0 for doubt in doubts]


def doubts_about(values: Sequence[float], passed: Sequence[bool]) -> list[float]:
    """How near each value is to where passes begin: 1 at the border, 0 farthest from it. The border lies between the
    passes and the fails that are nearest to each other."""
    good = [value for value, verdict in zip(values, passed, strict=True) if verdict]
    bad = [value for value, verdict in zip(values, passed, strict=True) if not verdict]
    if good and bad:
        upward = sum(good) / len(good) >= sum(bad) / len(bad)
        border = (min(good) + max(bad)) / 2 if upward else (max(good) + min(bad)) / 2
    else:
        border = min(good) if good else max(bad, default=0.0)
    farthest = max((abs(value - border) for value in values), default=0.0)
    return [1 - abs(value - border) / farthest if farthest else 1.0 for value in values]
