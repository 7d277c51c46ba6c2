"""Fields nobody knows, set apart and put back."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from howsure.dialects.extras import restore_unknown, separate_unknown
from howsure.dialects.problems import Spot

SCHEMA: dict[str, Any] = {
    "properties": {
        "id": {"type": "string"},
        "choices": {"type": "array", "items": {"properties": {"id": {}}}},
        "free": {"type": "object"},
        "open": {"properties": {"known": {}}, "additionalProperties": True},
    }
}


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ({"id": "1"}, {}),
        ({"id": "1", "x": [1]}, {"/x": [1]}),
        ({"choices": [{"id": "A"}, {"id": "B", "why": None}]}, {"/choices/1/why": None}),
        ({"a/b": 1, "~": 2}, {"/a~1b": 1, "/~0": 2}),
        ({"free": {"x": 1}, "open": {"x": 1}}, {}),
        ({"choices": "wrong", "x": {"y": 1}}, {"/x": {"y": 1}}),
        ({"unknown_fields": 1}, {"/unknown_fields": 1}),
    ],
    ids=["none", "at the top", "nested", "odd names", "free objects", "wrong type", "our own name"],
)
def test_they_are_taken_out_and_can_be_put_back(value: dict[str, Any], kept: dict[str, Any]) -> None:
    original = deepcopy(value)
    apart = separate_unknown(value, SCHEMA, Spot("f", 1))
    assert apart.kept == kept
    assert not any(name in value for name in ("x", "a/b", "~", "unknown_fields"))
    restore_unknown(value, apart.kept)
    assert value == original


def test_each_is_a_warning_at_its_place() -> None:
    apart = separate_unknown({"choices": [{"ID": 1}], "Id": 2}, SCHEMA, Spot("f", 4))
    assert [str(warning) for warning in apart.warnings] == [
        "f:4 `Id`: `Id` is not a field of this format; it is kept (did you mean `id`?) [unknown-field]",
        "f:4 `choices[0].ID`: `ID` is not a field of this format; it is kept (did you mean `id`?) [unknown-field]",
    ]


def test_a_pointer_that_leads_nowhere_is_not_passed_over() -> None:
    with pytest.raises(LookupError):
        restore_unknown({"choices": []}, {"/choices/3/why": 1})


@pytest.mark.parametrize("value", ["text", None, 5, ["x"]])
def test_what_is_no_object_has_no_unknown_fields(value: Any) -> None:
    assert separate_unknown(value, SCHEMA, Spot("f", 1)).kept == {}
