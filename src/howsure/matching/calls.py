"""Compares the tool calls an agent made with those it should have made: the comparison of golden calls. Which tools
were selected, with which arguments and in which order are reported separately, because they are different mistakes.
Arguments are compared here too: all of them, at least them, at most them, or only some paths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

from howsure.matching.alignment import (
    ExpectationComparison,
    Pairs,
    align_in_order,
    forbids_others,
    match_in_sequence,
    match_share,
    maximum_matching,
    requires_all,
)
from howsure.matching.matchers import is_matcher, may_be_missing
from howsure.matching.values import ABSENT, STRICT, at_path, unexpected_keys
from howsure.model.expectation import ArgumentMode, ExpectedCall, Matching, MatchMode, ToolCalls
from howsure.model.transcript import Message, ToolCall

Arguments = Mapping[str, Any]
ArgumentRule = ArgumentMode | tuple[str, ...]
"""A mode, or the paths of the only arguments that count (`time.start`, `flights.0.date`)."""


def arguments_fit(expected: dict[str, Any], actual: dict[str, Any], rule: ArgumentRule) -> bool:
    """Whether the arguments fit. `argument_mismatches` says why they do not."""
    if isinstance(rule, tuple):
        return not _path_mismatches(expected, actual, rule)
    if rule is ArgumentMode.IGNORE:
        return True
    if rule is ArgumentMode.EXACT or is_matcher(expected):
        return STRICT.match(expected, actual)
    if rule is ArgumentMode.SUBSET:
        return all(key in expected and STRICT.match(expected[key], value) for key, value in actual.items())
    for key, value in expected.items():
        if key in actual:
            # Most arguments are short texts: equal ones need no further comparison.
            if not (type(value) is str and value == actual[key]) and not STRICT.match(value, actual[key]):
                return False
        elif not may_be_missing(value):
            return False
    return True


def argument_mismatches(
    expected: dict[str, Any], actual: dict[str, Any], rule: ArgumentRule = ArgumentMode.EXACT
) -> list[str]:
    """What differs, in words and with paths; empty if the arguments fit. Modes apply to the arguments themselves:
    objects and lists inside them are compared as a whole (`$contains` loosens that)."""
    if isinstance(rule, tuple):
        return _path_mismatches(expected, actual, rule)
    if rule is ArgumentMode.IGNORE:
        return []
    if rule is ArgumentMode.EXACT or is_matcher(expected):
        return STRICT.differences(expected, actual, "")
    if rule is ArgumentMode.SUBSET:
        known = {key: value for key, value in expected.items() if key in actual}
        return [*STRICT.missing_or_different(known, actual, ""), *unexpected_keys(expected, actual, "")]
    return STRICT.missing_or_different(expected, actual, "")


def _path_mismatches(expected: Arguments, actual: Arguments, paths: tuple[str, ...]) -> list[str]:
    """A path that the expected call does not have must be absent from the actual call too."""
    mismatches: list[str] = []
    for path in paths:
        values = (at_path(expected, path, ABSENT), at_path(actual, path, ABSENT))
        first, second = ({} if value is ABSENT else {path: value} for value in values)
        mismatches += STRICT.differences(first, second, "")
    return mismatches


class CallComparison(ExpectationComparison, frozen=True, kw_only=True):
    """`selection` is the same share as `value` over names alone. `arguments`: the share of fitting arguments among the
    calls with an expected name (None: there is none). `order`: the share in the expected order among the calls that fit
    (None: fewer than two). `unexpected` are names, one for each call."""

    selection: float
    arguments: float | None = None
    order: float | None = None
    matched: int = 0
    unexpected: tuple[str, ...] = ()


def compare_calls(calls: ToolCalls, messages: Iterable[Message]) -> CallComparison:
    """Compares by the mode and the argument rules of `calls.match`."""
    match = calls.match
    required: Sequence[ExpectedCall] = calls.expected
    groups: list[Sequence[ToolCall]] = [message.tool_calls for message in messages if message.tool_calls]
    if match.only is not None or match.ignore:
        required = [call for call in required if _is_counted(call.name, match)]
        counting = ([call for call in group if _is_counted(call.name, match)] for group in groups)
        groups = [group for group in counting if group]
    if not calls.expected:
        names = tuple(call.name for group in groups for call in group)
        reasons = tuple(f"`{name}` was called, but no call was expected" for name in names)
        value = 0.0 if names else 1.0
        return CallComparison(value=value, selection=value, unexpected=names, reasons=reasons)
    if _matches_call_for_call(required, groups, match):
        return _full_match(len(required))
    return _CallAlignment(required, groups, match).result()


def _is_counted(name: str, match: Matching) -> bool:
    return (match.only is None or name in match.only) and name not in match.ignore


@lru_cache(maxsize=256)
def _full_match(count: int) -> CallComparison:
    return CallComparison(
        value=1.0, selection=1.0, arguments=1.0 if count else None, order=1.0 if count > 1 else None, matched=count
    )


def _matches_call_for_call(
    required: Sequence[ExpectedCall], groups: Sequence[Sequence[ToolCall]], match: Matching
) -> bool:
    """The common case that every mode accepts: the expected calls one after the other and nothing else."""
    if len(groups) != len(required):
        return False
    default_rule, rules = match.arguments, match.args_for
    for expected, group in zip(required, groups, strict=True):
        made = group[0]
        if len(group) != 1 or expected.message is not None or expected.name != made.name:
            return False
        rule = rules.get(expected.name, default_rule) if rules else default_rule
        if not arguments_fit(expected.arguments, made.arguments, rule):
            return False
    return True


class _CallAlignment:
    """The general case: which call is which expected call, and what is left over."""

    def __init__(self, required: Sequence[ExpectedCall], groups: Sequence[Sequence[ToolCall]], match: Matching) -> None:
        self.expected = required
        self.made = [call for group in groups for call in group]
        ends = list(accumulate(map(len, groups)))
        self.groups = [range(end - len(group), end) for group, end in zip(groups, ends, strict=True)]
        self.mode = match.mode
        # Without message numbers, the calls count in order, however they were grouped.
        self.by_message = match.mode is MatchMode.EXACT and any(call.message is not None for call in required)
        self.rules: dict[str, ArgumentRule] = {
            call.name: match.args_for.get(call.name, match.arguments) for call in required
        }
        self.edges = [
            [
                place
                for place, made in enumerate(self.made)
                if (call.name == made.name and arguments_fit(call.arguments, made.arguments, self.rules[call.name]))
            ]
            for call in required
        ]

    def result(self) -> CallComparison:
        fitting = maximum_matching(self.edges)
        ordered = self._ordered(len(fitting))
        pairs = ordered if self.mode in (MatchMode.EXACT, MatchMode.IN_ORDER) else fitting
        # How many expected names were called, each counted at most as often as it is expected.
        called = (Counter(call.name for call in self.expected) & Counter(call.name for call in self.made)).total()
        used = set(pairs.values())
        spare = [place for place in range(len(self.made)) if place not in used]
        sizes = len(self.expected), len(self.made)
        return CallComparison(
            value=match_share(self.mode, len(pairs), *sizes),
            selection=match_share(self.mode, called, *sizes),
            arguments=len(fitting) / called if called else None,
            order=len(ordered) / len(fitting) if len(fitting) > 1 else None,
            matched=len(pairs),
            missing=tuple(call.name for place, call in enumerate(self.expected) if place not in pairs),
            unexpected=tuple(self.made[place].name for place in spare),
            reasons=tuple(self._reasons(pairs, fitting, spare)),
        )

    def _ordered(self, possible: int) -> Pairs:
        if self.by_message:
            # A call without a message number is its own group.
            groups: dict[object, list[int]] = {}
            for place, call in enumerate(self.expected):
                groups.setdefault(("alone", place) if call.message is None else call.message, []).append(place)
            return align_in_order(list(groups.values()), self.groups, self.edges)
        pairs = match_in_sequence(self.edges)
        if len(pairs) == possible:
            return pairs
        return align_in_order(_single_groups(len(self.expected)), _single_groups(len(self.made)), self.edges)

    def _reasons(self, pairs: Pairs, fitting: Pairs, spare: list[int]) -> list[str]:
        reasons: list[str] = []
        for place, call in enumerate(self.expected):
            if place in pairs or not (requires_all(self.mode) or self._closest(call, spare) is not None):
                continue
            reasons.append(self._explain_missing(call, place in fitting, spare))
        if forbids_others(self.mode):
            reasons += [f"`{self.made[place].name}` was called, but not expected" for place in spare]
        return list(dict.fromkeys(reasons))

    def _explain_missing(self, call: ExpectedCall, fits_elsewhere: bool, spare: list[int]) -> str:
        """The reason for a missing call. Removes the call that explains it from `spare`, so that it is reported
        once."""
        closest = self._closest(call, spare)
        if closest is None:
            if fits_elsewhere:
                return f"`{call.name}`: {self._order_mistake()}"
            expected = sum(one.name == call.name for one in self.expected)
            made = sum(one.name == call.name for one in self.made)
            return f"`{call.name}` was called {made} of {expected} times" if made else f"`{call.name}` was not called"
        spare.remove(closest)
        wrong = argument_mismatches(call.arguments, self.made[closest].arguments, self.rules[call.name])
        if not wrong:
            return f"`{call.name}`: {self._order_mistake()}"
        return f"`{call.name}` was called with other arguments: {', '.join(wrong)}"

    def _order_mistake(self) -> str:
        if self.by_message:
            return "called, but not in the expected place (message by message)"
        return "called, but not in the expected order"

    def _closest(self, call: ExpectedCall, spare: Sequence[int]) -> int | None:
        same_name = [place for place in spare if self.made[place].name == call.name]
        if len(same_name) < 2:
            return same_name[0] if same_name else None
        rule = self.rules[call.name]
        return min(
            same_name, key=lambda place: len(argument_mismatches(call.arguments, self.made[place].arguments, rule))
        )


def _single_groups(count: int) -> list[list[int]]:
    return [[place] for place in range(count)]
