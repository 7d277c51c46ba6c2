"""Checks every turn of a simulated user against persona, facts and plan; and attributes a case that did not pass to the
agent, the simulated user, the environment, the evaluation or the judge. A pure rule over stored data: it names the
first party that the evidence points to, and shows the evidence."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from howsure.model.case import Scenario
from howsure.model.result import Failure
from howsure.model.score import FREE, Grade, Score, Unscored, UnscoredReason
from howsure.model.simulation import Ending, Fault, Party, UserMistake
from howsure.model.transcript import Message, ToolCall, Transcript
from howsure.model.verdict import Verdict
from howsure.users.checks.conversations import SimulatedConversation
from howsure.users.checks.course import course_mistakes, plan_mistakes, repeat_mistakes
from howsure.users.checks.facts import fact_mistakes
from howsure.users.checks.persona import manner_mistakes, persona_mistakes
from howsure.users.stops import is_handoff_tool
from howsure.users.words import phrase


def find_mistakes(
    scenario: Scenario, messages: Sequence[Message], ending: Ending | None = None
) -> tuple[UserMistake, ...]:
    """Every mistake found, in the order of the turns. `ending` None: it is unknown how the user left."""
    conversation = SimulatedConversation(scenario, messages, ending)
    persona = [*persona_mistakes(conversation)]
    found = [
        *fact_mistakes(conversation),
        *persona,
        *plan_mistakes(conversation),
        *course_mistakes(conversation),
        *repeat_mistakes(conversation),
    ]
    out = {slip.turn for slip in persona}
    found += [slip for slip in manner_mistakes(conversation) if slip.turn not in out]
    return tuple(sorted(found, key=lambda slip: slip.turn))


LONGEST = 200
JUDGED = "simulator_fidelity_judged"
MISLEADING = 2.0
"""On the scale from 0 to 5: a mistake that may have misled the agent, or worse."""
_BY_JUDGE = re.compile(r"\bjudge\b|\bruling\b", re.IGNORECASE)


def find_fault(
    verdict: Verdict, transcript: Transcript | None, grades: Sequence[Grade] = (), failures: Sequence[Failure] = ()
) -> Fault | None:
    """Who is responsible; None for a case that passed or was skipped."""
    if verdict is Verdict.ERRORED:
        broke = _failures_fault(failures)
        unknown = next((grade.reason for grade in grades if isinstance(grade, Unscored)), "")
        in_conversation = broke is not None and broke.party not in (Party.JUDGE, Party.EVALUATION)
        return (
            (broke if in_conversation else spoiled_fault(transcript))
            or broke
            or _unscored_fault(grades)
            or _tool_fault(transcript)
            or _fault(Party.EVALUATION, "the evaluation broke", failures[0].message if failures else unknown)
        )
    if verdict is Verdict.FAILED:
        found = spoiled_fault(transcript) or _tool_fault(transcript)
        return found or _judged_user_fault(grades) or _agent_fault(grades)
    return None


def _failures_fault(failures: Sequence[Failure]) -> Fault | None:
    """What broke. The conversation comes before the grading, because nothing can be graded without it."""
    found = [one for failure in failures if (one := _failure_fault(failure))]
    order = [Party.SIMULATOR, Party.ENVIRONMENT, Party.AGENT, Party.JUDGE, Party.EVALUATION]
    return min(found, key=lambda one: order.index(one.party)) if found else None


def _failure_fault(failure: Failure) -> Fault | None:
    match failure.kind:
        case "SimulatorFailed":
            return _fault(Party.SIMULATOR, "the simulated user could not be played", failure.message)
        case "TargetFailed" if phrase("exhausted").search(failure.message):
            return _fault(Party.ENVIRONMENT, "the model behind the agent was out of quota", failure.message)
        case "TargetFailed" if phrase("unreachable").search(failure.message):
            return _fault(Party.ENVIRONMENT, "the agent could not be reached", failure.message)
        case "TargetFailed":
            return _fault(Party.AGENT, "the agent broke", failure.message)
        case "TargetTimedOut":
            return _fault(Party.AGENT, "the agent did not answer in time", failure.message)
        case "ModelFailed" | "ModelRefused" | "ModelTimedOut":
            return _fault(Party.ENVIRONMENT, "the language model behind the agent gave no answer", failure.message)
        case "JudgeFailed":
            return _fault(Party.JUDGE, "the judge gave nothing that can be read", failure.message)
        case "GraderFailed" | "PolicyFailed":
            return _fault(Party.EVALUATION, "a grader broke", failure.message)
        case "ToolFailed":
            reason = "the target or its provider gave an error, as the tool that ran it tells"
            return _fault(Party.ENVIRONMENT, reason, failure.message)
        case "RecordUnreadable":
            return _fault(Party.EVALUATION, "the record of the other tool cannot be read", failure.message)
        case _:
            return None


def _unscored_fault(grades: Sequence[Grade]) -> Fault | None:
    for grade in grades:
        if isinstance(grade, Unscored) and grade.why is UnscoredReason.ERROR and not grade.details.get(FREE):
            judged = bool(grade.judge) or bool(_BY_JUDGE.search(grade.reason))
            reason = f"`{grade.name}` has no value"
            return _fault(Party.JUDGE if judged else Party.EVALUATION, reason, grade.reason)
    return None


def spoiled_fault(transcript: Transcript | None) -> Fault | None:
    """The simulated user's, if it spoiled the conversation."""
    slip = transcript.simulation.spoiling if transcript and transcript.simulation else None
    if slip is None:
        return None
    reason = f"the simulated user spoiled the conversation in turn {slip.turn}: {slip.reason}"
    return _fault(Party.SIMULATOR, reason, slip.evidence)


