"""What good looks like for one case, in words: each expectation as a title and a text. Criteria are left to the grades,
which say of each whether it holds."""

from __future__ import annotations

from typing import Any

from msgspec import json

from howsure.model.case import Case
from howsure.model.expectation import (
    AgentsInvolved,
    Contract,
    CorrectChoice,
    Criteria,
    Expectation,
    ExpectedCall,
    FinalState,
    ForbiddenTools,
    Goal,
    Qualities,
    ReferenceAnswer,
    ToolCalls,
    Trajectory,
    WeightedCriteria,
)


def expected(case: Case) -> list[tuple[str, str]]:
    """In the order of the file."""
    return [said for said in map(_said, case.expectations) if said]


def _said(expectation: Expectation) -> tuple[str, str] | None:
    match expectation:
        case ReferenceAnswer(answers=answers):
            return "reference answer", "\n\nor: ".join(answers)
        case CorrectChoice():
            return "choices", _choices(expectation)
        case ToolCalls(expected=calls):
            return f"tool calls ({expectation.match.mode.value})", "\n".join(map(_call, calls)) or "none may be made"
        case ForbiddenTools(names=names):
            return "forbidden tools", ", ".join(names)
        case Trajectory(steps=steps):
            return f"trajectory ({expectation.match.mode.value})", " → ".join(steps)
        case FinalState(variables=variables):
            return "final state", _written(variables)
        case AgentsInvolved(names=names):
            return "agents involved", ", ".join(names)
        case Goal(text=text):
            return "goal", text
        case Contract(name=name):
            return "output contract", name
        case Qualities(names=names):
            return "judged on", ", ".join(names)
        case Criteria() | WeightedCriteria():
            return None


def _choices(expectation: CorrectChoice) -> str:
    lines = [f"{choice.id}. {choice.text}" for choice in expectation.choices]
    return "\n".join([*lines, f"correct: {', '.join(expectation.correct)}"])


def _call(call: ExpectedCall) -> str:
    return f"{call.name}({', '.join(f'{name}: {_written(value)}' for name, value in call.arguments.items())})"


def _written(value: Any) -> str:
    return json.encode(value).decode()
