"""A conversation as ADK evaluates it: turns ("invocations"), each a message of the user, the calls that followed and
the last answer."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from howsure.model.adk_criteria import expected_answers
from howsure.model.case import Case, SingleTurn, user_turns
from howsure.model.expectation import ExpectedCall, ReferenceAnswer, ToolCalls
from howsure.model.transcript import Message, Role, Transcript


class ComparisonProblem(ValueError):
    """What is expected cannot be compared with the turns; the text says why."""


def split_turns(transcript: Transcript) -> list[Transcript]:
    """The turns, each with the answer that the user saw last. A recording without user messages is one turn."""
    turns: list[list[Message]] = []
    for message in transcript.messages:
        if message.role is Role.USER or not turns:
            turns.append([])
        turns[-1].append(message)
    answers = [_last_answer(messages) for messages in turns] or [""]
    if not answers[-1]:
        answers[-1] = transcript.answer
    return [
        replace(transcript, messages=tuple(messages), answer=answer, steps=())
        for messages, answer in zip(turns or [[]], answers, strict=True)
    ]


def _last_answer(messages: Sequence[Message]) -> str:
    said = [each.content for each in messages if each.role is Role.ASSISTANT and each.content and not each.tool_calls]
    return said[-1] if said else ""


def expected_turns(case: Case, turns: Sequence[Transcript]) -> int:
    """How many turns the author wrote; ComparisonProblem where the conversation has another number."""
    wanted = len(user_turns(case.input))
    if len(turns) != wanted:
        raise ComparisonProblem(f"the conversation has {len(turns)} of {wanted} turns")
    return wanted


def expected_calls(case: Case, count: int) -> list[list[ExpectedCall]]:
    """The expected calls of each turn; where the case mentions none, none are expected, as in ADK."""
    calls: list[list[ExpectedCall]] = [[] for _ in range(count)]
    for call in (call for each in case.expectations if isinstance(each, ToolCalls) for call in each.expected):
        if call.turn is None and count > 1:
            raise ComparisonProblem(f"the expected call of `{call.name}` has no `turn`")
        place = call.turn or 1
        if place > count:
            raise ComparisonProblem(f"`{call.name}` is expected in turn {place} of {count}")
        calls[place - 1].append(call)
    return calls


def expected_texts(case: Case, count: int) -> list[str]:
    """The expected answer of each turn; where there is none, an empty one, as in ADK."""
    answers = expected_answers(case) or [each.answers[0] for each in case.expectations if type(each) is ReferenceAnswer]
    if len(answers) not in (0, count):
        raise ComparisonProblem(f"{len(answers)} answers are expected in {count} turns; write `expected_responses`")
    return answers or [""] * count


def case_of_turn(case: Case, turn: Transcript, answer: str | None) -> Case:
    """The case as a judge of one turn is shown it: the user's message, and the expected answer."""
    message = next((each.content for each in turn.messages if each.role is Role.USER), user_turns(case.input)[0])
    expected = () if answer is None else (ReferenceAnswer(answers=(answer,)),)
    return replace(case, input=SingleTurn(message=message), expectations=expected)
