"""The session's state at the end of a conversation, against the values it should hold. What is not listed is free."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from howsure.matching.arguments import at_path
from howsure.matching.matchers import may_be_missing, shown
from howsure.matching.values import LENIENT
from howsure.model.expectation import FinalState

_ABSENT: Final = object()


class StateComparison(Struct, frozen=True, kw_only=True):
    """`value` is the share of the listed variables that are as expected. The lists hold their names."""

    value: float
    correct: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.value >= 1.0


def compare_state(final: FinalState, state: dict[str, Any]) -> StateComparison:
    """A name that the state does not have is read as a dotted path (`order.total`)."""
    correct: list[str] = []
    wrong: list[str] = []
    missing: list[str] = []
    said: list[str] = []
    for name, expected in final.variables.items():
        found = at_path(state, name, _ABSENT)
        if found is _ABSENT:
            if may_be_missing(expected):
                correct.append(name)
            else:
                missing.append(name)
                said.append(f"`{name}`: not in the state, expected {shown(expected)}")
        elif differences := LENIENT.differences(expected, found, name):
            wrong.append(name)
            said += differences
        else:
            correct.append(name)
    return StateComparison(
        value=len(correct) / len(final.variables) if final.variables else 1.0,
        correct=tuple(correct),
        wrong=tuple(wrong),
        missing=tuple(missing),
        reasons=tuple(said),
    )
