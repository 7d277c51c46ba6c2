"""What changed between two versions, named by place; nothing where nothing did, whatever is compared."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure.services.host.differences import (
    DocumentDifference,
    DocumentDifferenceKind,
    body_differences,
    find_differences,
)

ADDED, REMOVED, CHANGED, MOVED = (
    DocumentDifferenceKind.ADDED,
    DocumentDifferenceKind.REMOVED,
    DocumentDifferenceKind.CHANGED,
    DocumentDifferenceKind.MOVED,
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("xyz", min_size=1, max_size=2), inner, max_size=3)
    ),
    max_leaves=12,
)


def found(before: Any, after: Any) -> list[tuple[str, DocumentDifferenceKind]]:
    return [(each.path, each.kind) for each in find_differences(before, after)]


def rules(*names: str, **more: Any) -> dict[str, Any]:
    return {"rules": [{"id": name, "severity": "low", **more} for name in names]}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 2}, [("a", CHANGED)]),
        ({"a": 1}, {}, [("a", REMOVED)]),
        ({}, {"a": 1}, [("a", ADDED)]),
        ({"a": {"b": [1]}}, {"a": {"b": [2]}}, [("a.b", CHANGED)]),
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": 1}, {"a": True}, [("a", CHANGED)]),
        ({"a": 0}, {"a": False}, [("a", CHANGED)]),
        ({"a": None}, {}, [("a", REMOVED)]),
        ({"a": []}, {"a": None}, [("a", CHANGED)]),
        ([], [], []),
        (1, "1", [("", CHANGED)]),
    ],
    ids=["value", "gone", "new", "inside", "the same number", "one is not true", "nought is not false", "null and gone",
         "empty and null", "two empty lists", "not even objects"],
)  # fmt: skip
def test_a_place_that_is_not_as_it_was(
    before: Any, after: Any, expected: list[tuple[str, DocumentDifferenceKind]]
) -> None:
    assert found(before, after) == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (rules("A", "B"), rules("A", "B"), []),
        (rules("A", "B"), rules("A"), [("rules[B]", REMOVED)]),
        (rules("A"), rules("A", "B"), [("rules[B]", ADDED)]),
        (rules("A"), rules("A", severity="high"), [("rules[A].severity", CHANGED)]),
        (rules("A", "B"), rules("B", "A"), [("rules", MOVED)]),
        (rules("A", "B"), rules("C", "B", "A"), [("rules[C]", ADDED), ("rules", MOVED)]),
        (rules(), rules("A"), [("rules[A]", ADDED)]),
        (rules("A", "A"), rules("A"), [("rules", CHANGED)]),
    ],
    ids=["same", "gone", "new", "changed", "moved", "new and moved", "the first", "an id twice is no id"],
)
def test_elements_are_matched_by_their_ids(
    before: Any, after: Any, expected: list[tuple[str, DocumentDifferenceKind]]
) -> None:
    assert found(before, after) == expected


@pytest.mark.parametrize("name", ["id", "item_id", "question_id", "type"])
def test_every_list_that_has_ids_is_matched_by_them(name: str) -> None:
    before, after = [{name: "x", "text": "old"}], [{name: "x", "text": "new"}]
    assert found({"list": before}, {"list": after}) == [("list[x].text", CHANGED)]


def test_what_was_and_what_is_are_both_told() -> None:
    (changed,) = find_differences({"name": "Old"}, {"name": "New"})
    assert changed == DocumentDifference(path="name", kind=CHANGED, before="Old", after="New")
    (moved,) = find_differences(rules("A", "B"), rules("B", "A"))
    assert (moved.before, moved.after) == (["A", "B"], ["B", "A"])
    (added,) = find_differences({}, {"note": {"deep": True}})
    assert (added.before, added.after) == (None, {"deep": True})


@settings(max_examples=100, deadline=None)
@given(value=VALUES)
def test_nothing_differs_from_itself(value: Any) -> None:
    assert list(find_differences(value, value)) == []


@settings(max_examples=100, deadline=None)
@given(before=VALUES, after=VALUES)
def test_what_differs_one_way_differs_the_other_way(before: Any, after: Any) -> None:
    there, back = list(find_differences(before, after)), list(find_differences(after, before))
    opposite = {ADDED: REMOVED, REMOVED: ADDED, CHANGED: CHANGED, MOVED: MOVED}
    assert sorted((each.path, opposite[each.kind].value) for each in there) == sorted(
        (each.path, each.kind.value) for each in back
    )


@given(st.dictionaries(st.sampled_from("abc"), VALUES), st.dictionaries(st.sampled_from("abc"), VALUES))
def test_stored_bodies_differ_as_their_values_do(before: dict[str, Any], after: dict[str, Any]) -> None:
    found = body_differences(msgspec.json.encode(before), msgspec.json.encode(after))
    assert list(found) == list(find_differences(before, after))


def test_true_is_not_one_in_an_entry_either() -> None:
    before, after = rules("A", flag=True), rules("A", flag=1)
    found = body_differences(msgspec.json.encode(before), msgspec.json.encode(after))
    assert [each.path for each in found] == ["rules[A].flag"]
