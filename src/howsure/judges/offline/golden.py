"""The judged evals of the golden world that a program can speak to: those with a reference of their own. The others
need understanding."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from howsure.judges.offline.opinions import CannotTell, Opinion, View
from howsure.judges.offline.reference import reference_view
from howsure.matching.calls import compare_calls
from howsure.matching.state import compare_state
from howsure.matching.steps import compare_steps
from howsure.model.case import Case, user_turns
from howsure.model.expectation import FinalState, ReferenceAnswer, ToolCalls, Trajectory
from howsure.model.transcript import Transcript

SCALE = 5
PROGRAM = 0.8
"""The confidence where a program compares with a reference, and a person might be more lenient."""

Compare = Callable[[Case, Transcript, str], View]


def golden_view(grader: str, case: Case, transcript: Transcript, text: str) -> View:
    return GOLDEN[grader](case, transcript, text)


def _tools(case: Case, transcript: Transcript, text: str) -> View:
    found = [compare_calls(each, transcript.messages) for each in case.expectations if isinstance(each, ToolCalls)]
    return _of([(each.value, each.reasons) for each in found], "tool calls")


def _steps(case: Case, transcript: Transcript, text: str) -> View:
    found = [compare_steps(each, transcript.trajectory) for each in case.expectations if isinstance(each, Trajectory)]
    return _of([(each.value, each.reasons) for each in found], "trajectory")


def _state(case: Case, transcript: Transcript, text: str) -> View:
    if transcript.state is None:
        return CannotTell("no final state was recorded")
    found = [compare_state(each, transcript.state) for each in case.expectations if isinstance(each, FinalState)]
    return _of([(each.value, each.reasons) for each in found], "state")


def _response(case: Case, transcript: Transcript, text: str) -> View:
    references = [answer for each in case.expectations if isinstance(each, ReferenceAnswer) for answer in each.answers]
    if not references:
        return CannotTell("the case has no reference answer")
    view = reference_view(user_turns(case.input)[-1], references, text)
    if isinstance(view, CannotTell):
        return view
    return Opinion(
        value=round(SCALE * view.value, 2), confidence=view.confidence, reason=view.reason, evidence=view.evidence
    )


def _of(found: list[tuple[float, tuple[str, ...]]], what: str) -> View:
    if not found:
        return CannotTell(f"the case expects no particular {what}")
    value = min(each for each, _ in found)
    reasons = [reason for _, each in found for reason in each]
    reason = "; ".join(reasons[:4]) or f"The {what} is as expected"
    return Opinion(value=round(SCALE * value, 2), confidence=PROGRAM, reason=f"{reason}.")


GOLDEN: Mapping[str, Compare] = {
    "tool_usage_accuracy_judged": _tools,
    "trajectory_accuracy_judged": _steps,
    "state_management_fidelity_judged": _state,
    "response_correctness": _response,
}
