"""Documents written out as every shape and brought in again, with what is lost on the way said."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from howsure.config import Settings
from howsure.errors import DatasetInvalid, InputError, UnknownName
from howsure.kit.builtins import builtin_kit
from howsure.model.access_scope import EVERYWHERE
from howsure.model.document import Document, DocumentKind
from howsure.policies.profiles import builtin_profiles
from howsure.services.hosting import library
from howsure.services.hosting.exchanging import SHAPES, brought_in, written_as
from howsure.services.hosting.host import Host
from howsure.services.workspace import Workspace

CASE = {
    "item_id": "a",
    "type": "single_turn",
    "name": "A",
    "inputs": {"message": "hi"},
    "expected": {"success_criteria": ["Says hi"]},
}
GOLDEN = {"golden_questions": [{"id": "g1", "user_inputs": ["Who?"], "agents_evaluated": ["x"], "reference_data": {}}]}


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Host]:
    work = Workspace(Settings(database=str(tmp_path / "x.db")), builtin_kit(builtin_profiles()), tmp_path)
    async with await work.store() as store:
        yield Host(work, store)


async def a_document(host: Host, kind: DocumentKind, body: dict[str, Any]) -> Document:
    return await library.add(host, kind, library.Change(body={"name": "Set", **body}), EVERYWHERE)


async def test_as_it_is_nothing_is_lost(host: Host) -> None:
    made = await a_document(host, DocumentKind.TEST_SET, {"items": [CASE]})
    written = await written_as(host, made, "")
    assert written.report is None
    assert written.ending == ".json"
    assert json.loads(written.content)["items"] == [CASE]


@pytest.mark.parametrize("shape", ["golden", "test-set", "legal"])
async def test_a_test_set_as_every_shape_is_told_in_full(host: Host, shape: str) -> None:
    made = await a_document(host, DocumentKind.TEST_SET, {"items": [CASE]})
    written = await written_as(host, made, shape)
    assert written.report is not None
    assert (written.report.read, written.report.written) == (1, 1)
    assert b"hi" in written.content


async def test_a_shape_that_needs_more_says_what(host: Host) -> None:
    made = await a_document(host, DocumentKind.TEST_SET, {"items": [CASE]})
    with pytest.raises(InputError, match="an explain row needs scenario_id, agent_name"):
        await written_as(host, made, "explain")


async def test_a_question_set_is_written_out_too(host: Host) -> None:
    body = {"questions": [{"question": "Who?", "expected_answer": "Ana"}]}
    made = await a_document(host, DocumentKind.QUESTION_SET, body)
    written = await written_as(host, made, "legal")
    assert json.loads(written.content)["prompt"] == "Who?"


async def test_a_shape_that_nobody_knows_is_refused(host: Host) -> None:
    made = await a_document(host, DocumentKind.TEST_SET, {"items": [CASE]})
    with pytest.raises(UnknownName):
        await written_as(host, made, "spoon")


async def test_every_shape_offered_can_be_written(host: Host) -> None:
    assert set(SHAPES) <= set(host.work.kit.dialects.names())


async def test_a_test_set_is_brought_in_as_it_is(host: Host) -> None:
    content = json.dumps({"items": [CASE]}).encode()
    assert await brought_in(host, DocumentKind.TEST_SET, content, "mine.json") == {"name": "mine", "items": [CASE]}


async def test_a_name_in_the_file_wins(host: Host) -> None:
    content = json.dumps({"name": "Its own", "rules": []}).encode()
    assert (await brought_in(host, DocumentKind.RUBRIC, content, "mine.json"))["name"] == "Its own"


async def test_another_dialect_becomes_a_test_set(host: Host) -> None:
    line = {
        "schema_version": "legal_eval_v1",
        "id": "q1",
        "dataset": "d",
        "task_type": "reference_qa",
        "prompt": "Who?",
        "reference_answers": ["Ana"],
        "metadata": {},
    }
    body = await brought_in(host, DocumentKind.TEST_SET, json.dumps(line).encode() + b"\n", "law.jsonl")
    assert body["name"] == "law"
    assert body["items"][0]["inputs"]["message"] == "Who?"


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (DocumentKind.RUBRIC, b"{"),
        (DocumentKind.RUBRIC, b"[]"),
        (DocumentKind.RUBRIC, b"\xff\xfe"),
        (DocumentKind.TEST_SET, b"no shape at all"),
        (DocumentKind.TEST_SET, b""),
    ],
)
async def test_a_file_that_cannot_be_read_is_refused(host: Host, kind: DocumentKind, content: bytes) -> None:
    with pytest.raises(InputError):
        await brought_in(host, kind, content, "x.json")


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd.json", "", ".", "a/b/c.json"])
async def test_the_name_of_a_file_leads_nowhere_else(host: Host, name: str) -> None:
    with pytest.raises((DatasetInvalid, InputError)):
        await brought_in(host, DocumentKind.TEST_SET, b"nothing that is known", name)