def _tool_fault(transcript: Transcript | None) -> Fault | None:
    """A tool that did not work whatever the agent did."""
    broken = _broken_tool(transcript.tool_calls) if transcript else None
    return _fault(Party.ENVIRONMENT, f"the tool {broken.name!r} did not work", _shown(broken)) if broken else None


def _judged_user_fault(grades: Sequence[Grade]) -> Fault | None:
    """A simulated user that, according to a judge, may have misled the agent."""
    for grade in grades:
        if isinstance(grade, Score) and grade.name == JUDGED and grade.value <= MISLEADING:
            reason = f"the judge gives the simulated user {grade.value:g} of {grade.scale.high:g}"
            return _fault(Party.SIMULATOR, reason, grade.reason)
    return None


def _broken_tool(calls: Sequence[ToolCall]) -> ToolCall | None:
    """A tool that broke and did not work later. An answer such as `no such order` is not a breakdown, and neither is a
    handoff that nobody takes."""
    worked = {
        call.name: place for place, call in enumerate(calls) if call.result is not None and not call.result.failed
    }
    for place, call in enumerate(calls):
        if call.result is None or not call.result.failed or is_handoff_tool(call.name):
            continue
        if worked.get(call.name, -1) < place and phrase("broken_tool").search(_shown(call)):
            return call
    return None


def _agent_fault(grades: Sequence[Grade]) -> Fault:
    failed = [grade for grade in grades if isinstance(grade, Score) and grade.passed is False]
    first = next((grade for grade in failed if grade.part is None), failed[0] if failed else None)
    if first is None:
        return _fault(Party.AGENT, "the case failed", "")
    evidence = first.reason or (first.evidence[0] if first.evidence else "")
    return _fault(Party.AGENT, f"`{first.name}` is below its mark", evidence)


def _shown(call: ToolCall) -> str:
    content = call.result.content if call.result else ""
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str)


def _fault(party: Party, reason: str, evidence: str) -> Fault:
    cut = evidence if len(evidence) <= LONGEST else f"{evidence[:LONGEST]}…"
    return Fault(party=party, reason=reason, evidence=cut)
