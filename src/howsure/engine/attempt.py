"""The heart: one case, one candidate, one Result. Converse with the target, grade what came of it, decide."""

from __future__ import annotations

from collections.abc import Sequence

from howsure.engine.candidates import CandidateRepeat, Rules
from howsure.engine.converse import converse
from howsure.errors import BudgetReached, CaseFailure, GraderFailed, TargetFailed, boundary
from howsure.graders.base import Grader
from howsure.model.case import Case
from howsure.model.result import BUDGET, Failure, Result
from howsure.model.score import Grade, Unscored, UnscoredReason
from howsure.model.transcript import Transcript
from howsure.model.verdict import Decision, Verdict


async def attempt(case: Case, candidate: CandidateRepeat, rules: Rules) -> Result:
    """What one candidate makes of one case. Whatever breaks inside becomes data; the other cases go on."""
    try:
        conversation = await converse(case, candidate)
    except BudgetReached as reached:
        return candidate.result(case, out_of_budget(reached))
    transcript = conversation.transcript
    if conversation.failure is not None or transcript is None:
        failure = conversation.failure or TargetFailed("nothing was said")
        decision = Decision(verdict=Verdict.ERRORED, reasons=(str(failure),), grades=())
        return candidate.result(case, decision, transcript=transcript, failures=(Failure.of(failure),))
    grades: list[Grade] = []
    failures: list[Failure] = []
    for grader in candidate.selection.select(case):
        outcome = await run_grader(grader, case, transcript)
        if isinstance(outcome, BudgetReached):
            return candidate.result(case, out_of_budget(outcome))
        if isinstance(outcome, CaseFailure):
            failures.append(Failure.of(outcome))
            outcome = [Unscored(name=grader.name, why=UnscoredReason.ERROR, reason=str(outcome))]
        grades += outcome
    decision = rules.decide(case, grades)
    return candidate.result(case, decision, transcript=conversation.timed, failures=tuple(failures))


def out_of_budget(reached: BudgetReached) -> Decision:
    """Not tried, or not to its end: the run can be resumed with more."""
    return Decision(verdict=Verdict.SKIPPED, reasons=(f"{BUDGET}: {reached}",), grades=())


async def run_grader(grader: Grader, case: Case, transcript: Transcript) -> Sequence[Grade] | CaseFailure:
    """The grades, or the failure that stands in their place."""
    try:
        with boundary(GraderFailed, f"grader {grader.name!r}"):
            return await grader.grade(case, transcript)
    except CaseFailure as failure:
        return failure
