"""Problems: schema violations in words, the compiled check beside the slow one, and how values are shown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

from howsure.dialects.golden import SCHEMA as GOLDEN
from howsure.dialects.problems import SchemaChecker, Spot, did_you_mean, kind_of, shown, unknown_fields, with_article
from howsure.errors import Level, Problem
from json_strategies import values

STEP = {
    "oneOf": [
        {"type": "object", "required": ["kind"], "properties": {"kind": {"const": "agent"}, "n": {"type": "string"}}},
        {"type": "object", "required": ["kind"], "properties": {"kind": {"const": "tool"}, "n": {"type": "integer"}}},
    ]
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["type"],
    "properties": {
        "type": {"enum": ["mcq", "essay"]},
        "name": {"type": "string", "pattern": r"\S", "description": "a short title"},
        "code": {"type": "string", "pattern": "^[A-Z]+$"},
        "weight": {"type": "number", "minimum": 0, "exclusiveMaximum": 10},
        "count": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 3, "uniqueItems": True},
        "choices": {"type": "array", "items": {"type": "object", "required": ["id", "text"]}},
        "payload": {"anyOf": [{"type": "string"}, {"type": "object", "required": ["x"]}]},
        "step": STEP,
        "closed": {"type": "object", "properties": {"known": {}}, "additionalProperties": False},
        "long": {"type": "string", "minLength": 3, "maxLength": 5},
        "version": {"const": "v1"},
        "deep": {"$ref": "#/$defs/deep"},
    },
    "$defs": {
        "deep": {
            "if": {"properties": {"mode": {"const": "live"}}, "required": ["mode"]},
            "then": {"required": ["url"]},
        }
    },
    "allOf": [
        {
            "if": {"properties": {"type": {"const": "mcq"}}, "required": ["type"]},
            "then": {"required": ["choices"], "properties": {"rubric": False, "choices": {"minItems": 2}}},
        }
    ],
}


def essay(**fields: Any) -> dict[str, Any]:
    return {"type": "essay", **fields}


def only(value: Any) -> Problem:
    problems = SchemaChecker(SCHEMA).problems(value, Spot("f", 3))
    assert len(problems) == 1, problems
    return problems[0]


@pytest.mark.parametrize(
    ("value", "code", "field", "message"),
    [
        ({}, "missing-field", "type", "`type` is required"),
        ([], "wrong-type", "", "must be an object, not an array"),
        (None, "wrong-type", "", "must be an object, not a null"),
        ({"type": "mqc"}, "unknown-value", "type", 'must be one of "mcq", "essay"'),
        (essay(version="v2"), "unknown-value", "version", 'must be "v1"'),
        (essay(name=""), "empty", "name", "must not be empty or blank"),
        (essay(name=" \t"), "empty", "name", "must not be empty or blank"),
        (essay(name=5), "wrong-type", "name", "must be a string, not an integer"),
        (essay(code="ab"), "bad-pattern", "code", "does not fit the pattern ^[A-Z]+$"),
        (essay(weight=True), "wrong-type", "weight", "must be a number, not a boolean"),
        (essay(weight=-1), "out-of-range", "weight", "must be ≥ 0"),
        (essay(weight=10), "out-of-range", "weight", "must be < 10"),
        (essay(count=1.5), "wrong-type", "count", "must be an integer, not a number"),
        (essay(tags=["a", ""]), "empty", "tags[1]", "must not be empty or blank"),
        (essay(tags=["a", "b", "c", "d"]), "too-many", "tags", "must have at most 3, has 4"),
        (essay(tags=["a", "a"]), "duplicate-value", "tags", "must not repeat a value"),
        (essay(choices=[{"id": "A"}]), "missing-field", "choices[0].text", "`text` is required"),
        (essay(payload=3), "wrong-type", "payload", "must be a string or object, not an integer"),
        (essay(payload={}), "missing-field", "payload.x", "`x` is required"),
        (essay(step={"kind": "tool", "n": "x"}), "wrong-type", "step.n", "must be an integer, not a string"),
        (essay(step={"kind": "agent", "n": 1}), "wrong-type", "step.n", "must be a string, not an integer"),
        (essay(step={"kind": "bot"}), "unknown-value", "step.kind", 'must be one of "agent", "tool"'),
        (essay(closed={"knwon": 1}), "unknown-field", "closed.knwon", "`knwon` is not a field of this object"),
        (essay(long="ab"), "too-short", "long", "must have at least 3 characters"),
        (essay(deep={"mode": "live"}), "missing-field", "deep.url", "`url` is required for mode live"),
        ({"type": "mcq"}, "missing-field", "choices", "`choices` is required for type mcq"),
        ({"type": "mcq", "choices": []}, "too-few", "choices", "must have at least 2 for type mcq, has 0"),
    ],
)
def test_each_violation_has_a_code_a_place_and_a_sentence(value: Any, code: str, field: str, message: str) -> None:
    problem = only(value)
    assert (problem.code, problem.field, problem.message) == (code, field, message)
    assert (problem.file, problem.line, problem.level) == ("f", 3, Level.ERROR)


def test_a_forbidden_field_is_named_with_the_condition_that_forbids_it() -> None:
    choices = [{"id": "A", "text": "x"}, {"id": "B", "text": "y"}]
    problem = only({"type": "mcq", "choices": choices, "rubric": [1]})
    assert str(problem) == "f:3 `rubric`: `rubric` is not allowed for type mcq (remove it) [forbidden-field]"
    assert (problem.expected, problem.found) == ("no such field", "[1]")


def test_all_violations_come_at_once() -> None:
    problems = SchemaChecker(SCHEMA).problems({"type": "mcq", "name": 1, "weight": "x", "rubric": 1}, Spot("f", 1))
    assert sorted((problem.code, problem.field) for problem in problems) == [
        ("forbidden-field", "rubric"),
        ("missing-field", "choices"),
        ("wrong-type", "name"),
        ("wrong-type", "weight"),
    ]


def test_each_missing_field_is_told_once() -> None:
    schema = {"type": "object", "required": ["a", "b", "c"]}
    problems = SchemaChecker(schema).problems({"b": 1}, Spot("f", 1))
    assert [problem.field for problem in problems] == ["a", "c"]


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ({"tpye": "mcq"}, "did you mean `tpye`?"),
        ({"type": "essai"}, "did you mean `essay`?"),
        (essay(name=""), "a short title"),
        (essay(closed={"knwon": 1}), "did you mean `known`?"),
    ],
)
def test_the_hint_is_a_likely_word_or_what_the_schema_says(value: Any, hint: str) -> None:
    assert only(value).hint == hint


def test_found_values_are_short_and_printable() -> None:
    assert only(essay(code="x" * 500)).found == '"' + "x" * 59 + "…"
    assert only(essay(code="\ud800")).found == '"\\ud800"'
    assert only(essay(name=["a"])).found == '["a"] (array)'


def test_the_prefix_leads_every_path() -> None:
    problems = SchemaChecker(SCHEMA).problems({}, Spot("f", None, "items[4]"))
    assert [problem.field for problem in problems] == ["items[4].type"]


def test_a_checker_serves_many_values() -> None:
    checker = SchemaChecker(SCHEMA)
    assert checker.problems(essay(), Spot("f", 1)) == []
    assert [problem.line for problem in checker.problems({}, Spot("f", 2))] == [2]


def test_a_keyword_without_words_of_ours_is_still_a_problem() -> None:
    problems = SchemaChecker({"contains": {"const": 1}}).problems([2], Spot("f", 1))
    assert [problem.code for problem in problems] == ["invalid"]


def test_fields_nobody_knows_are_warnings_with_a_guess() -> None:
    problems = unknown_fields({"id": 1, "promt": "x"}, ["id", "prompt"], Spot("f", 2, "rows[0]"))
    assert problems == [
        Problem(
            code="unknown-field",
            message="`promt` is not a field of this format; it is kept",
            file="f",
            line=2,
            field="rows[0].promt",
            found='"x"',
            hint="did you mean `prompt`?",
            level=Level.WARNING,
        )
    ]


def test_a_forbidden_field_of_the_wrong_type_is_one_problem() -> None:
    schema = {
        "properties": {"a": {"type": "array", "items": {"type": "string"}}},
        "allOf": [{"properties": {"a": False}}],
    }
    for value in ({"a": 5}, {"a": [5]}):
        assert [problem.code for problem in SchemaChecker(schema).problems(value, Spot("f", 1))] == ["forbidden-field"]


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
CHECKERS = [(SchemaChecker(schema), Draft202012Validator(schema)) for schema in SCHEMAS.values()]
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
    "\x1c",
    "\x85",
    "\ufeff",
    "\ud800",
    10**400,
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
def test_what_the_compiled_check_accepts_the_slow_library_accepts(name: str) -> None:
    checker, library = SchemaChecker(SCHEMAS[name]), Draft202012Validator(SCHEMAS[name])
    for value in TRIED:
        assert library.is_valid(value) or not checker.fits(value), value
        assert bool(checker.problems(value, Spot("f"))) is not library.is_valid(value), value


@given(values)
def test_any_value_that_fits_is_valid(value: Any) -> None:
    for checker, library in CHECKERS:
        assert library.is_valid(value) or not checker.fits(value)


def test_the_schema_that_is_printed_accepts_what_is_read() -> None:
    question = {"id": "q", "user_inputs": ["Hi"], "agents_evaluated": [], "reference_data": {}}
    printed = Draft202012Validator(GOLDEN)
    assert printed.is_valid({"golden_questions": [question]})
    assert printed.is_valid({"questions": [question]})
    assert not printed.is_valid({"golden_questions": [question], "questions": []})
    assert not printed.is_valid({"golden_questions": [{**question, "id": ""}]})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("x", '"x"'),
        (["é", 1, None], '["é", 1, null]'),
        ("x" * 100, '"' + "x" * 59 + "…"),
        ("\ud800", '"\\ud800"'),
        ({"a": {1, 2}.__class__}, '{"a": "<class \'set\'>"}'),
        (float("nan"), "NaN"),
        ("a\nb", '"a\\nb"'),
    ],
    ids=["text", "list", "long", "half a character", "no JSON", "not finite", "line break"],
)
def test_a_value_is_shown_in_one_short_line(value: Any, text: str) -> None:
    assert shown(value) == text
    assert shown(value).encode("utf-8")


@pytest.mark.parametrize(
    ("value", "kind"),
    [(None, "null"), (True, "boolean"), (1, "integer"), (1.0, "number"), ("", "string"), ([], "array"), ({}, "object")],
)
def test_kinds_have_the_names_of_json(value: Any, kind: str) -> None:
    assert kind_of(value) == kind


def test_articles_follow_the_sound() -> None:
    assert [with_article("array"), with_article("object or string"), with_article("string")] == [
        "an array",
        "an object or string",
        "a string",
    ]


@pytest.mark.parametrize(
    ("name", "guess"),
    [
        ("promt", "did you mean `prompt`?"),
        ("ID", "did you mean `id`?"),
        ("choice_ids", "did you mean `correct_choice_ids`?"),
        ("zebra", ""),
        ("", ""),
    ],
)
def test_a_guess_is_made_only_where_something_is_close(name: str, guess: str) -> None:
    assert did_you_mean(name, ["prompt", "id", "correct_choice_ids"]) == guess
