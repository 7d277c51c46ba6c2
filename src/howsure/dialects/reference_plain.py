"""Whether expectations are so plain that their `reference_data` is sure to be sound and to say all of them: what
writers ask before they go to the length of reading what they wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from howsure.dialects.reference_data import STANDARD, TOOL_DEFAULT, TRAJECTORY_DEFAULT, is_plain_call
from howsure.model.expectation import AgentsInvolved, Expectation, FinalState, ToolCalls, Trajectory


def comes_back(expectations: Iterable[Expectation], custom: Mapping[str, Any]) -> bool:
    """Whether it is certain that reading the document of these gives the same again: one of a kind, in the order in
    which they are read, nothing but plain arguments, and default ways of matching."""
    last = -1
    for expectation in expectations:
        kind = type(expectation)
        place = _ORDER.get(kind, -1)
        if place <= last or not _PLAIN[kind](expectation):
            return False
        last = place
    return custom.keys().isdisjoint(STANDARD)


def _plain_calls(calls: ToolCalls) -> bool:
    return calls.match == TOOL_DEFAULT and all(
        call.name.strip()
        and (call.message is None or call.message > 0)
        and is_plain_call({"input_arguments": call.arguments})
        for call in calls.expected
    )


_PLAIN: dict[type, Callable[[Any], bool]] = {
    ToolCalls: _plain_calls,
    Trajectory: lambda given: given.match == TRAJECTORY_DEFAULT and all(map(str.strip, given.steps)),
    FinalState: lambda given: bool(given.variables),
    AgentsInvolved: lambda given: bool(given.names),
}
_ORDER = {kind: place for place, kind in enumerate(_PLAIN)}
