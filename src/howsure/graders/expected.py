"""What the programmatic graders share: finding the expectations of one kind in a case, and saying what differs in a
sentence of bearable length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from msgspec import structs

from howsure.model.case import Case
from howsure.model.score import Grade, Part

E = TypeVar("E")

MOST_REASONS = 5


def has(case: Case, kind: type[Any]) -> bool:
    """Whether a case expects anything of this kind."""
    return any(isinstance(expectation, kind) for expectation in case.expectations)


def each_graded(case: Case, kind: type[E], grade: Callable[[E], Grade]) -> list[Grade]:
    """One grade for each expectation of the kind; where there are several, each is a part of its own."""
    grades = [grade(expectation) for expectation in case.expectations if isinstance(expectation, kind)]
    if len(grades) > 1:
        return [structs.replace(given, part=Part(id=str(n), text="")) for n, given in enumerate(grades, start=1)]
    return grades


def in_short(reasons: Sequence[str]) -> str:
    """The first reasons, and how many more there are."""
    more = len(reasons) - MOST_REASONS
    return "; ".join(reasons[:MOST_REASONS]) + (f"; and {more} more" if more > 0 else "")
