"""Where the fields of a JSON text stand, however it is written down."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure.services.hosting.text_lines import field_lines, line_of

TEXT = """{
  "name": "Kindness",
  "rules": [
    {"id": "A",
     "severity": "low"},
    {
      "id": "B", "examples": {
        "correct": "a \\"quoted\\" word, with { and ["
      }
    }
  ], "note": null
}"""


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("name", 2),
        ("rules", 3),
        ("rules[0]", 4),
        ("rules[0].id", 4),
        ("rules[0].severity", 5),
        ("rules[1]", 6),
        ("rules[1].examples", 7),
        ("rules[1].examples.correct", 8),
        ("note", 11),
    ],
)
def test_every_field_has_its_line(field: str, line: int) -> None:
    assert field_lines(TEXT)[field] == line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", {}),
        ("[]", {}),
        ("3", {}),
        ('{"a": {}, "b": []}', {"a": 1, "b": 1}),
        ('\ufeff{"a": 1}', {"a": 1}),
        ('{"a":1,\r\n"b":2}', {"a": 1, "b": 2}),
        ("[\n1,\n[2]\n]", {"[0]": 2, "[1]": 3, "[1][0]": 3}),
    ],
    ids=["empty", "an empty list", "a number", "empty inside", "with a mark", "other line ends", "lists in lists"],
)
def test_odd_texts(text: str, expected: dict[str, int]) -> None:
    assert field_lines(text) == expected


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("rules[1].severity", 6),
        ("rules[1].examples.violation", 7),
        ("rules[7]", 3),
        ("nothing", 1),
        ("", 1),
        ("rules[0].id", 4),
    ],
    ids=["missing there", "missing deeper", "beyond the list", "missing altogether", "no field", "there"],
)
def test_what_is_missing_is_shown_where_it_should_stand(field: str, line: int) -> None:
    assert line_of(field_lines(TEXT), field) == line


NAMES = st.text("abc", min_size=1, max_size=3)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=15,
)


def places(value: Any, path: str = "") -> set[str]:
    """Every field of a value, by its path."""
    if isinstance(value, dict):
        own = {f"{path}.{name}" if path else name for name in value}
        return own | {
            each for name, inner in value.items() for each in places(inner, f"{path}.{name}" if path else name)
        }
    if isinstance(value, list):
        own = {f"{path}[{place}]" for place in range(len(value))}
        return own | {each for place, inner in enumerate(value) for each in places(inner, f"{path}[{place}]")}
    return set()


@settings(max_examples=100, deadline=None)
@given(value=VALUES, indent=st.sampled_from([None, 0, 2]))
def test_every_field_of_any_text_is_found(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    found = field_lines(text)
    assert set(found) == places(value)
    assert all(1 <= line <= text.count("\n") + 1 for line in found.values())
    if indent is None:
        assert set(found.values()) <= {1}


@settings(max_examples=50, deadline=None)
@given(value=st.dictionaries(NAMES, VALUES, min_size=1, max_size=4))
def test_the_line_of_a_field_holds_its_name(value: dict[str, Any]) -> None:
    lines = json.dumps(value, indent=1).split("\n")
    found = field_lines("\n".join(lines))
    for name in value:
        assert lines[found[name] - 1].strip().startswith(json.dumps(name) + ":")
