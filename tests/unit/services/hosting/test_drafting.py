"""Documents as text: what a new one begins with, what is edited, and every problem on its line."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from howsure.config import Settings
from howsure.errors import DatasetInvalid, Level
from howsure.kit.builtins import builtin_kit
from howsure.model.document import Document, DocumentKind, Edition
from howsure.policies.profiles import builtin_profiles
from howsure.services.hosting.drafting import object_in, problems_in, starter, text_of
from howsure.services.hosting.host import Host
from howsure.services.hosting.text_lines import field_lines, line_of
from howsure.services.workspace import Workspace
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
    edition = Edition(version=2, body=body, sha256="", created_at=NOON)
    plain = {"id": "r1", "agent_id": "moss", "name": "House", "latest": 2, "created_at": NOON, "updated_at": NOON}
    return Document(**{**plain, "kind": kind, "edition": edition, **fields})


def test_the_text_holds_what_its_author_wrote_and_no_more() -> None:
    text = text_of(document(json.dumps({"rules": [RULE]}).encode()))
    assert json.loads(text) == {"name": "House", "agent_id": "moss", "rules": [RULE]}


def test_characters_that_turn_text_around_are_written_out() -> None:
    body = {"rules": [{**RULE, "name": "a\u202eb\x1b[31m"}]}
    text = text_of(document(json.dumps(body).encode()))
    assert "\u202e" not in text
    assert "a\\u202eb\\u001b[31m" in text
    assert json.loads(text)["rules"] == body["rules"]


def test_a_dataset_is_its_file() -> None:
    assert text_of(document(b'{"a": 1}\n', DocumentKind.DATASET)) == '{"a": 1}\n'


@pytest.mark.parametrize("kind", [DocumentKind.RUBRIC, DocumentKind.TEST_SET, DocumentKind.QUESTION_SET])
def test_a_new_one_begins_with_its_fields(kind: DocumentKind) -> None:
    assert list(json.loads(starter(kind)))[:2] == ["name", "agent_id"]


def test_a_new_dataset_begins_empty() -> None:
    assert starter(DocumentKind.DATASET) == ""


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
        object_in(text)
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
    problems = await problems_in(host, kind, json.dumps(body, indent=2))
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
    problems = await problems_in(host, DocumentKind.QUESTION_SET, json.dumps(body))
    assert problems


@pytest.mark.parametrize(
    ("kind", "listed"), [(DocumentKind.RUBRIC, "rules"), (DocumentKind.TEST_SET, "items")], ids=["rubric", "test set"]
)
@pytest.mark.parametrize("value", [None, 1, "x", {}, [], [None], [1], ["x"], [[]], [{}]])
async def test_odd_lists_are_problems_never_crashes(host: Host, kind: DocumentKind, listed: str, value: Any) -> None:
    problems = await problems_in(host, kind, json.dumps({"name": "n", listed: value}))
    assert [each for each in problems if each.level is Level.ERROR]


async def test_a_file_of_no_known_shape_is_said_to_be_one(host: Host) -> None:
    problems = await problems_in(host, DocumentKind.DATASET, '{"made": "up"}\n', "x.jsonl")
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
