"""Grading one conversation: every grader that wants the case, one after the other. What breaks inside becomes data."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from howsure.engine.candidates import CandidateRepeat
from howsure.engine.unchecked import FieldCheck
from howsure.errors import BudgetReached, CaseFailure, GraderFailed, boundary
from howsure.model.case import Case
from howsure.model.result import Failure
from howsure.model.score import Grade, Unscored, UnscoredReason
from howsure.model.transcript import Transcript


class Grading(Struct, frozen=True):
    """The grades, what broke on the way, and what the case expects that no grader checks."""

    grades: tuple[Grade, ...] = ()
    failures: tuple[Failure, ...] = ()
    unchecked: Sequence[FieldCheck] = ()


async def grade(case: Case, transcript: Transcript, candidate: CandidateRepeat, *, broken: bool = False) -> Grading:
    """What every grader says. Of a conversation that is `broken` only its spans are measured: that needs no answer.
    Only a reached budget is raised."""
    grades: list[Grade] = []
    failures: list[Failure] = []
    try:
        graders, unchecked = candidate.selection.choose(case, spans=bool(transcript.spans))
    except CaseFailure as failure:
        unknown = Unscored(name="graders", why=UnscoredReason.ERROR, reason=str(failure))
        return Grading((unknown,), (Failure.of(failure),))
    for grader in graders:
        if broken and not getattr(grader, "measures_spans", False):
            continue
        try:
            with boundary(GraderFailed, f"grader {grader.name!r}"):
                grades += await grader.grade(case, transcript)
        except BudgetReached:
            raise
        except CaseFailure as failure:
            failures.append(Failure.of(failure))
            grades.append(Unscored(name=grader.name, why=UnscoredReason.ERROR, reason=str(failure)))
    return Grading(tuple(grades), tuple(failures), unchecked)
