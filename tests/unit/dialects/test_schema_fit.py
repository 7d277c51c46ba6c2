"""The quick check of a schema says the same as the library, or sends the value to it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

from howsure.dialects.golden_schema import SCHEMA as GOLDEN
from howsure.dialects.json_places import Spot
from howsure.dialects.schema_fit import Shape, fit
from json_strategies import values

SCHEMAS: dict[str, dict[str, Any]] = {
    "type": {"type": "string"},
    "several types": {"type": ["integer", "null"]},
    "number": {"type": "number", "minimum": 1},
    "boolean": {"type": "boolean"},
    "required": {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}},
    "closed": {"type": "object", "additionalProperties": False, "properties": {"a": {}}},
    "open": {"type": "object", "additionalProperties": True},
    "map": {"type": "object", "additionalProperties": {"type": "integer"}},
    "list": {"type": "array", "minItems": 1, "items": {"type": "integer"}},
    "unique": {"type": "array", "uniqueItems": True, "items": {"type": "string"}},
    "pattern": {"pattern": r"\S"},
    "enum": {"enum": ["a", None, 1]},
    "const": {"const": 1},
    "any of": {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "array"}]},
    "all of": {"allOf": [{"type": "integer"}, {"minimum": 3}]},
    "if": {
        "if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
        "then": {"required": ["b"]},
        "else": {"required": ["c"]},
    },
}
TRIED: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    3,
    1.0,
    2.5,
    "",
    " ",
    "a",
    [],
    [1],
    ["a", "a"],
    ["a", "b"],
    [True],
    {},
    {"a": "x"},
    {"a": 1},
    {"a": 1, "b": 2},
    {"b": 2},
    {"c": 3},
    {"a": True},
]


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_the_quick_check_accepts_the_library_accepts(name: str) -> None:
    accepts, library = fit(SCHEMAS[name]), Draft202012Validator(SCHEMAS[name])
    for value in TRIED:
        if accepts(value):
            assert library.is_valid(value), value


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_quick_check_refuses_only_whole_floats_that_the_library_accepts(name: str) -> None:
    accepts, library = fit(SCHEMAS[name]), Draft202012Validator(SCHEMAS[name])
    refused = [value for value in TRIED if library.is_valid(value) and not accepts(value)]
    assert all(isinstance(value, float) for value in refused), refused


@given(values)
def test_any_value_that_fits_is_valid(value: Any) -> None:
    for schema in SCHEMAS.values():
        if fit(schema)(value):
            assert Draft202012Validator(schema).is_valid(value)


def test_a_keyword_that_is_not_known_is_refused_when_the_schema_is_made_ready() -> None:
    with pytest.raises(KeyError, match="maxLength"):
        fit({"type": "string", "maxLength": 3})


def test_a_shape_tells_why_a_value_does_not_fit() -> None:
    shape = Shape({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}})
    assert shape.problems({"a": "x"}, Spot("f", 3)) == []
    (problem,) = shape.problems({"a": 1}, Spot("f", 3, "list[0]"))
    assert (problem.code, problem.field, problem.line) == ("wrong-type", "list[0].a", 3)


def test_a_whole_float_where_an_integer_is_wanted_is_no_problem() -> None:
    assert Shape({"type": "integer"}).problems(2.0, Spot("f")) == []


def test_the_schema_that_is_printed_accepts_what_is_read() -> None:
    question = {"id": "q", "user_inputs": ["Hi"], "agents_evaluated": [], "reference_data": {}}
    printed = Draft202012Validator(GOLDEN)
    assert printed.is_valid({"golden_questions": [question]})
    assert printed.is_valid({"questions": [question]})
    assert not printed.is_valid({"golden_questions": [question], "questions": []})
    assert not printed.is_valid({"golden_questions": [{**question, "id": ""}]})
