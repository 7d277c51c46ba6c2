"""Conditions on a final state (`outcome_check` of a rubric's rule): comparisons of one field each, joined by all, any
and not. They are checked when they are read and answered in words. What cannot be told (a text where a number is
needed, a time without an offset) is neither yes nor no, and stays so through every all, any and not it could decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from howsure.matching.arguments import at_path
from howsure.matching.comparing import OPERATORS, CannotTell
from howsure.matching.matchers import shown

GROUPS = ("all", "any")
NOT = "not"
_COMPARISON = ("field", "op", "value")
_ABSENT: Final = object()

Path = tuple[str | int, ...]


class Fault(Struct, frozen=True, kw_only=True):
    """What is wrong with a condition as it is written, and where in it."""

    path: Path
    message: str
    expected: str = ""
    found: str = ""


class Finding(Struct, frozen=True):
    """Whether a condition holds (None: it cannot be told), and why."""

    holds: bool | None
    reason: str


def faults(check: Any, path: Path = ()) -> Iterator[Fault]:
    """Everything that is wrong with a condition; nothing when `found_in` can answer it."""
    if not isinstance(check, Mapping):
        yield Fault(path=path, message="must be a condition", expected="an object", found=shown(check))
        return
    joined = [name for name in (*GROUPS, NOT) if name in check]
    if not joined:
        yield from _comparison_faults(check, path)
        return
    if len(check) > 1:
        message = f"`{joined[0]}` must stand alone in its object"
        yield Fault(path=path, message=message, expected=f"{{{joined[0]!r}: …}}", found=shown(check))
    for name in joined:
        yield from _joined_faults(name, check[name], (*path, name))


def found_in(check: Mapping[str, Any], state: Mapping[str, Any], now: datetime | None = None) -> Finding:
    """The answer of a condition without faults. `now` is what ages are counted from."""
    for name in GROUPS:
        if name in check:
            return _joined(name, [found_in(each, state, now) for each in check[name]])
    if NOT in check:
        inner = found_in(check[NOT], state, now)
        return Finding(None if inner.holds is None else not inner.holds, f"not: {inner.reason}")
    return _compared(check, state, now)


def needs_clock(check: Mapping[str, Any]) -> bool:
    """Whether any of its comparisons asks how long ago something was."""
    inner = [each for name in GROUPS for each in check.get(name, ())] + ([check[NOT]] if NOT in check else [])
    if inner:
        return any(map(needs_clock, inner))
    return "op" in check and OPERATORS[check["op"]].timed


def _joined_faults(name: str, inner: Any, path: Path) -> Iterator[Fault]:
    if name == NOT:
        yield from faults(inner, path)
        return
    if not isinstance(inner, Sequence) or isinstance(inner, str) or not inner:
        expected = "a list with at least one condition"
        yield Fault(path=path, message=f"must be {expected}", expected=expected, found=shown(inner))
        return
    for place, each in enumerate(inner):
        yield from faults(each, (*path, place))


def _comparison_faults(check: Mapping[str, Any], path: Path) -> Iterator[Fault]:
    known = ", ".join((*_COMPARISON, *GROUPS, NOT))
    for key in check:
        if key not in _COMPARISON:
            yield Fault(path=(*path, key), message=f"`{key}` is not part of a condition", expected=known, found=key)
    field, name = check.get("field"), check.get("op")
    if not isinstance(field, str) or not field.strip():
        expected = "the path of a value in the state"
        yield Fault(path=(*path, "field"), message=f"must be {expected}", expected=expected, found=shown(field))
    operator = OPERATORS.get(name) if isinstance(name, str) else None
    if operator is None:
        expected = ", ".join(OPERATORS)
        yield Fault(path=(*path, "op"), message="is not an operator", expected=expected, found=shown(name))
        return
    if "value" not in check:
        if operator.default is None:
            yield Fault(path=(*path, "value"), message=f"`{name}` needs a value", expected=operator.takes)
    elif not operator.fits(check["value"]):
        message, found = f"`{name}` takes {operator.takes}", shown(check["value"])
        yield Fault(path=(*path, "value"), message=message, expected=operator.takes, found=found)


_WORTH: dict[str, Callable[[list[bool | None]], bool | None]] = {
    "all": lambda told: False if False in told else None if None in told else True,
    "any": lambda told: True if True in told else None if None in told else False,
}


def _joined(name: str, findings: list[Finding]) -> Finding:
    """The reasons are those of the findings that decided it."""
    holds = _WORTH[name]([each.holds for each in findings])
    return Finding(holds, "; ".join(each.reason for each in findings if each.holds is holds))


def _compared(check: Mapping[str, Any], state: Mapping[str, Any], now: datetime | None) -> Finding:
    field, operator = check["field"], OPERATORS[check["op"]]
    wanted = check.get("value", operator.default)
    found = at_path(state, field, _ABSENT)
    if operator.presence:
        there = found is not _ABSENT
        return Finding(there is wanted, f"`{field}` is {'there' if there else 'not there'}")
    if found is _ABSENT:
        return Finding(operator.negative, f"`{field}` is not there, wanted: {operator.words} {shown(wanted)}")
    try:
        holds = operator.test(found, wanted, now) is not operator.negative
    except CannotTell as error:
        return Finding(None, f"`{field}`: {error}")
    said = f"`{field}` is {shown(found)}"
    return Finding(holds, said if holds else f"{said}, wanted: {operator.words} {shown(wanted)}")
