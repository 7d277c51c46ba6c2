"""The two halves of the openqa questions: one was looked at while the offline judge was built, the other never was. How
much better the judge fares on the first, with and without what makes that half the easier for any judge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from random import Random
from statistics import fmean
from typing import TypeVar

import numpy as np

T = TypeVar("T")
Compared = tuple[str, bool, bool]
"""A question, and whether we and the trained matcher agree with people on one answer to it."""


@cache
def is_built_on(question: str) -> bool:
    """The half of the questions that was looked at while the judge was built; the other half was not."""
    return int(sha256(question.encode()).hexdigest(), 16) % 2 == 0


def our_gap(answers: Sequence[Compared]) -> float | None:
    """How much better we agree on the half that was built on; None when a draw has one half only."""
    return _gap([(question, float(ours)) for question, ours, _ in answers])


def gap_beyond_trained(answers: Sequence[Compared]) -> float | None:
    """Our gap less that of the matcher, which saw neither half: what is left when one half is the harder."""
    return _gap([(question, float(ours) - float(trained)) for question, ours, trained in answers])


def _gap(marks: Sequence[tuple[str, float]]) -> float | None:
    built_on = [mark for question, mark in marks if is_built_on(question)]
    held_out = [mark for question, mark in marks if not is_built_on(question)]
    return fmean(built_on) - fmean(held_out) if built_on and held_out else None


def interval_by_question(
    observed: Sequence[T], statistic: Callable[[Sequence[T]], float | None], question: Callable[[T], str]
) -> tuple[float, float]:
    """Of 95 %, drawing whole questions 2,000 times: the answers to one are no independent observations."""
    random, groups = Random(1), defaultdict[str, list[T]](list)
    for one in observed:
        groups[question(one)].append(one)
    drawn = (random.choices(list(groups.values()), k=len(groups)) for _ in range(2000))
    values = [value for some in drawn if (value := statistic([one for own in some for one in own])) is not None]
    low, high = np.quantile(values, (0.025, 0.975)).tolist()
    return low, high
