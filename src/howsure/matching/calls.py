"""The tool calls an agent made against those it should have made. Which tools were selected, with which arguments and
in which order are reported apart, because they are different mistakes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from msgspec import Struct

from howsure.matching.alignment import (
    Pairs,
    forbids_others,
    in_order,
    maximum_matching,
    one_by_one,
    requires_all,
    share,
)
from howsure.matching.arguments import ArgumentRule, arguments_fit, mismatches
from howsure.model.expectation import ExpectedCall, Matching, MatchMode, ToolCalls
from howsure.model.transcript import Message, ToolCall


class CallComparison(Struct, frozen=True, kw_only=True):
    """`value` is the share of what the mode asks for (see `alignment.share`), 1.0 exactly when all of it is there.

    `selection` is the same share over names alone. `arguments`: of the calls with an expected name, the share whose
    arguments fit; None when there is none. `order`: of the calls that fit, the share that is in the expected order;
    None below two. `missing` and `unexpected` are names, one for each call.
    """

    value: float
    selection: float
    arguments: float | None = None
    order: float | None = None
    matched: int = 0
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.value >= 1.0


def compare_calls(calls: ToolCalls, messages: Iterable[Message]) -> CallComparison:
    """Compares by the mode and argument rules of `calls.match`."""
    match = calls.match
    wanted: Sequence[ExpectedCall] = calls.expected
    groups: list[Sequence[ToolCall]] = [message.tool_calls for message in messages if message.tool_calls]
    if match.only is not None or match.ignore:
        wanted = [call for call in wanted if _counts(call.name, match)]
        counting = ([call for call in group if _counts(call.name, match)] for group in groups)
        groups = [group for group in counting if group]
    if not calls.expected:
        return _none_expected([call for group in groups for call in group])
    if _call_for_call(wanted, groups, match):
        return _all_there(len(wanted))
    return _Comparing(wanted, groups, match).result()


def _counts(name: str, match: Matching) -> bool:
    return (match.only is None or name in match.only) and name not in match.ignore


def _none_expected(made: Sequence[ToolCall]) -> CallComparison:
    names = tuple(call.name for call in made)
    said = tuple(f"`{name}` was called, but no call was expected" for name in names)
    value = 0.0 if names else 1.0
    return CallComparison(value=value, selection=value, unexpected=names, reasons=said)


@lru_cache(maxsize=256)
def _all_there(count: int) -> CallComparison:
    return CallComparison(
        value=1.0,
        selection=1.0,
        arguments=1.0 if count else None,
        order=1.0 if count > 1 else None,
        matched=count,
    )


def _call_for_call(wanted: Sequence[ExpectedCall], groups: Sequence[Sequence[ToolCall]], match: Matching) -> bool:
    """The common case, which every mode accepts: the expected calls one after the other and nothing else."""
    if len(groups) != len(wanted):
        return False
    usual, special = match.arguments, match.args_for
    for expected, group in zip(wanted, groups, strict=True):
        made = group[0]
        if len(group) != 1 or expected.message is not None or expected.name != made.name:
            return False
        rule = special.get(expected.name, usual) if special else usual
        if not arguments_fit(expected.arguments, made.arguments, rule):
            return False
    return True


class _Comparing:
    """The general case: who is whom, and what that leaves over."""

    def __init__(self, wanted: Sequence[ExpectedCall], groups: Sequence[Sequence[ToolCall]], match: Matching) -> None:
        self.wanted = wanted
        self.made = [call for group in groups for call in group]
        self.groups = _numbered(groups)
        self.mode = match.mode
        self.rules: dict[str, ArgumentRule] = {
            call.name: match.args_for.get(call.name, match.arguments) for call in wanted
        }
        self.edges = [[place for place, made in enumerate(self.made) if self._fits(call, made)] for call in wanted]

    def _fits(self, call: ExpectedCall, made: ToolCall) -> bool:
        return call.name == made.name and arguments_fit(call.arguments, made.arguments, self.rules[call.name])

    def result(self) -> CallComparison:
        fitting = maximum_matching(self.edges)
        ordered = self._ordered(len(fitting))
        pairs = ordered if self.mode in (MatchMode.EXACT, MatchMode.IN_ORDER) else fitting
        named = self._named()
        spare = self._left_over(pairs)
        sizes = len(self.wanted), len(self.made)
        return CallComparison(
            value=share(self.mode, len(pairs), *sizes),
            selection=share(self.mode, named, *sizes),
            arguments=len(fitting) / named if named else None,
            order=len(ordered) / len(fitting) if len(fitting) > 1 else None,
            matched=len(pairs),
            missing=tuple(call.name for place, call in enumerate(self.wanted) if place not in pairs),
            unexpected=tuple(self.made[place].name for place in spare),
            reasons=tuple(self._reasons(pairs, fitting, spare)),
        )

    def _ordered(self, possible: int) -> Pairs:
        if self.mode is MatchMode.EXACT:
            return in_order(_by_message(self.wanted), self.groups, self.edges)
        pairs = one_by_one(self.edges)
        if len(pairs) == possible:
            return pairs
        return in_order(_singly(len(self.wanted)), _singly(len(self.made)), self.edges)

    def _named(self) -> int:
        """How many expected names were called, each as often as it is expected."""
        calls: dict[str, int] = {}
        for made in self.made:
            calls[made.name] = calls.get(made.name, 0) + 1
        found = 0
        for call in self.wanted:
            if calls.get(call.name, 0) > 0:
                calls[call.name] -= 1
                found += 1
        return found

    def _left_over(self, pairs: Pairs) -> list[int]:
        used = set(pairs.values())
        return [place for place in range(len(self.made)) if place not in used]

    def _reasons(self, pairs: Pairs, fitting: Pairs, spare: list[int]) -> list[str]:
        said: list[str] = []
        for place, call in enumerate(self.wanted):
            if place in pairs or not (requires_all(self.mode) or self._closest(call, spare) is not None):
                continue
            said.append(self._why_not(call, place in fitting, spare))
        if forbids_others(self.mode):
            said += [f"`{self.made[place].name}` was called, but not expected" for place in spare]
        return said

    def _why_not(self, call: ExpectedCall, fits_elsewhere: bool, spare: list[int]) -> str:
        """Takes the spare call it explains out of `spare`, so that one call is one reason."""
        closest = self._closest(call, spare)
        if closest is None:
            return f"`{call.name}` was not called" if not fits_elsewhere else f"`{call.name}`: {self._misplaced()}"
        spare.remove(closest)
        wrong = mismatches(call.arguments, self.made[closest].arguments, self.rules[call.name])
        if not wrong:
            return f"`{call.name}`: {self._misplaced()}"
        return f"`{call.name}` was called with other arguments: {', '.join(wrong)}"

    def _misplaced(self) -> str:
        if self.mode is MatchMode.EXACT:
            return "called, but not in the expected place (message by message)"
        return "called, but not in the expected order"

    def _closest(self, call: ExpectedCall, spare: Sequence[int]) -> int | None:
        same_name = [place for place in spare if self.made[place].name == call.name]
        if len(same_name) < 2:
            return same_name[0] if same_name else None
        rule = self.rules[call.name]
        return min(
            same_name,
            key=lambda place: len(mismatches(call.arguments, self.made[place].arguments, rule)),
        )


def _singly(count: int) -> list[list[int]]:
    return [[place] for place in range(count)]


def _numbered(groups: Iterable[Sequence[ToolCall]]) -> list[range]:
    numbered: list[range] = []
    start = 0
    for group in groups:
        numbered.append(range(start, start + len(group)))
        start += len(group)
    return numbered


def _by_message(wanted: Sequence[ExpectedCall]) -> list[list[int]]:
    """Calls of one message together; a call without a message number is a message of its own."""
    groups: dict[object, list[int]] = {}
    for place, call in enumerate(wanted):
        key = ("alone", place) if call.message is None else call.message
        groups.setdefault(key, []).append(place)
    return list(groups.values())
