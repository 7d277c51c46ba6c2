"""Which expected item is which actual item: assignment in any order, alignment in order, and the share that follows.

Items are numbers here (their positions), and `edges[e]` are the actual items that expected item `e` accepts. Greedy
choices can be wrong if matchers overlap, so both functions find the largest number of pairs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from msgspec import Struct

from howsure.model.expectation import MatchMode

Edges = Sequence[Sequence[int]]
Pairs = dict[int, int]


class ExpectationComparison(Struct, frozen=True, kw_only=True):
    """What happened, compared with what was expected. `value` is the share of what is required (see `match_share`), 1.0
    exactly if all of it is there. `missing` are names, one for each expected item that was not found."""

    value: float
    missing: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.value >= 1.0


def maximum_matching(edges: Edges) -> Pairs:
    """As many expected → actual pairs as possible, each item used once."""
    chosen: Pairs = {}
    owner: Pairs = {}
    for start in range(len(edges)):
        _augment(start, edges, chosen, owner)
    return chosen


def _augment(start: int, edges: Edges, chosen: Pairs, owner: Pairs) -> None:
    """Finds a partner for `start`, moving others to another partner if that frees one."""
    reached_from: Pairs = {}
    waiting = deque([start])
    while waiting:
        left = waiting.popleft()
        for right in edges[left]:
            if right in reached_from:
                continue
            reached_from[right] = left
            if right in owner:
                waiting.append(owner[right])
                continue
            free: int | None = right
            while free is not None:
                left = reached_from[free]
                before = chosen.get(left)
                chosen[left], owner[free] = free, left
                free = before
            return


def match_in_sequence(edges: Edges) -> Pairs:
    """Pairs each expected item with the first actual item that fits after the last pair. This pairs all of them if that
    is possible at all."""
    pairs: Pairs = {}
    last = -1
    for left, places in enumerate(edges):
        for right in places:
            if right > last:
                pairs[left] = last = right
                break
    return pairs


def align_in_order(expected: Sequence[Sequence[int]], actual: Sequence[Sequence[int]], edges: Edges) -> Pairs:
    """As many pairs as possible if groups must be in order and only the members of a group are unordered."""
    paired = [[_match_group(group, members, edges) for members in actual] for group in expected]
    best = [[0] * (len(actual) + 1) for _ in range(len(expected) + 1)]
    for e in range(len(expected) - 1, -1, -1):
        for a in range(len(actual) - 1, -1, -1):
            best[e][a] = max(best[e + 1][a], best[e][a + 1], best[e + 1][a + 1] + len(paired[e][a]))
    pairs: Pairs = {}
    e = a = 0
    while e < len(expected) and a < len(actual):
        if paired[e][a] and best[e][a] == best[e + 1][a + 1] + len(paired[e][a]):
            pairs |= paired[e][a]
            e, a = e + 1, a + 1
        elif best[e][a] == best[e][a + 1]:
            a += 1
        else:
            e += 1
    return pairs


def _match_group(group: Sequence[int], members: Sequence[int], edges: Edges) -> Pairs:
    if len(group) == 1 and len(members) == 1:
        return {group[0]: members[0]} if members[0] in edges[group[0]] else {}
    allowed = set(members)
    inside = maximum_matching([[right for right in edges[left] if right in allowed] for left in group])
    return {group[left]: right for left, right in inside.items()}


def match_share(mode: MatchMode, matched: int, expected: int, actual: int) -> float:
    """How much of what the mode requires is there; 1.0 exactly if all of it is.

    `superset` and `in_order`: the share of the expected that was found. `subset`: the share of the actual that was
    expected. `exact` and `any_order`: what was found, among the expected and the unexpected together.
    """
    required = actual if mode is MatchMode.SUBSET else expected
    if mode in (MatchMode.EXACT, MatchMode.ANY_ORDER):
        required = expected + actual - matched
    return matched / required if required else 1.0


def forbids_others(mode: MatchMode) -> bool:
    """Whether an unexpected item lowers the share."""
    return mode in (MatchMode.EXACT, MatchMode.ANY_ORDER, MatchMode.SUBSET)


def requires_all(mode: MatchMode) -> bool:
    """Whether a missing expected item lowers the share."""
    return mode is not MatchMode.SUBSET
