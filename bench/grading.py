"""How fast recorded tool-call cases are graded, in the grader alone.

CPU time, best of several rounds, beside a plain comparison of names and arguments measured in the same run: the ratio
is what checking arguments, explaining and building a Score costs, and it does not depend on the machine.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

from howsure.graders.tool_calls import ToolCallGrader
from howsure.model.case import Case, SingleTurn
from howsure.model.expectation import ExpectedCall, ToolCalls
from howsure.model.transcript import Message, Role, ToolCall, Transcript

CASES = 50_000
ROUNDS = 5
TARGET = 50_000

Recorded = list[tuple[Case, Transcript]]


def recordings(count: int, correct: Callable[[int], bool]) -> Iterator[tuple[Case, Transcript]]:
    """Cases of two calls with four arguments together; a wrong one differs in an amount."""
    for number in range(count):
        looked_up = {"order_id": f"o-{number}"}
        refunded: dict[str, Any] = {"order_id": f"o-{number}", "amount": 50.0, "reason": "damaged"}
        expected = (
            ExpectedCall(name="get_order", arguments=looked_up),
            ExpectedCall(name="refund", arguments=refunded),
        )
        made = {**refunded, "amount": 50 if correct(number) else 5}
        calls = (ToolCall(name="get_order", arguments=dict(looked_up)), ToolCall(name="refund", arguments=made))
        messages = (
            Message(role=Role.USER, content="My order arrived broken."),
            *(Message(role=Role.ASSISTANT, tool_calls=(call,)) for call in calls),
            Message(role=Role.ASSISTANT, content="Done."),
        )
        case = Case(
            id=f"case-{number}",
            input=SingleTurn(message="My order arrived broken."),
            expectations=(ToolCalls(expected=expected),),
        )
        yield case, Transcript(answer="Done.", messages=messages)


async def graded(grader: ToolCallGrader, recorded: Recorded) -> int:
    passed = 0
    for case, transcript in recorded:
        if grader.wants(case):
            for grade in await grader.grade(case, transcript):
                passed += getattr(grade, "value", 0.0) == 1.0
    return passed


def compared(recorded: Recorded) -> int:
    """The least that could be done: are names and arguments equal?"""
    passed = 0
    for case, transcript in recorded:
        (expectation,) = case.expectations
        assert isinstance(expectation, ToolCalls)
        expected = [(call.name, call.arguments) for call in expectation.expected]
        made = [(call.name, call.arguments) for message in transcript.messages for call in message.tool_calls]
        passed += expected == made
    return passed


def best_of(rounds: int, work: Callable[[], int]) -> float:
    """The least CPU seconds."""
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def report(name: str, recorded: Recorded, passing: int) -> float:
    grader = ToolCallGrader()
    assert asyncio.run(graded(grader, recorded)) == passing
    assert compared(recorded) == passing
    ours = best_of(ROUNDS, lambda: asyncio.run(graded(grader, recorded)))
    plain = best_of(ROUNDS, lambda: compared(recorded))
    rate = len(recorded) / ours
    print(f"grading, {name}: {rate:,.0f} cases/s (CPU, best of {ROUNDS}), {ours / plain:.1f} × a plain comparison")
    return rate


def main() -> None:
    recorded = list(recordings(CASES, lambda number: True))
    rate = report("all calls as expected", recorded, CASES)
    mixed = list(recordings(CASES // 5, lambda number: number % 4 > 0))
    report("a quarter with a wrong argument", mixed, CASES // 5 * 3 // 4)
    print(f"target: {TARGET:,} cases/s, {'met' if rate >= TARGET else 'NOT MET'}")


if __name__ == "__main__":
    main()
