"""The document library: documents are checked before they are stored, and shown in their published shape."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hosts import hosted
from howsure.dialects.datasets import read_cases, validate
from howsure.errors import Conflict, DatasetInvalid, NotFound, PlanRefused
from howsure.kit.plugins import builtin_kit
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.document import Document, DocumentKind, DocumentVersion
from howsure.policies.verdicts import builtin_profiles
from howsure.services.host.documents import (
    DocumentChange,
    add_document,
    change_document,
    document_body,
    file_content,
    published_document,
    question_set_lines,
    restore_document,
    with_distinct_tools,
    with_entry_ids,
)

BOT = "def answer(text): return text"
RULE = {"id": "KIND", "name": "Be kind", "severity": "low", "description": "The answer is kind"}
ENTRY = {
    "type": "single_turn",
    "name": "Greeting",
    "inputs": {"message": "hello"},
    "expected": {"success_criteria": ["The answer says hello"]},
}
GOOD: dict[DocumentKind, dict[str, Any]] = {
    DocumentKind.RUBRIC: {"name": "Kindness", "rules": [RULE]},
    DocumentKind.TEST_SET: {"name": "Greetings", "items": [{"item_id": "i1", **ENTRY}]},
    DocumentKind.QUESTION_SET: {
        "name": "Questions",
        "questions": [{"question_id": "q1", "question": "Who?", "expected_answer": "Ada"}],
    },
    DocumentKind.AGENT: {"bot_name": "Moss", "system_prompt": "Be kind."},
    DocumentKind.GRADERS: {"name": "Criteria", "evaluators": [{"type": "criteria"}]},
}
BAD: list[tuple[DocumentKind, dict[str, Any], str]] = [
    (DocumentKind.RUBRIC, {"name": "x", "rules": [RULE, RULE]}, "KIND"),
    (DocumentKind.RUBRIC, {"name": "x", "rules": [{"id": "A", "name": "a", "severity": "grave"}]}, "severity"),
    (DocumentKind.TEST_SET, {"name": "x", "items": [{**ENTRY, "type": "dream"}]}, "type"),
    (DocumentKind.TEST_SET, {"name": "x", "items": [{"item_id": "a", **ENTRY}, {"item_id": "a", **ENTRY}]}, "a"),
    (DocumentKind.QUESTION_SET, {"name": "x", "questions": [{"question_id": "q", "question": "Who?"}]}, "needs"),
    (DocumentKind.GRADERS, {"name": "x", "evaluators": [{"type": "nobody"}]}, "there is no grader 'nobody'"),
    (DocumentKind.AGENT, {"bot_name": "x", "tools": [{"name": "no tool_name"}]}, "tool_name"),
]


@pytest.mark.parametrize("kind", list(GOOD), ids=lambda kind: kind.value)
async def test_a_document_is_kept_changed_and_restored(tmp_path: Path, database: str, kind: DocumentKind) -> None:
    async with hosted(tmp_path, BOT, database) as host:
        first = await add_document(host, kind, DocumentChange(body=GOOD[kind], author="ana"), EVERYWHERE, "k1")
        assert (first.id, first.edition.version, first.edition.author) == ("k1", 1, "ana")
        named = {"bot_name" if kind is DocumentKind.AGENT else "name": "Better", "team": "blue"}
        said = DocumentChange(body={**GOOD[kind], **named}, author="bo", note="better")
        second = await change_document(host, kind, "k1", said, EVERYWHERE)
        assert (second.edition.version, second.name, second.edition.note) == (2, "Better", "better")
        assert document_body(second)["team"] == "blue"
        third = await restore_document(host, kind, "k1", 1, DocumentChange(body={}, author="cy"), EVERYWHERE)
        assert (third.edition.version, third.edition.note) == (3, "version 1 restored")
        assert document_body(third) == document_body(first)


@pytest.mark.parametrize(("kind", "body", "told"), BAD, ids=[f"{kind.value}-{told}" for kind, _, told in BAD])
async def test_what_is_wrong_is_not_kept(tmp_path: Path, kind: DocumentKind, body: dict[str, Any], told: str) -> None:
    async with hosted(tmp_path, BOT) as host:
        with pytest.raises(DatasetInvalid) as raised:
            await add_document(host, kind, DocumentChange(body=body), EVERYWHERE, "k1")
        assert any(told in f"{each.field} {each.message} {each.found}" for each in raised.value.problems)
        with pytest.raises(NotFound):
            await host.store.documents.get(kind, "k1")


async def test_what_was_read_may_be_sent_back(tmp_path: Path) -> None:
    """Ids, versions and times in it are ours."""
    async with hosted(tmp_path, BOT) as host:
        first = await add_document(
            host, DocumentKind.RUBRIC, DocumentChange(body=GOOD[DocumentKind.RUBRIC]), EVERYWHERE, "k1"
        )
        forged = {**published_document(first), "rubric_id": "other", "version": 99, "created_at": "1999",
                  "latest_version": 7, "author": "mallory", "deleted": True, "changelog": ["x"]}  # fmt: skip
        second = await change_document(
            host, DocumentKind.RUBRIC, "k1", DocumentChange(body=forged, author="ana"), EVERYWHERE
        )
        assert document_body(second) == {**document_body(first), "description": None, "severity_definitions": {}}
        assert (second.id, second.edition.version, second.edition.author) == ("k1", 2, "ana")


async def test_an_agent_that_is_not_named_stays(tmp_path: Path) -> None:
    async with hosted(tmp_path, BOT) as host:
        body = {**GOOD[DocumentKind.RUBRIC], "agent_id": "a1"}
        await add_document(host, DocumentKind.RUBRIC, DocumentChange(body=body), EVERYWHERE, "k1")
        silent = await change_document(
            host, DocumentKind.RUBRIC, "k1", DocumentChange(body={"rules": [RULE]}), EVERYWHERE
        )
        assert (silent.agent_id, silent.name) == ("a1", "Kindness")
        moved = await change_document(
            host, DocumentKind.RUBRIC, "k1", DocumentChange(body={**body, "agent_id": "a2"}), EVERYWHERE
        )
        assert moved.agent_id == "a2"


async def test_nobody_writes_for_agents_that_are_not_theirs(tmp_path: Path, database: str) -> None:
    ours = AccessScope(organization_id="acme", agent_ids=("a1",))
    async with hosted(tmp_path, BOT, database) as host:
        for agent in ("a2", None):
            body = {**GOOD[DocumentKind.RUBRIC], "agent_id": agent}
            with pytest.raises(PlanRefused, match="may write for the agents a1 only"):
                await add_document(host, DocumentKind.RUBRIC, DocumentChange(body=body), ours, "k1")
        body = {**GOOD[DocumentKind.RUBRIC], "agent_id": "a1"}
        await add_document(host, DocumentKind.RUBRIC, DocumentChange(body=body), ours, "k1")
        with pytest.raises(PlanRefused):
            await change_document(
                host, DocumentKind.RUBRIC, "k1", DocumentChange(body={**body, "agent_id": "a2"}), ours
            )
        with pytest.raises(NotFound):
            await change_document(
                host, DocumentKind.RUBRIC, "k1", DocumentChange(body=body), AccessScope(organization_id="other")
            )


async def test_of_two_changes_to_the_same_version_one_is_refused(tmp_path: Path, database: str) -> None:
    async with hosted(tmp_path, BOT, database) as host:
        said = DocumentChange(body=GOOD[DocumentKind.RUBRIC])
        await add_document(host, DocumentKind.RUBRIC, said, EVERYWHERE, "k1")
        with pytest.raises(Conflict):
            await add_document(host, DocumentKind.RUBRIC, said, EVERYWHERE, "k1")
        await change_document(host, DocumentKind.RUBRIC, "k1", said, EVERYWHERE, expected=1)
        with pytest.raises(Conflict):
            await change_document(host, DocumentKind.RUBRIC, "k1", said, EVERYWHERE, expected=1)


@pytest.mark.parametrize(
    ("kind", "listed", "key"),
    [(DocumentKind.TEST_SET, "items", "item_id"), (DocumentKind.QUESTION_SET, "questions", "question_id")],
)
def test_what_has_no_id_gets_one_and_what_has_keeps_it(kind: DocumentKind, listed: str, key: str) -> None:
    body = with_entry_ids(kind, {listed: [{"name": "a"}, {key: "mine"}, {key: ""}, {key: None}]})
    ids = [each[key] for each in body[listed]]
    assert ids[1] == "mine"
    assert len(set(ids[:2])) == 2
    assert len(ids[0]) == 36
    assert with_entry_ids(DocumentKind.RUBRIC, {"rules": [{}]}) == {"rules": [{}]}
    assert with_entry_ids(kind, {listed: "no list"}) == {listed: "no list"}


def test_each_tool_is_there_once() -> None:
    tools = [{"id": "1", "tool_name": "refund"}, {"id": "1", "tool_name": "refund", "late": True},
             {"id": "2", "tool_name": "refund"}, {"tool_name": "search"}, {"tool_name": "search"}]  # fmt: skip
    assert with_distinct_tools({"tools": tools})["tools"] == [tools[0], tools[2], tools[3]]
    assert with_distinct_tools({"tools": None}) == {"tools": None}
    assert with_distinct_tools({}) == {}


NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = datetime(2026, 3, 2, 12, tzinfo=UTC)


def a_document(kind: DocumentKind, body: Any, **fields: Any) -> Document:
    raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
    edition = DocumentVersion(
        version=3, body=raw, sha256="0" * 64, created_at=LATER, author="ana", note="why", dialect="legal"
    )
    plain = {"id": "d1", "agent_id": "a1", "name": "Mine", "latest": 4, "created_at": NOON, "updated_at": LATER}
    return Document(**{**plain, "kind": kind, "edition": edition, **fields})


@pytest.mark.parametrize(
    ("kind", "key", "own"),
    [
        (DocumentKind.RUBRIC, "rubric_id", {"description": None, "severity_definitions": {}, "rules": []}),
        (DocumentKind.TEST_SET, "test_set_id", {"description": None, "items": []}),
        (DocumentKind.QUESTION_SET, "question_set_id", {"description": None, "questions": []}),
        (DocumentKind.GRADERS, "config_id", {"evaluators": []}),
    ],
)
def test_what_an_author_left_out_is_there_all_the_same(kind: DocumentKind, key: str, own: dict[str, Any]) -> None:
    assert published_document(a_document(kind, {})) == {
        key: "d1",
        "agent_id": "a1",
        "version": 3,
        "name": "Mine",
        **own,
        "created_at": "2026-03-01T12:00:00Z",
        "updated_at": "2026-03-02T12:00:00Z",
    }


def test_the_published_fields_come_in_their_order() -> None:
    shown = published_document(a_document(DocumentKind.RUBRIC, {"rules": [{"id": "A"}], "team": "blue"}))
    assert list(shown) == ["rubric_id", "agent_id", "version", "name", "description", "severity_definitions", "rules",
                           "team", "created_at", "updated_at"]  # fmt: skip
    assert (shown["rules"], shown["team"]) == ([{"id": "A"}], "blue")


def test_an_agent_is_shown_as_its_description() -> None:
    shown = published_document(a_document(DocumentKind.AGENT, {"system_prompt": "Be kind.", "colour": "green"}))
    assert (shown["bot_id"], shown["bot_name"], shown["system_prompt"], shown["colour"]) == (
        "d1",
        "Mine",
        "Be kind.",
        "green",
    )
    assert (shown["tools"], shown["llm_config"]) == ([], None)
    assert "version" not in shown


def test_what_is_of_no_agent_says_so() -> None:
    assert published_document(a_document(DocumentKind.RUBRIC, {}, agent_id=""))["agent_id"] is None


def test_a_dataset_is_shown_without_its_content() -> None:
    shown = published_document(a_document(DocumentKind.DATASET, b"not even JSON"))
    assert set(shown) == {"dataset_id", "agent_id", "version", "name", "created_at", "updated_at"}


def test_a_file_is_the_same_whenever_it_is_read() -> None:
    document = a_document(DocumentKind.RUBRIC, {"rules": []})
    later = msgspec.structs.replace(document, created_at=LATER, latest=9)
    assert file_content(document) == file_content(later)
    assert json.loads(file_content(document)) == {
        "rubric_id": "d1",
        "agent_id": "a1",
        "version": 3,
        "name": "Mine",
        "description": "",
        "severity_definitions": {},
        "rules": [],
    }


def test_a_file_of_no_agent_says_nothing_of_one() -> None:
    assert "agent_id" not in json.loads(file_content(a_document(DocumentKind.TEST_SET, {}, agent_id="")))


def test_a_dataset_is_its_own_file_byte_for_byte() -> None:
    assert (
        file_content(a_document(DocumentKind.DATASET, b"\xef\xbb\xbfid,text\r\n1,a\r\n"))
        == b"\xef\xbb\xbfid,text\r\n1,a\r\n"
    )


def test_a_body_is_what_its_author_wrote() -> None:
    assert document_body(a_document(DocumentKind.RUBRIC, {"rules": [], "team": "blue"})) == {
        "rules": [],
        "team": "blue",
    }


HEAD = {"schema_version": "legal_eval_v1", "id": "q1", "dataset": "House", "prompt": "Who are you?"}


def line(**given: Any) -> dict[str, Any]:
    body = {"questions": [{"question_id": "q1", "question": "Who are you?", **given}]}
    found: dict[str, Any] = json.loads(question_set_lines("House", body))
    return found


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"expected_answer": "A bot"},
            {"task_type": "reference_qa", "reference_answers": ["A bot"], "metadata": {"policy_id": "question_set_v1"}},
        ),
        (
            {"criteria": ["Says so", "Is kind"]},
            {
                "task_type": "rubric_qa",
                "rubric": [{"id": "c1", "title": "Says so"}, {"id": "c2", "title": "Is kind"}],
                "metadata": {"policy_id": "question_set_v1"},
            },
        ),
        (
            {"criteria": ["Says so"], "expected_answer": "A bot"},
            {
                "task_type": "rubric_qa",
                "rubric": [{"id": "c1", "title": "Says so"}],
                "reference_answers": ["A bot"],
                "metadata": {"policy_id": "question_set_v1"},
            },
        ),
        (
            {"expected_answer": "A bot", "context": "At the desk", "tags": ["intro"]},
            {
                "task_type": "reference_qa",
                "reference_answers": ["A bot"],
                "context": "At the desk",
                "metadata": {"policy_id": "question_set_v1", "tags": ["intro"]},
            },
        ),
    ],
    ids=["an answer", "criteria", "both", "context and tags"],
)
def test_a_question_becomes_a_line(given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert line(**given) == {**HEAD, **expected}


def test_a_question_set_without_a_name_is_called_something() -> None:
    body = {"questions": [{"question_id": "q1", "question": "Who?", "expected_answer": "Ada"}]}
    assert json.loads(question_set_lines("", body))["dataset"] == "questions"


def test_no_question_is_no_line() -> None:
    assert question_set_lines("House", {"questions": []}) == b""
    assert question_set_lines("House", {}) == b""


def test_what_is_written_is_a_dataset_that_reads_without_a_problem(tmp_path: Path) -> None:
    held: list[dict[str, Any]] = [
        {"expected_answer": "Ada"},
        {"criteria": ["Names Ada"]},
        {"criteria": ["Kind"], "expected_answer": "Ada"},
    ]
    questions = [
        {"question_id": f"q{number}", "question": f"Who is {number}?", **given} for number, given in enumerate(held)
    ]
    path = tmp_path / "questions.jsonl"
    path.write_bytes(question_set_lines("House", {"questions": questions}))
    legal = builtin_kit(builtin_profiles()).dialects["legal"]
    assert validate(path, legal).problems == ()
    assert [case.id for case in read_cases(path, legal)] == ["q0", "q1", "q2"]
