"""The offline judge as graders ask it: by the name of the grader, with an object in reply, or a `JudgeFailed` that says
that it cannot tell and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from howsure.errors import JudgeFailed
from howsure.judges.answer_text import judged_text
from howsure.judges.base import Question, Reply
from howsure.judges.offline.about import MEASURED, Measured
from howsure.judges.offline.attacks import Heard, heard
from howsure.judges.offline.criteria import criterion_view, rule_view
from howsure.judges.offline.folding import tokens
from howsure.judges.offline.golden import GOLDEN, golden_view
from howsure.judges.offline.opinions import CannotTell, Opinion, View
from howsure.judges.offline.outcome import outcome_view
from howsure.judges.offline.qualities import WEIGHED, quality_view
from howsure.judges.offline.reference import reference_view
from howsure.judges.offline.signals import Beside, signals
from howsure.judges.offline.tool_accuracy import tool_accuracy
from howsure.judges.offline.tool_statements import tool_view
from howsure.model.case import Case, SingleTurn, user_turns
from howsure.model.expectation import Goal, Qualities, ReferenceAnswer
from howsure.model.rubric import Rubric
from howsure.model.score import Part
from howsure.model.transcript import Role, Transcript

NAME = "offline"
THRESHOLD = 0.6
"""Opinions less sure than this are not given: the judge says that it cannot tell."""
TOOL_CALLS = "ToolCallAccuracyExplain"
CHECKS = frozenset({"criteria", "rubric", "expected_outcome"})
CALLS_ONLY = frozenset({TOOL_CALLS, *GOLDEN} - {"response_correctness"})
LOWEST: dict[str, float] = dict.fromkeys((*WEIGHED, TOOL_CALLS), 1.0)


class OfflineJudge:
    """Deterministic: the same question always has the same reply. `rubric` gives it the conditions of the rules that it
    is asked about; without it, it knows their names only."""

    name = NAME

    def __init__(self, threshold: float = THRESHOLD, rubric: Rubric | None = None) -> None:
        self.threshold = threshold
        self._rules = {rule.id: rule for rule in rubric.rules} if rubric else {}

    def covers(self, case: Case | str, grader: str, part: Part | None = None) -> bool:
        """Whether it can ever have a view on what this grader asks."""
        return grader in _VIEWS or grader in LOWEST or grader in GOLDEN

    def about(self) -> tuple[Measured, ...]:
        """How far people agree with it, kind by kind, as measured."""
        return MEASURED

    async def ask(self, question: Question) -> Reply:
        view = self.view(question)
        if isinstance(view, CannotTell):
            raise JudgeFailed(f"the offline judge cannot tell: {view.why}")
        if view.confidence < self.threshold:
            raise JudgeFailed(
                f"the offline judge cannot tell: its confidence of {view.confidence:.2f} is below {self.threshold:g}; "
                f"it leaned to {view.value:g}: {view.reason}"
            )
        return Reply(content=_content(question.grader, view), judge=NAME)

    def view(self, question: Question) -> View:
        """What it thinks, however unsure."""
        said = _heard(question)
        if not tokens(said.text) and question.grader not in CALLS_ONLY:
            return _of_silence(question, said)
        return _noting(self._formed(question, said.text), said.set_aside)

    def _formed(self, question: Question, text: str) -> View:
        grader, case, transcript = question.grader, question.case, question.transcript
        rules = {rule.id: rule for rule in question.rubric.rules} if question.rubric else self._rules
        if grader == "rubric" and question.part and (rule := rules.get(question.part.id)):
            return rule_view(rule, text, transcript.tool_calls)
        if grader == TOOL_CALLS:
            return tool_accuracy(case, transcript)
        if grader in WEIGHED:
            return quality_view(grader, signals(text, _beside(case)))
        if grader in GOLDEN:
            return golden_view(grader, case, transcript, text)
        if grader in _VIEWS:
            return _VIEWS[grader](question, text)
        return CannotTell(f"it has no way to judge {grader!r}")


def _reference(question: Question, text: str) -> View:
    references = _references(question.case)
    if not references:
        return CannotTell("the case has no reference answer")
    return reference_view(_asked(question.case), references, text)


def _criterion(question: Question, text: str) -> View:
    if question.part is None:
        return CannotTell("it was not told which criterion")
    tools = [tool.name for tool in question.case.tools or ()]
    calls = question.transcript.tool_calls if question.grader != "rubric" else ()
    return criterion_view(question.part.text, text, calls, tools)


def _outcome(question: Question, text: str) -> View:
    goals = [each.text for each in question.case.expectations if isinstance(each, Goal)]
    return outcome_view(goals, text, question.transcript) if goals else CannotTell("the case names no outcome")


_VIEWS: dict[str, Callable[[Question, str], View]] = {
    "reference_answer": _reference,
    "criteria": _criterion,
    "weighted_criteria": _criterion,
    "rubric": _criterion,
    "expected_outcome": _outcome,
}


def _heard(question: Question) -> Heard:
    """The text that is judged: criteria may be met anywhere in the conversation, the rest by the last message."""
    answer = question.transcript.answer
    if question.grader in ("criteria", "expected_outcome"):
        answer = "\n".join(_said(question.transcript)) or answer
    return heard(judged_text(answer))


def _said(transcript: Transcript) -> Iterable[str]:
    spoken = [message.content for message in transcript.messages if message.role is Role.ASSISTANT and message.content]
    yield from spoken
    if transcript.answer not in spoken:
        yield transcript.answer


def _of_silence(question: Question, said: Heard) -> View:
    """An empty answer is worth the lowest value; only what the calls alone show can still be met."""
    if question.grader == "criteria" and question.part:
        tools = [tool.name for tool in question.case.tools or ()]
        if (by_calls := tool_view(question.part.text, question.transcript.tool_calls, tools)) is not None:
            return by_calls
    why = "nothing but instructions to a judge" if said.set_aside else "empty"
    lowest = LOWEST.get(question.grader, 0.0)
    return Opinion(value=lowest, confidence=0.95, reason=f"The answer is {why}.", evidence=said.set_aside)


def _content(grader: str, view: Opinion) -> dict[str, Any]:
    """The object that the graders' readers take: a yes or no, or a score on their scale."""
    ruling: dict[str, Any] = {"passed": view.value == 1} if grader in CHECKS else {"score": view.value}
    if view.evidence:
        ruling["evidence"] = list(view.evidence)
    return {**ruling, "explanation": view.reason, "confidence": view.confidence, **view.details}


def _noting(view: View, set_aside: tuple[str, ...]) -> View:
    if not set_aside or isinstance(view, CannotTell):
        return view
    note = f"{view.reason} Set aside, for it speaks to the judge: “{set_aside[0]}”."
    return Opinion(
        value=view.value, confidence=view.confidence, reason=note, evidence=view.evidence, details=view.details
    )


def _beside(case: Case) -> Beside:
    qualities = [each.relevant_context for each in case.expectations if isinstance(each, Qualities)]
    context = case.input.context if isinstance(case.input, SingleTurn) else ""
    goals = [each.text for each in case.expectations if isinstance(each, Goal)]
    return Beside(_asked(case), " ".join([context, *qualities]).strip(), " ".join(goals), _references(case))


def _references(case: Case) -> tuple[str, ...]:
    return tuple(answer for each in case.expectations if isinstance(each, ReferenceAnswer) for answer in each.answers)


def _asked(case: Case) -> str:
    return user_turns(case.input)[-1]
