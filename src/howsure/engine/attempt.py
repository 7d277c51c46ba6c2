"""The heart: one case, one candidate, one Result. Converse with the target, grade what came of it, decide."""

from __future__ import annotations

from howsure.engine.candidates import CandidateRepeat, Grading, Rules, grade
from howsure.engine.converse import converse
from howsure.errors import BudgetReached, CaseFailure, NotRecorded, PolicyFailed, TargetFailed, boundary, message_of
from howsure.model.case import Case, with_prompt
from howsure.model.flag import NO_ANSWER
from howsure.model.result import BUDGET, Failure, Result
from howsure.model.verdict import Decision, Verdict
from howsure.users.attribution import spoiled_fault


async def attempt(case: Case, candidate: CandidateRepeat, rules: Rules) -> Result:
    """What one candidate makes of one case. Whatever breaks inside becomes data; the other cases go on."""
    asked = with_prompt(case, candidate.prompt) if candidate.prompt else case
    try:
        conversation = await converse(asked, candidate)
        transcript = conversation.transcript
        if conversation.failure is not None or transcript is None:
            failure = conversation.failure or TargetFailed("nothing was said")
            measured = Grading()
            if transcript is not None and transcript.spans:
                measured = await grade(asked, transcript, candidate, broken=True)
            decision = Decision(verdict=Verdict.ERRORED, reasons=(message_of(failure),), grades=measured.grades)
            return candidate.result(case, decision, transcript, (Failure.of(failure),))
        grading = await grade(asked, transcript, candidate)
    except BudgetReached as reached:
        # Not tried, or not to its end: the run can be resumed with more.
        return candidate.result(case, Decision(verdict=Verdict.SKIPPED, reasons=(f"{BUDGET}: {reached}",), grades=()))
    except NotRecorded as missing:
        return candidate.result(case, Decision(verdict=Verdict.SKIPPED, reasons=(str(missing),), grades=()))
    decision, broken = decide(case, grading, rules)
    if transcript.simulation and (spoiled := spoiled_fault(transcript)):
        # The conversation says nothing about the agent, whatever the grades are.
        decision = Decision(verdict=Verdict.ERRORED, reasons=(spoiled.reason,), grades=decision.grades)
    elif silence := tuple(flag.text for flag in transcript.flags if flag.kind == NO_ANSWER):
        # An answer that is there and cannot be used is the agent's, whatever else could not be graded.
        reasons = tuple(dict.fromkeys((*silence, *decision.reasons)))
        decision = Decision(verdict=Verdict.FAILED, reasons=reasons, grades=decision.grades)
    return candidate.result(case, decision, conversation.timed, (*grading.failures, *broken), grading)


def decide(case: Case, grading: Grading, rules: Rules) -> tuple[Decision, tuple[Failure, ...]]:
    """The verdict; a policy that breaks makes this one case errored."""
    try:
        with boundary(PolicyFailed, f"the pass rules of {case.world!r}"):
            return rules.decide(case, grading.grades), ()
    except CaseFailure as failure:
        decision = Decision(verdict=Verdict.ERRORED, reasons=(message_of(failure),), grades=grading.grades)
        return decision, (Failure.of(failure),)
