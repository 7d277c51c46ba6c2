"""Where the inputs of a custom eval come from: the names under which parts of a case, its transcript and the run's
agent can be put before a judge. A source that has nothing to give is `MISSING`, which is not an empty text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec
from msgspec import Struct

from howsure.judges.turns import called, traced, turns
from howsure.matching.arguments import at_path
from howsure.model.agent import Agent
from howsure.model.case import Case, SingleTurn, user_turns
from howsure.model.expectation import Criteria, Goal, Qualities, ReferenceAnswer, WeightedCriteria
from howsure.model.transcript import Transcript

MISSING: Final = object()


class Material(Struct, frozen=True):
    """All that a source may draw on."""

    case: Case
    transcript: Transcript
    agent: Agent | None = None


def _context(given: Material) -> Any:
    asked = given.case.input
    return (asked.context if isinstance(asked, SingleTurn) else "") or MISSING


def _reference(given: Material) -> Any:
    answers: list[str] = []
    for expected in given.case.expectations:
        match expected:
            case ReferenceAnswer(answers=known):
                answers += known
            case WeightedCriteria(references=known):
                answers += known
            case _:
                continue
    return _some(answers)


def _goal(given: Material) -> Any:
    return _some(expected.text for expected in given.case.expectations if isinstance(expected, Goal))


def _criteria(given: Material) -> Any:
    lists = (each.criteria for each in given.case.expectations if isinstance(each, Criteria | WeightedCriteria))
    texts = [f"- {criterion.text}" for criteria in lists for criterion in criteria]
    return "\n".join(texts) or MISSING


def _relevant_context(given: Material) -> Any:
    return _some(each.relevant_context for each in given.case.expectations if isinstance(each, Qualities))


def _tools(given: Material) -> Any:
    """The tools the agent has, never those it happened to use."""
    if given.case.tools is not None:
        return [msgspec.to_builtins(tool) for tool in given.case.tools]
    if given.agent is None:
        return MISSING
    return [{"name": tool.tool_name, "description": tool.description} for tool in given.agent.tools]


def _some(texts: Iterable[str]) -> Any:
    """The text, or all of them one below the other; MISSING: there is none."""
    return "\n\n".join(text for text in texts if text) or MISSING


SOURCES: dict[str, Callable[[Material], Any]] = {
    "question": lambda given: "\n".join(user_turns(given.case.input)),
    "answer": lambda given: given.transcript.answer,
    "context": _context,
    "relevant_context": _relevant_context,
    "reference": _reference,
    "goal": _goal,
    "criteria": _criteria,
    "tools": _tools,
    "tool_calls": lambda given: called(given.transcript.tool_calls) or "(no tool was called)",
    "conversation": lambda given: traced(turns(given.case, given.transcript)),
    "instructions": lambda given: (given.agent.system_prompt if given.agent else "") or MISSING,
    "state": lambda given: MISSING if given.transcript.state is None else given.transcript.state,
}
FAMILIES: dict[str, Callable[[Material], Any]] = {
    "state": SOURCES["state"],
    "metadata": lambda given: given.case.metadata,
    "labels": lambda given: given.case.labels,
}
"""Sources that hold values by name or dotted path: `state.order.total`."""
KNOWN = (*SOURCES, *(f"{name}.…" for name in FAMILIES))


def is_source(path: str) -> bool:
    family, _, rest = path.partition(".")
    return path in SOURCES or (family in FAMILIES and bool(rest))


def drawn(path: str, given: Material) -> Any:
    """What a source gives for this case."""
    if path in SOURCES:
        return SOURCES[path](given)
    family, _, rest = path.partition(".")
    held = FAMILIES[family](given)
    found = MISSING if held is MISSING else at_path(held, rest, MISSING)
    return MISSING if found is None else found
