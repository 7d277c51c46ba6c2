"""The heart: one case, one lane, one Result. Converse with the target, grade what came of it, decide."""

from __future__ import annotations

from collections.abc import Sequence

from howsure.engine.converse import converse
from howsure.engine.plan import CandidateRepeat, Rules
from howsure.errors import BudgetReached, CaseFailure, GraderFailed, TargetFailed, boundary
from howsure.graders.base import Grader
from howsure.model.case import Case
from howsure.model.result import BUDGET, Failure, Result
from howsure.model.score import Grade, Unscored, Why
from howsure.model.transcript import Transcript
from howsure.model.verdict import Decision, Verdict


async def attempt(case: Case, lane: CandidateRepeat, rules: Rules) -> Result:
    """What one candidate made of one case. Whatever breaks inside becomes data; the other cases go on."""
    try:
        held = await converse(case, lane)
    except BudgetReached as reached:
        return lane.result(case, out_of_budget(reached))
    transcript = held.transcript
    if held.failure is not None or transcript is None:
        broken = held.failure or TargetFailed("nothing was said")
        decision = Decision(verdict=Verdict.ERRORED, reasons=(str(broken),), grades=())
        return lane.result(case, decision, transcript=transcript, failures=(Failure.of(broken),))
    grades: list[Grade] = []
    failures: list[Failure] = []
    for grader in lane.selection.wanting(case):
        given = await graded(grader, case, transcript)
        if isinstance(given, BudgetReached):
            return lane.result(case, out_of_budget(given))
        if isinstance(given, CaseFailure):
            failures.append(Failure.of(given))
            given = [Unscored(name=grader.name, why=Why.ERROR, reason=str(given))]
        grades += given
    decision = rules.decide(case, grades)
    return lane.result(case, decision, transcript=held.timed, failures=tuple(failures))


def out_of_budget(reached: BudgetReached) -> Decision:
    """Not tried, or not to its end: the run can be resumed with more."""
    return Decision(verdict=Verdict.SKIPPED, reasons=(f"{BUDGET}: {reached}",), grades=())


async def graded(grader: Grader, case: Case, transcript: Transcript) -> Sequence[Grade] | CaseFailure:
    """The grades, or the failure that stands in their place."""
    try:
        with boundary(GraderFailed, f"grader {grader.name!r}"):
            return await grader.grade(case, transcript)
    except CaseFailure as failure:
        return failure
