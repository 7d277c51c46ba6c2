"""What the graders that need no judge share: finding the expectations of one class in a case, grading each of them, and
shortening lists of reasons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from msgspec import structs

from howsure.model.case import Case
from howsure.model.score import Grade, Part

E = TypeVar("E")

MOST_REASONS = 5


def expects(case: Case, kind: type[Any]) -> bool:
    """Whether a case has an expectation of this class."""
    return any(isinstance(expectation, kind) for expectation in case.expectations)


def grade_each(case: Case, kind: type[E], grade: Callable[[E], Grade]) -> list[Grade]:
    """One grade for each expectation of the class. If there are several, each is a part with a number."""
    grades = [grade(expectation) for expectation in case.expectations if isinstance(expectation, kind)]
    if len(grades) > 1:
        return [structs.replace(each, part=Part(id=str(n), text="")) for n, each in enumerate(grades, start=1)]
    return grades


def shorten_reasons(reasons: Sequence[str]) -> str:
    """The first reasons, and how many more there are."""
    more = len(reasons) - MOST_REASONS
    return "; ".join(reasons[:MOST_REASONS]) + (f"; and {more} more" if more > 0 else "")
