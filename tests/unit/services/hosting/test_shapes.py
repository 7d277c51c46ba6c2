"""Documents in their published shapes, and as the files they would be."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from howsure.model.document import Document, DocumentKind, Edition
from howsure.services.hosting.shapes import body_of, file_of, whole

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = datetime(2026, 3, 2, 12, tzinfo=UTC)


def a_document(kind: DocumentKind, body: Any, **fields: Any) -> Document:
    raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
    edition = Edition(version=3, body=raw, sha256="0" * 64, created_at=LATER, author="ana", note="why", dialect="legal")
    plain = {"id": "d1", "agent_id": "a1", "name": "Mine", "latest": 4, "created_at": NOON, "updated_at": LATER}
    return Document(**{**plain, "kind": kind, "edition": edition, **fields})


@pytest.mark.parametrize(
    ("kind", "key", "own"),
    [
        (DocumentKind.RUBRIC, "rubric_id", {"description": "", "severity_definitions": {}, "rules": []}),
        (DocumentKind.TEST_SET, "test_set_id", {"description": "", "items": []}),
        (DocumentKind.QUESTION_SET, "question_set_id", {"description": "", "questions": []}),
        (DocumentKind.GRADERS, "config_id", {"evaluators": []}),
    ],
)
def test_what_an_author_left_out_is_there_all_the_same(kind: DocumentKind, key: str, own: dict[str, Any]) -> None:
    assert whole(a_document(kind, {})) == {
        key: "d1",
        "agent_id": "a1",
        "version": 3,
        "name": "Mine",
        **own,
        "created_at": "2026-03-01T12:00:00Z",
        "updated_at": "2026-03-02T12:00:00Z",
    }


def test_the_published_fields_come_in_their_order() -> None:
    shown = whole(a_document(DocumentKind.RUBRIC, {"rules": [{"id": "A"}], "team": "blue"}))
    assert list(shown) == ["rubric_id", "agent_id", "version", "name", "description", "severity_definitions", "rules",
                           "team", "created_at", "updated_at"]  # fmt: skip
    assert (shown["rules"], shown["team"]) == ([{"id": "A"}], "blue")


def test_an_agent_is_shown_as_its_description() -> None:
    shown = whole(a_document(DocumentKind.AGENT, {"system_prompt": "Be kind.", "colour": "green"}))
    assert (shown["bot_id"], shown["bot_name"], shown["system_prompt"], shown["colour"]) == (
        "d1",
        "Mine",
        "Be kind.",
        "green",
    )
    assert (shown["tools"], shown["llm_config"]) == ([], None)
    assert "version" not in shown


def test_what_is_of_no_agent_says_so() -> None:
    assert whole(a_document(DocumentKind.RUBRIC, {}, agent_id=""))["agent_id"] is None


def test_a_dataset_is_shown_without_its_content() -> None:
    shown = whole(a_document(DocumentKind.DATASET, b"not even JSON"))
    assert set(shown) == {"dataset_id", "agent_id", "version", "name", "created_at", "updated_at"}


def test_a_file_is_the_same_whenever_it_is_read() -> None:
    document = a_document(DocumentKind.RUBRIC, {"rules": []})
    later = msgspec.structs.replace(document, created_at=LATER, latest=9)
    assert file_of(document) == file_of(later)
    assert json.loads(file_of(document)) == {
        "rubric_id": "d1",
        "agent_id": "a1",
        "version": 3,
        "name": "Mine",
        "description": "",
        "severity_definitions": {},
        "rules": [],
    }


def test_a_file_of_no_agent_says_nothing_of_one() -> None:
    assert "agent_id" not in json.loads(file_of(a_document(DocumentKind.TEST_SET, {}, agent_id="")))


def test_a_dataset_is_its_own_file_byte_for_byte() -> None:
    assert (
        file_of(a_document(DocumentKind.DATASET, b"\xef\xbb\xbfid,text\r\n1,a\r\n"))
        == b"\xef\xbb\xbfid,text\r\n1,a\r\n"
    )


def test_a_body_is_what_its_author_wrote() -> None:
    assert body_of(a_document(DocumentKind.RUBRIC, {"rules": [], "team": "blue"})) == {"rules": [], "team": "blue"}
