"""Compares the end of a conversation with the expectation: the final state with the values it should hold (what is not
listed is free), and the agents and tools it passed through with the expected ones. Names are compared exactly, apart
from the prefixes of trace summaries (`agent:`, `sub-agent:`, `tool:`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from howsure.matching.alignment import (
    ExpectationComparison,
    align_in_order,
    forbids_others,
    match_share,
    maximum_matching,
    requires_all,
)
from howsure.matching.matchers import describe_value, may_be_missing
from howsure.matching.values import ABSENT, LENIENT, at_path
from howsure.model.expectation import FinalState, MatchMode, Trajectory
from howsure.model.transcript import AgentStep, Step

_PREFIX = re.compile(r"(?:agent|sub[-_ ]?agent|tool)\s*:\s*", re.IGNORECASE)


class StepComparison(ExpectationComparison, frozen=True, kw_only=True):
    """`taken` are the names of all steps, `unexpected` those that were not expected."""

    taken: tuple[str, ...]
    unexpected: tuple[str, ...] = ()


def bare_name(name: str) -> str:
    """`sub-agent:Billing` is `Billing`."""
    return _PREFIX.sub("", name.strip(), count=1)


def compare_steps(trajectory: Trajectory, steps: Sequence[Step]) -> StepComparison:
    """If no step is expected, none may be taken. An agent that answers in the next turn too may be listed again or not:
    the comparison that fits better counts."""
    match = trajectory.match
    only = None if match.only is None else {bare_name(name) for name in match.only}
    ignored = {bare_name(name) for name in match.ignore}

    def counted_names(names: Iterable[str]) -> tuple[str, ...]:
        bare = map(bare_name, names)
        return tuple(name for name in bare if (only is None or name in only) and name not in ignored)

    expected = counted_names(trajectory.steps)
    taken = counted_names(step.name for step in steps)
    if not trajectory.steps:
        reasons = tuple(f"`{name}` took part, but no step was expected" for name in taken)
        return StepComparison(value=0.0 if taken else 1.0, taken=taken, unexpected=taken, reasons=reasons)
    if expected == taken:
        return StepComparison(value=1.0, taken=taken)
    by_turn = _compare_names(expected, taken, match.mode)
    joined = counted_names(step.name for step in _without_repeated_agents(steps))
    if by_turn.passed or joined == taken:
        return by_turn
    return max(by_turn, _compare_names(expected, joined, match.mode), key=lambda comparison: comparison.value)


def _without_repeated_agents(steps: Iterable[Step]) -> Iterator[Step]:
    """Without the agents that took over from themselves."""
    speaking = ""
    for step in steps:
        if isinstance(step, AgentStep):
            if step.name == speaking:
                continue
            speaking = step.name
        yield step


def _compare_names(expected: tuple[str, ...], taken: tuple[str, ...], mode: MatchMode) -> StepComparison:
    edges = [[place for place, step in enumerate(taken) if step == name] for name in expected]
    if mode in (MatchMode.EXACT, MatchMode.IN_ORDER):
        first, second = ([[place] for place in range(len(names))] for names in (expected, taken))
        pairs = align_in_order(first, second, edges)
    else:
        pairs = maximum_matching(edges)
    used = set(pairs.values())
    missing = tuple(name for place, name in enumerate(expected) if place not in pairs)
    unexpected = tuple(name for place, name in enumerate(taken) if place not in used)
    reasons: list[str] = []
    if requires_all(mode):
        reasons += dict.fromkeys(f"`{name}` {_missing_reason(name, unexpected, expected, taken)}" for name in missing)
    if forbids_others(mode):
        reasons += [f"`{name}` took part, but was not expected" for name in unexpected if name not in missing]
    value = match_share(mode, len(pairs), len(expected), len(taken))
    return StepComparison(value=value, taken=taken, missing=missing, unexpected=unexpected, reasons=tuple(reasons))


def _missing_reason(name: str, unexpected: tuple[str, ...], expected: tuple[str, ...], taken: tuple[str, ...]) -> str:
    if name in unexpected:
        return "took part, but not in the expected place"
    return f"took part {taken.count(name)} of {expected.count(name)} times" if name in taken else "did not take part"


class StateComparison(ExpectationComparison, frozen=True, kw_only=True):
    """`value` is the share of the listed variables that are as expected. The lists hold their names."""

    correct: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


def compare_state(final: FinalState, state: dict[str, Any]) -> StateComparison:
    """Compares each listed variable. A name that the state does not have is read as a dotted path (`order.total`)."""
    correct: list[str] = []
    wrong: list[str] = []
    missing: list[str] = []
    reasons: list[str] = []
    for name, expected in final.variables.items():
        actual = at_path(state, name, ABSENT)
        if actual is ABSENT:
            if may_be_missing(expected):
                correct.append(name)
            else:
                missing.append(name)
                reasons.append(f"`{name}`: not in the state, expected {describe_value(expected)}")
        elif differences := LENIENT.differences(expected, actual, name):
            wrong.append(name)
            reasons += differences
        else:
            correct.append(name)
    return StateComparison(
        value=len(correct) / len(final.variables) if final.variables else 1.0,
        correct=tuple(correct),
        wrong=tuple(wrong),
        missing=tuple(missing),
        reasons=tuple(reasons),
    )
