"""The offline judge: graders ask it by their name and get an object, or a `JudgeFailed` that says why it cannot tell.
It knows the judged evals of the golden world that have a reference, ToolCallAccuracyExplain, and everything that the
other modules judge.

Sentences of an answer that speak to the judge, and lines that pose as the edge of a block or as another turn, are set
aside before anything is judged: they neither earn nor cost points, and the reason shows them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from unicodedata import category, normalize

from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import CaseFailure, JudgeFailed, boundary
from howsure.judges.base import JudgeReply, Question
from howsure.judges.conversations import readable_text
from howsure.judges.offline.criteria import judge_criterion, judge_outcome, judge_rule, judge_tool_statement
from howsure.judges.offline.lexicon import phrase
from howsure.judges.offline.opinions import MEASURED, Judgment, MeasuredAgreement, NoOpinion, OfflineOpinion
from howsure.judges.offline.qualities import WEIGHED, AnswerContext, judge_quality, signals
from howsure.judges.offline.references import judge_reference
from howsure.judges.offline.words import tokens
from howsure.matching.calls import compare_calls
from howsure.matching.state_and_steps import compare_state, compare_steps
from howsure.model.adk_criteria import expected_answers
from howsure.model.case import Case, SingleTurn, user_turns
from howsure.model.expectation import (
    FinalState,
    Goal,
    Qualities,
    ReferenceAnswer,
    ToolCalls,
    Trajectory,
    WeightedCriteria,
)
from howsure.model.rubric import Rubric
from howsure.model.run_request import OFFLINE
from howsure.model.score import Part
from howsure.model.transcript import Role, ToolCall, Transcript

SCALE = 5
PROGRAM = 0.8
"""The confidence of a comparison by program, where a person might be more lenient."""

Compare = Callable[[Case, Transcript, str], Judgment]


def _tools(case: Case, transcript: Transcript, text: str) -> Judgment:
    found = [compare_calls(each, transcript.messages) for each in case.expectations if isinstance(each, ToolCalls)]
    return _of([(each.value, each.reasons) for each in found], "tool calls")


def _steps(case: Case, transcript: Transcript, text: str) -> Judgment:
    found = [compare_steps(each, transcript.trajectory) for each in case.expectations if isinstance(each, Trajectory)]
    return _of([(each.value, each.reasons) for each in found], "trajectory")


def _state(case: Case, transcript: Transcript, text: str) -> Judgment:
    if transcript.state is None:
        return NoOpinion("no final state was recorded")
    found = [compare_state(each, transcript.state) for each in case.expectations if isinstance(each, FinalState)]
    return _of([(each.value, each.reasons) for each in found], "state")


def _response(case: Case, transcript: Transcript, text: str) -> Judgment:
    view = _judge_references(case, text, _golden_references(case))
    if isinstance(view, NoOpinion):
        return view
    said = tuple(quote for quote in view.evidence if quote in text)
    return replace(view, value=round(SCALE * view.value, 2), details={}, evidence=said)


def _of(found: list[tuple[float, tuple[str, ...]]], what: str) -> Judgment:
    if not found:
        return NoOpinion(f"the case expects no particular {what}")
    value = min(each for each, _ in found)
    reasons = [reason for _, each in found for reason in each]
    reason = "; ".join(reasons[:4]) or f"The {what} is as expected"
    return OfflineOpinion(value=round(SCALE * value, 2), confidence=PROGRAM, reason=f"{reason}.")


GOLDEN: Mapping[str, Compare] = {
    "tool_usage_accuracy_judged": _tools,
    "trajectory_accuracy_judged": _steps,
    "state_management_fidelity_judged": _state,
    "response_correctness": _response,
}


def judge_tool_accuracy(case: Case, transcript: Transcript) -> Judgment:
    """ToolCallAccuracyExplain, 1 to 5: from the expected calls where the case has them, else from plain faults only."""
    expected = [each for each in case.expectations if isinstance(each, ToolCalls)]
    faults = list(_faults(transcript.tool_calls, case))
    if expected:
        found = [compare_calls(calls, transcript.messages) for calls in expected]
        value = min(each.value for each in found)
        reasons = [reason for each in found for reason in each.reasons] + list(faults)
        lowered = max(0.0, value - 0.25 * len(faults))
        return OfflineOpinion(
            value=round(1 + 4 * lowered),
            confidence=0.8,
            reason=f"{'; '.join(reasons[:4])}." if reasons else "The calls are the expected ones.",
            details={"matched": sum(each.matched for each in found), "value": round(value, 3)},
        )
    if faults:
        return OfflineOpinion(value=2, confidence=0.7, reason=f"{'; '.join(faults)}.")
    return NoOpinion("the case expects no particular tool calls, so right and wrong ones look the same")


def _faults(calls: Sequence[ToolCall], case: Case) -> Iterable[str]:
    known = {tool.name for tool in case.tools} if case.tools else None
    for name in dict.fromkeys(call.name for call in calls if known is not None and call.name not in known):
        yield f"{name} is none of the agent's tools"
    failed = [call.name for call in calls if call.result is not None and call.result.failed]
    if failed and len(failed) == len(calls):
        yield "every call failed"
    seen: set[str] = set()
    for call in calls:
        key = f"{call.name} {sorted(call.arguments.items(), key=str)}"
        if key in seen:
            yield f"{call.name} was called again with the same arguments"
        seen.add(key)


_TO_THE_JUDGE = phrase("to_the_judge")
_EDGE = phrase("edge")
_LINE_BREAKS = r"[\n\r\x0b\x0c\x85\u2028\u2029]+"
_BREAK = re.compile(_LINE_BREAKS)
_PIECES = re.compile(rf"(?<=[.!?])\s+|{_LINE_BREAKS}")
# Letters of other scripts that look like Latin ones.
_LOOKALIKES = str.maketrans(
    "авсԁеһіјкмнорԛѕтухАВСЕНІЈКМОРЅТУХαεικνορτυχΑΒΕΗΙΚΜΝΟΡΤΧΥΖ",
    "abcdehijkmhopqstyxABCEHIJKMOPSTYXaeiknoptuxABEHIKMNOPTXYZ",
)


class CleanedAnswer(Struct, frozen=True):
    """What an answer says to the user, and the sentences that speak to the judge."""

    text: str
    set_aside: tuple[str, ...] = ()


def set_aside_injections(answer: str) -> CleanedAnswer:
    """The answer without the sentences that speak to a judge."""
    if not _speaks_to_judge(answer):
        return CleanedAnswer(answer)
    pieces = [(piece, _speaks_to_judge(piece)) for piece in _PIECES.split(answer) if piece.strip()]
    aside = tuple(piece.strip() for piece, is_aside in pieces if is_aside)
    if not aside:
        return CleanedAnswer(answer)
    return CleanedAnswer("\n".join(piece for piece, is_aside in pieces if not is_aside), aside)


def _speaks_to_judge(text: str) -> bool:
    seen = _BREAK.sub("\n", text if text.isascii() else _as_seen(text))
    return bool(_TO_THE_JUDGE.search(seen) or _EDGE.search(seen))


def _as_seen(text: str) -> str:
    """The text as a reader sees it: without invisible marks, with wide letters and lookalikes as plain ones."""
    plain = "".join(mark for mark in normalize("NFKC", text) if category(mark) != "Cf")
    return plain.translate(_LOOKALIKES)


THRESHOLD = 0.6
"""The judge keeps opinions less sure than this to itself and says that it cannot tell."""
TOOL_CALLS = "ToolCallAccuracyExplain"
CHECKS = frozenset({"criteria", "rubric", "expected_outcome"})
CALLS_ONLY = frozenset({TOOL_CALLS, *GOLDEN} - {"response_correctness"})
LOWEST: dict[str, float] = dict.fromkeys((*WEIGHED, TOOL_CALLS), 1.0)


class OfflineJudge:
    """Deterministic: the same question always has the same reply. `rubric` has the conditions of the rules that it is
    asked about; without it, it knows only their names."""

    name = OFFLINE

    def __init__(self, threshold: float = THRESHOLD, rubric: Rubric | None = None) -> None:
        self.threshold = threshold
        self._rules = {rule.id: rule for rule in rubric.rules} if rubric else {}

    def covers(self, case: Case | str, grader: str, part: Part | None = None) -> bool:
        """Whether it can ever have an opinion on what this grader asks."""
        return grader in _VIEWS or grader in LOWEST or grader in GOLDEN

    def about(self) -> tuple[MeasuredAgreement, ...]:
        """The measured agreement with people, kind by kind."""
        return MEASURED

    def can_tell(self, question: Question) -> bool:
        """Whether it has an opinion on this question that it is sure enough of. What breaks is no opinion."""
        try:
            with boundary(JudgeFailed, OFFLINE):
                view = self.view(question)
        except CaseFailure:
            return False
        return isinstance(view, OfflineOpinion) and view.confidence >= self.threshold

    async def ask(self, question: Question) -> JudgeReply:
        view = self.view(question)
        if isinstance(view, NoOpinion):
            raise JudgeFailed(f"the offline judge cannot tell: {view.why}")
        if view.confidence < self.threshold:
            raise JudgeFailed(
                f"the offline judge cannot tell: its confidence of {view.confidence:.2f} is below {self.threshold:g}; "
                f"it leaned to {view.value:g}: {view.reason}"
            )
        return JudgeReply(content=_content(question.grader, view), judge=OFFLINE)

    def view(self, question: Question) -> Judgment:
        """Its judgment, however unsure."""
        # Criteria may be met anywhere in the conversation, the rest only by the last message.
        text = question.transcript.answer
        if question.grader in ("criteria", "expected_outcome"):
            text = "\n".join(_agent_messages(question.transcript)) or text
        answer = set_aside_injections(readable_text(text))
        if not tokens(answer.text) and question.grader not in CALLS_ONLY:
            return _judge_empty(question, answer)
        view = self._judge(question, answer.text)
        if not answer.set_aside or isinstance(view, NoOpinion):
            return view
        return replace(view, reason=f"{view.reason} Set aside, for it speaks to the judge: “{answer.set_aside[0]}”.")

    def _judge(self, question: Question, text: str) -> Judgment:
        grader, case, transcript = question.grader, question.case, question.transcript
        rules = {rule.id: rule for rule in question.rubric.rules} if question.rubric else self._rules
        if grader == "rubric" and question.part and (rule := rules.get(question.part.id)):
            return judge_rule(rule, text, transcript.tool_calls)
        if grader == TOOL_CALLS:
            return judge_tool_accuracy(case, transcript)
        if grader in WEIGHED:
            return judge_quality(grader, signals(text, _answer_context(case)))
        if grader in GOLDEN:
            return GOLDEN[grader](case, transcript, text)
        if grader in _VIEWS:
            return _VIEWS[grader](question, text)
        return NoOpinion(f"it has no way to judge {grader!r}")


def _golden_references(case: Case) -> tuple[str, ...]:
    """The answers that `reference_data` of a golden case names for its last turn."""
    custom = case.metadata.get("reference_data")
    several = custom.get("acceptable_responses") if isinstance(custom, dict) else None
    listed = several if isinstance(several, list) else expected_answers(case)[-1:]
    return tuple(each for each in listed if isinstance(each, str) and each.strip())


def _judge_references(case: Case, text: str, others: tuple[str, ...] = ()) -> Judgment:
    beside = (each.references for each in case.expectations if isinstance(each, WeightedCriteria))
    references = _references(case) or next(beside, ()) or others
    if not references:
        return NoOpinion("the case has no reference answer")
    return judge_reference(_last_question(case), references, text)


def _criterion(question: Question, text: str) -> Judgment:
    if question.part is None:
        return NoOpinion("it was not told which criterion")
    tools = [tool.name for tool in question.case.tools or ()]
    calls = question.transcript.tool_calls if question.grader != "rubric" else ()
    return judge_criterion(question.part.text, text, calls, tools)


def _outcome(question: Question, text: str) -> Judgment:
    goals = [each.text for each in question.case.expectations if isinstance(each, Goal)]
    return judge_outcome(goals, text, question.transcript) if goals else NoOpinion("the case names no outcome")


_VIEWS: dict[str, Callable[[Question, str], Judgment]] = {
    "reference_answer": lambda question, text: _judge_references(question.case, text),
    "criteria": _criterion,
    "weighted_criteria": _criterion,
    "rubric": _criterion,
    "expected_outcome": _outcome,
}


def _agent_messages(transcript: Transcript) -> Iterable[str]:
    spoken = [message.content for message in transcript.messages if message.role is Role.ASSISTANT and message.content]
    yield from spoken
    if transcript.answer not in spoken:
        yield transcript.answer


def _judge_empty(question: Question, answer: CleanedAnswer) -> Judgment:
    """An empty answer gets the lowest value, except that criteria about tools are judged by the calls."""
    if question.grader == "criteria" and question.part:
        tools = [tool.name for tool in question.case.tools or ()]
        if (by_calls := judge_tool_statement(question.part.text, question.transcript.tool_calls, tools)) is not None:
            return by_calls
    why = "nothing but instructions to a judge" if answer.set_aside else "empty"
    lowest = LOWEST.get(question.grader, 0.0)
    return OfflineOpinion(value=lowest, confidence=0.95, reason=f"The answer is {why}.", evidence=answer.set_aside)


def _content(grader: str, view: OfflineOpinion) -> dict[str, Any]:
    """The object that graders read: a yes or no, or a score on their scale."""
    ruling: dict[str, Any] = {"passed": view.value == 1} if grader in CHECKS else {"score": view.value}
    if view.evidence:
        ruling["evidence"] = list(view.evidence)
    return {**ruling, "explanation": view.reason, "confidence": view.confidence, **view.details}


def _answer_context(case: Case) -> AnswerContext:
    qualities = [each.relevant_context for each in case.expectations if isinstance(each, Qualities)]
    context = case.input.context if isinstance(case.input, SingleTurn) else ""
    goals = [each.text for each in case.expectations if isinstance(each, Goal)]
    return AnswerContext(
        _last_question(case), " ".join([context, *qualities]).strip(), " ".join(goals), _references(case)
    )


def _references(case: Case) -> tuple[str, ...]:
    return tuple(answer for each in case.expectations if isinstance(each, ReferenceAnswer) for answer in each.answers)


def _last_question(case: Case) -> str:
    return user_turns(case.input)[-1]
