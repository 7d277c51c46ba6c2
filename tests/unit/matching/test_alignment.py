"""Who is whom: the largest assignment, the longest alignment, and the share that follows."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.matching.alignment import align_in_order, match_in_sequence, match_share, maximum_matching
from howsure.model.expectation import MatchMode

EDGES = st.integers(0, 5).flatmap(
    lambda actual: st.lists(st.lists(st.integers(0, max(actual - 1, 0)), unique=True, max_size=actual), max_size=5)
)


def brute_force(edges: list[list[int]]) -> int:
    """Every way to put actual numbers (or none, -1) beside the expected ones."""
    free = [*range(6), *([-1] * len(edges))]
    ways = set(permutations(free, len(edges)))
    return max(sum(place in edges[left] for left, place in enumerate(way)) for way in ways)


@pytest.mark.parametrize(
    ("edges", "pairs"),
    [
        ([], {}),
        ([[]], {}),
        ([[0]], {0: 0}),
        ([[0], [0]], {0: 0}),
        ([[0, 1], [0]], {0: 1, 1: 0}),
        ([[0, 1], [0, 2], [0]], {0: 1, 1: 2, 2: 0}),
        ([[1], [0, 1], [0, 2]], {0: 1, 1: 0, 2: 2}),
    ],
    ids=["nothing", "no fit", "one", "two want one", "greedy is wrong", "a chain", "another chain"],
)
def test_a_first_choice_gives_way_where_that_makes_room(edges: list[list[int]], pairs: dict[int, int]) -> None:
    assert maximum_matching(edges) == pairs


@given(EDGES.filter(lambda edges: len(edges) <= 3))
def test_the_assignment_is_as_large_as_can_be(edges: list[list[int]]) -> None:
    pairs = maximum_matching(edges)
    assert all(right in edges[left] for left, right in pairs.items())
    assert len(set(pairs.values())) == len(pairs)
    assert len(pairs) == brute_force(edges)


def test_a_thousand_alike_are_assigned_without_deep_recursion() -> None:
    assert len(maximum_matching([list(range(1000))] * 1000)) == 1000


def singly(count: int) -> list[list[int]]:
    return [[place] for place in range(count)]


@pytest.mark.parametrize(
    ("expected", "actual", "edges", "count"),
    [
        (singly(2), singly(2), [[0], [1]], 2),
        (singly(2), singly(2), [[1], [0]], 1),
        (singly(3), singly(4), [[3], [0], [1]], 2),
        ([[0, 1]], [[0, 1]], [[1], [0]], 2),
        ([[0, 1]], singly(2), [[0], [1]], 1),
        (singly(2), [[0, 1]], [[0], [1]], 1),
        ([[0], [1, 2]], [[0, 1], [2]], [[2], [0], [1]], 2),
        ([], [[0]], [], 0),
        ([[0]], [], [[]], 0),
    ],
)
def test_groups_follow_one_another_and_only_their_members_are_free(
    expected: list[list[int]], actual: list[list[int]], edges: list[list[int]], count: int
) -> None:
    assert len(align_in_order(expected, actual, edges)) == count


@given(EDGES)
def test_order_never_finds_more_than_any_order_and_one_by_one_never_more_than_order(edges: list[list[int]]) -> None:
    actual = max((place for places in edges for place in places), default=-1) + 1
    ordered = align_in_order(singly(len(edges)), singly(actual), edges)
    assert list(ordered.values()) == sorted(ordered.values())
    greedy = match_in_sequence([sorted(places) for places in edges])
    assert len(greedy) <= len(ordered) <= len(maximum_matching(edges))
    if len(ordered) == len(edges):
        assert len(greedy) == len(edges)


@pytest.mark.parametrize(
    ("mode", "matched", "expected", "actual", "value"),
    [
        (MatchMode.SUPERSET, 2, 2, 5, 1.0),
        (MatchMode.SUPERSET, 1, 2, 5, 0.5),
        (MatchMode.IN_ORDER, 1, 4, 1, 0.25),
        (MatchMode.SUBSET, 1, 3, 1, 1.0),
        (MatchMode.SUBSET, 1, 3, 2, 0.5),
        (MatchMode.SUBSET, 0, 3, 0, 1.0),
        (MatchMode.ANY_ORDER, 2, 2, 2, 1.0),
        (MatchMode.ANY_ORDER, 2, 2, 3, 2 / 3),
        (MatchMode.ANY_ORDER, 2, 3, 2, 2 / 3),
        (MatchMode.EXACT, 1, 2, 2, 1 / 3),
        (MatchMode.EXACT, 0, 2, 2, 0.0),
        (MatchMode.SUPERSET, 0, 0, 2, 1.0),
    ],
)
def test_the_share_is_of_what_the_mode_asks_for(
    mode: MatchMode, matched: int, expected: int, actual: int, value: float
) -> None:
    assert match_share(mode, matched, expected, actual) == value
