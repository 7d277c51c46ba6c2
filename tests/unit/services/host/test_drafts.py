"""Documents as text in an editor: starters, parts, and problems with their lines."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure.config import Settings
from howsure.errors import DatasetInvalid, Level
from howsure.kit.plugins import builtin_kit
from howsure.model.document import Document, DocumentKind, DocumentVersion
from howsure.policies.verdicts import builtin_profiles
from howsure.services.host.drafts import editable_text, field_lines, find_problems, line_of, parse_object, starter_text
from howsure.services.workspace import Host, Workspace
from store.making import NOON

RULE = {"id": "KIND", "name": "Is kind", "severity": "high", "description": "It stays friendly."}
CASE = {"item_id": "a", "type": "single_turn", "name": "A", "inputs": {"message": "hi"}}
EXPECTED = {"expected": {"success_criteria": ["Says hi"]}}


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Host]:
    work = Workspace(Settings(database=str(tmp_path / "x.db")), builtin_kit(builtin_profiles()), tmp_path)
    async with await work.store() as store:
        yield Host(work, store)


def document(body: bytes, kind: DocumentKind = DocumentKind.RUBRIC, **fields: Any) -> Document:
    edition = DocumentVersion(version=2, body=body, sha256="", created_at=NOON)
    plain = {"id": "r1", "agent_id": "moss", "name": "House", "latest": 2, "created_at": NOON, "updated_at": NOON}
    return Document(**{**plain, "kind": kind, "edition": edition, **fields})


def test_the_text_holds_what_its_author_wrote_and_no_more() -> None:
    text = editable_text(document(json.dumps({"rules": [RULE]}).encode()))
    assert json.loads(text) == {"name": "House", "agent_id": "moss", "rules": [RULE]}


def test_characters_that_turn_text_around_are_written_out() -> None:
    body = {"rules": [{**RULE, "name": "a\u202eb\x1b[31m"}]}
    text = editable_text(document(json.dumps(body).encode()))
    assert "\u202e" not in text
    assert "a\\u202eb\\u001b[31m" in text
    assert json.loads(text)["rules"] == body["rules"]


def test_a_dataset_is_its_file() -> None:
    assert editable_text(document(b'{"a": 1}\n', DocumentKind.DATASET)) == '{"a": 1}\n'


@pytest.mark.parametrize("kind", [DocumentKind.RUBRIC, DocumentKind.TEST_SET, DocumentKind.QUESTION_SET])
def test_a_new_one_begins_with_its_fields(kind: DocumentKind) -> None:
    assert list(json.loads(starter_text(kind)))[:2] == ["name", "agent_id"]


def test_a_new_dataset_begins_empty() -> None:
    assert starter_text(DocumentKind.DATASET) == ""


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("{", 1, "not valid JSON"),
        ('{\n"a": 1,\n"a": 2}', 3, "a"),
        ('{"a": NaN}', 1, "NaN"),
        ("[1]", 1, "one object is expected"),
        ("", 1, "JSON"),
    ],
    ids=["cut off", "a key twice", "no number", "a list", "empty"],
)
def test_what_is_no_object_is_refused(text: str, line: int, said: str) -> None:
    with pytest.raises(DatasetInvalid) as caught:
        parse_object(text)
    (problem, *_) = caught.value.problems
    assert problem.line == line
    assert said in problem.message


@pytest.mark.parametrize(
    ("kind", "body", "found"),
    [
        (DocumentKind.RUBRIC, {"name": "n", "rules": [RULE]}, []),
        (DocumentKind.RUBRIC, {"name": " ", "rules": [RULE]}, [(2, "name", Level.ERROR)]),
        (
            DocumentKind.RUBRIC,
            {"name": "n", "rules": [RULE, {**RULE, "name": "again"}]},
            [(11, "rules[1].id", Level.ERROR)],
        ),
        (
            DocumentKind.RUBRIC,
            {"name": "n", "rules": [{**RULE, "severity": "mild"}]},
            [(7, "rules[0].severity", Level.ERROR)],
        ),
        (
            DocumentKind.RUBRIC,
            {"name": "n", "rules": [{**RULE, "descriptoin": "x"}]},
            [(9, "rules[0].descriptoin", Level.WARNING)],
        ),
        (DocumentKind.TEST_SET, {"name": "n", "items": [{**CASE, **EXPECTED}]}, []),
        (
            DocumentKind.TEST_SET,
            {"name": "n", "items": [{**CASE, **EXPECTED, "type": "telepathy"}]},
            [(6, "items[0].type", Level.ERROR)],
        ),
        (DocumentKind.QUESTION_SET, {"name": "n", "questions": [{"question": "?", "expected_answer": "!"}]}, []),
        (
            DocumentKind.QUESTION_SET,
            {"name": "n", "questions": [{"question": "?"}]},
            [(4, "questions[0]", Level.ERROR)],
        ),
    ],
)
async def test_problems_stand_on_their_lines(
    host: Host, kind: DocumentKind, body: dict[str, Any], found: list[tuple[int, str, Level]]
) -> None:
    problems = await find_problems(host, kind, json.dumps(body, indent=2))
    assert [(each.line, each.field, each.level) for each in problems] == found


@pytest.mark.parametrize(
    "body",
    [
        {"name": "n", "questions": [1, 2]},
        {"name": "n", "questions": {"a": 1}},
        {"name": "n", "questions": None},
        {"name": ["n"], "questions": "?"},
    ],
)
async def test_values_of_the_wrong_kind_are_problems_never_crashes(host: Host, body: dict[str, Any]) -> None:
    problems = await find_problems(host, DocumentKind.QUESTION_SET, json.dumps(body))
    assert problems


@pytest.mark.parametrize(
    ("kind", "listed"), [(DocumentKind.RUBRIC, "rules"), (DocumentKind.TEST_SET, "items")], ids=["rubric", "test set"]
)
@pytest.mark.parametrize("value", [None, 1, "x", {}, [], [None], [1], ["x"], [[]], [{}]])
async def test_odd_lists_are_problems_never_crashes(host: Host, kind: DocumentKind, listed: str, value: Any) -> None:
    problems = await find_problems(host, kind, json.dumps({"name": "n", listed: value}))
    assert [each for each in problems if each.level is Level.ERROR]


async def test_a_file_of_no_known_shape_is_said_to_be_one(host: Host) -> None:
    problems = await find_problems(host, DocumentKind.DATASET, '{"made": "up"}\n', "x.jsonl")
    assert problems
    assert all("/tmp" not in str(each) for each in problems)


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ('{"a": 1}', "a", 1),
        ('{\n"a": {\n"b": 2}}', "a.b", 3),
        ('{"a": [1,\n2,\n3]}', "a[2]", 3),
        ('{"a": "\\n\\n",\n"b": 1}', "b", 2),
        ('{"a": "}{][\\"",\n"b": 1}', "b", 2),
        ('\n\n{"a": 1}', "a", 3),
        ('{"x y": 1,\n"z": {"": 2}}', 'z[""]', 2),
        ('{"a": [],\n"b": {},\n"c": true}', "c", 3),
        ('{"a": [[1,\n[2]]]}', "a[0][1][0]", 2),
    ],
)
def test_a_field_is_found_on_its_line(text: str, path: str, line: int) -> None:
    assert field_lines(text)[path] == line


@pytest.mark.parametrize(
    ("field", "line"),
    [("a.b.c", 2), ("a.b[3].d", 2), ('a.b["x y"]', 2), ("a", 1), ("z", 1), ("", 1), ("[", 1)],
)
def test_what_is_missing_is_where_it_should_stand(field: str, line: int) -> None:
    assert line_of({"a": 1, "a.b": 2}, field) == line


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
