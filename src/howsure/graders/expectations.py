"""What the graders that need no judge share: finding the expectations of one class in a case, grading each of them, and
shortening lists of reasons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from msgspec import structs

from howsure.model.case import Case
from howsure.model.score import UNIT, Grade, Part, Score, Unscored, UnscoredReason
from howsure.model.transcript import Transcript

E = TypeVar("E")

MOST_REASONS = 5


def expects(case: Case, kind: type[Any] | tuple[type[Any], ...]) -> bool:
    """Whether a case has an expectation of this class."""
    return any(isinstance(expectation, kind) for expectation in case.expectations)


def numbered(grades: Sequence[Grade]) -> Sequence[Grade]:
    """The grades of one grader; if there are several, each becomes a numbered part."""
    if len(grades) < 2:
        return grades
    return [structs.replace(each, part=Part(id=str(n), text="")) for n, each in enumerate(grades, start=1)]


class ExpectationGrader(Generic[E]):
    """Grades each expectation of the class in `only_with`, from 0 to 1. Only one that is fulfilled completely
    passes."""

    name: str
    scale = UNIT
    only_with: tuple[type[Any], ...]

    @property
    def verifies(self) -> tuple[type[Any], ...]:
        """The kinds of expectation that it checks; planning reports expectations that no grader of the run checks."""
        return self.only_with

    def wants(self, case: Case) -> bool:
        return expects(case, self.only_with)

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        """One grade for each expectation of the class. If there are several, each is a part with a number."""
        mine = [each for each in case.expectations if isinstance(each, self.only_with)]
        return numbered([self.grade_one(each, transcript) for each in mine])

    def grade_one(self, expected: E, transcript: Transcript) -> Grade:
        raise NotImplementedError

    def score(self, value: float, reasons: Sequence[str], success: str, details: dict[str, Any]) -> Score:
        """A Score with the reasons why it is not full; `success` is the reason of a full one."""
        reason = shorten_reasons(reasons) or success
        return Score(name=self.name, value=value, pass_mark=1.0, reason=reason, details=details)

    def unknown(self, reason: str) -> Unscored:
        """No value, because nothing comparable was recorded."""
        return Unscored(name=self.name, why=UnscoredReason.ERROR, reason=reason, pass_mark=1.0)


def shorten_reasons(reasons: Sequence[str]) -> str:
    """The first reasons, and how many more there are."""
    more = len(reasons) - MOST_REASONS
    return "; ".join(reasons[:MOST_REASONS]) + (f"; and {more} more" if more > 0 else "")
