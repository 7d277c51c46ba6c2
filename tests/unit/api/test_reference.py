"""The reference in the documentation, made from a description: paths by what they are about, shapes field by field."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.api.reference import MARKER, reference, update_page

ERROR = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorShape"}}}}
POINT: dict[str, Any] = {
    "description": "A place | with a\n  line in between.",
    "properties": {
        "x": {"type": "integer", "description": "To the right", "default": 3, "examples": [7]},
        "at": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]},
    },
    "required": ["x"],
}
DESCRIPTION: dict[str, Any] = {
    "paths": {
        "/api/v1/points/{id}": {
            "get": {
                "tags": ["points"],
                "summary": "One",
                "description": "One point.\n\nMore of it.",
                "parameters": [{"name": "id", "in": "path", "required": True}],
                "responses": {
                    "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Point"}}}},
                    "404": ERROR,
                    "500": ERROR,
                },
            }
        },
        "/api/v1/points": {
            "post": {
                "tags": ["api", "points"],
                "summary": "Create",
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Point"}}}},
                "responses": {"201": {}, "409": ERROR},
            }
        },
    },
    "components": {"schemas": {"Point": POINT, "Colour": {"enum": ["red", "green"]}}},
}


def field_row(shape: dict[str, Any]) -> list[str]:
    """The cells of a field: name, kind, whether it is always there, note."""
    text = reference({"paths": {}, "components": {"schemas": {"Point": {"properties": {"f": shape}}}}})
    return _cells(next(line for line in text.splitlines() if line.startswith("| `f`")))


def operation_row(operation: dict[str, Any]) -> list[str]:
    """The cells of an operation: path, summary, parameters, body, answers."""
    whole = {"tags": ["points"], "summary": "Do", "responses": {}, **operation}
    text = reference({"paths": {"/api/v1/points": {"post": whole}}, "components": {"schemas": {}}})
    return _cells(next(line for line in text.splitlines() if line.startswith("| `POST")))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ({"$ref": "#/components/schemas/Point"}, "[Point](#point)"),
        ({"type": "string"}, "text"),
        ({"type": "string", "format": "date-time"}, "time"),
        ({"type": "integer"}, "integer"),
        ({"type": "array", "items": {"type": "string"}}, "list of text"),
        ({"type": "array"}, "list of anything"),
        ({"type": "object"}, "object"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "object of integer"),
        ({"type": "object", "additionalProperties": True}, "object"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "text or null"),
        ({"anyOf": [{"type": "string"}, {"type": "string"}]}, "text"),
        ({"enum": ["a", "b"]}, "`a`, `b`"),
        ({"const": "a"}, "`a`"),
        ({}, "anything"),
    ],
)
def test_a_value_is_said_in_a_few_words(shape: dict[str, Any], words: str) -> None:
    assert field_row(shape)[1] == words


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ([], ""),
        ([("id", "path", True)], ""),
        ([("limit", "query", False), ("cursor", "query", False)], "paged"),
        ([("name", "query", True), ("limit", "query", False), ("cursor", "query", False)], "`name` (needed), paged"),
        ([("limit", "query", False)], "`limit`"),
        ([("If-Match", "header", False), ("Idempotency-Key", "header", False)], "`If-Match`"),
    ],
    ids=["nothing", "the path's", "a list", "a list of something", "only a limit", "what holds everywhere is not said"],
)
def test_what_may_be_asked_is_said_once(parameters: list[tuple[str, str, bool]], words: str) -> None:
    given = [{"name": name, "in": place, "required": needed} for name, place, needed in parameters]
    assert operation_row({"parameters": given})[2] == words


def test_bodies_and_answers_are_told() -> None:
    post = DESCRIPTION["paths"]["/api/v1/points"]["post"]
    assert operation_row(post)[3:] == ["[Point](#point)", "201; 409"]
    assert operation_row({"requestBody": {"content": {"text/csv": {}}}})[3] == "a file"
    lines = {"responses": {"200": {"content": {"application/x-ndjson": {}}}, "500": ERROR}}
    assert operation_row(lines)[3:] == ["", "200 `application/x-ndjson`"]


@pytest.mark.parametrize(
    ("shape", "note"),
    [
        ({}, ""),
        ({"description": "So"}, "So"),
        ({"description": "So", "default": 3}, "So; default `3`"),
        ({"default": None, "examples": ["a", "b"]}, "such as `a`"),
        ({"default": []}, ""),
    ],
)
def test_a_field_has_its_note(shape: dict[str, Any], note: str) -> None:
    assert field_row(shape)[3] == note


def test_the_reference_is_whole_and_in_order() -> None:
    text = reference(DESCRIPTION)
    lines = text.splitlines()
    assert [line for line in lines if line.startswith("#")] == [
        "## Every path",
        "### points",
        "## Every shape",
        "### Colour",
        "### Point",
    ]
    assert "| `GET /points/{id}` | *added*: One point. |  |  | 200 [Point](#point); 404 |" in lines
    assert "| `POST /points` | *added*: Create |  | [Point](#point) | 201; 409 |" in lines
    assert "| `x` | integer | always | To the right; default `3`; such as `7` |" in lines
    assert "| `at` | time or null |  |  |" in lines
    assert "*added*: A place \\| with a line in between." in lines
    assert "`red`, `green`" in lines


def test_what_the_first_document_has_is_not_marked() -> None:
    run = {"properties": {"run_id": {"type": "string"}, "state": {"type": "string"}}}
    description = {
        "paths": {"/api/v1/runs": {"get": {"tags": ["runs"], "summary": "The runs", "responses": {}}}},
        "components": {"schemas": {"RunShape": run}},
    }
    lines = reference(description).splitlines()
    assert [line for line in lines if line.startswith("| `")] == [
        "| `GET /runs` | The runs |  |  |  |",
        "| `run_id` | text |  |  |",
        "| `state` | text |  | *added* |",
    ]


def test_only_what_is_below_the_marker_is_written_anew() -> None:
    page = f"# Mine\n\ntext\n{MARKER}old"
    once = update_page(page, DESCRIPTION)
    assert once.startswith(f"# Mine\n\ntext\n{MARKER}\n## Every path")
    assert "old" not in once
    assert update_page(once, DESCRIPTION) == once
    assert update_page("# New\n", DESCRIPTION).startswith(f"# New\n{MARKER}")
