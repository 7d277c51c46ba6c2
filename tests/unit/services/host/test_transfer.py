"""Documents in and out: all of them as lines, one as a file of any dialect, and a file as a new document."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import msgspec
import pytest

from hosts import a_dataset, hosted, question
from howsure.config import Settings
from howsure.errors import DatasetInvalid, InputError, UnknownName
from howsure.kit.plugins import builtin_kit
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.document import Document, DocumentKind
from howsure.policies.verdicts import builtin_profiles
from howsure.services.host import documents, transfer
from howsure.services.host.documents import DocumentChange, add_document, document_body
from howsure.services.host.transfer import (
    EXPORT_DIALECTS,
    ImportOutcome,
    export_as,
    export_documents,
    import_documents,
    read_import,
)
from howsure.services.workspace import Host, Workspace
from unit.services.host.test_documents import GOOD

BOT = "def answer(text): return text"
ACME, OTHER = AccessScope(organization_id="acme"), AccessScope(organization_id="other")


async def lines(host: Host, within: AccessScope, *kinds: DocumentKind) -> list[dict[str, Any]]:
    found = [line async for line in export_documents(host, kinds or list(DocumentKind), within)]
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in found)
    return [msgspec.json.decode(line) for line in found]


def as_content(entries: list[dict[str, Any]]) -> bytes:
    return b"".join(msgspec.json.encode(each) + b"\n" for each in entries)


async def imported(host: Host, content: bytes, author: str, within: AccessScope) -> list[ImportOutcome]:
    path = host.work.folder / "entries.jsonl"
    path.write_bytes(content)
    return await import_documents(host, path, author, within)


async def filled(host: Host, within: AccessScope) -> None:
    for kind, body in GOOD.items():
        await add_document(host, kind, DocumentChange(body=body, author="ana"), within, f"{kind.value}-1")


async def test_every_kind_goes_from_one_organisation_to_another(tmp_path: Path, database: str) -> None:
    async with hosted(tmp_path, BOT, database) as host:
        await filled(host, ACME)
        entries = await lines(host, ACME)
        assert {entry["kind"] for entry in entries} == {kind.value for kind in GOOD}
        told = await imported(host, as_content(entries), "bo", OTHER)
        assert [each.status for each in told] == ["created"] * len(GOOD), told
        for kind in GOOD:
            mine, theirs = [
                await host.store.documents.get(kind, f"{kind.value}-1", within=within) for within in (ACME, OTHER)
            ]
            assert document_body(mine) | document_body(theirs) == document_body(theirs)
            assert (theirs.name, theirs.edition.author, theirs.edition.note) == (mine.name, "bo", "imported")


async def test_what_is_there_already_stays_as_it_is(tmp_path: Path, database: str) -> None:
    async with hosted(tmp_path, BOT, database) as host:
        await filled(host, ACME)
        content = as_content(await lines(host, ACME))
        again = await imported(host, content, "bo", ACME)
        assert {each.status for each in again} == {"kept"}
        for kind in GOOD:
            assert (await host.store.documents.get(kind, f"{kind.value}-1", within=ACME)).latest == 1


async def test_a_dataset_carries_its_file(tmp_path: Path) -> None:
    async with hosted(tmp_path, BOT) as host:
        document = await a_dataset(host, question(1), question(2))
        (entry,) = await lines(host, EVERYWHERE, DocumentKind.DATASET)
        assert entry["document"]["content"].encode() == document.edition.body
        assert entry["document"]["dialect"] == "legal"
        (told,) = await imported(host, as_content([{**entry, "id": "copy"}]), "bo", EVERYWHERE)
        assert told == ImportOutcome(line=1, kind="dataset", id="copy", status="created")
        copied = await host.store.documents.get(DocumentKind.DATASET, "copy")
        assert copied.edition.body == document.edition.body
        assert await host.store.dataset_cases.count([copied]) == {("", "copy"): 2}


async def test_exports_go_over_as_many_pages_as_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "PAGE_SIZE", 2)
    async with hosted(tmp_path, BOT) as host:
        body = GOOD[DocumentKind.RUBRIC]
        for number in range(5):
            await add_document(host, DocumentKind.RUBRIC, DocumentChange(body=body), EVERYWHERE, f"r{number}")
        found = await lines(host, EVERYWHERE, DocumentKind.RUBRIC)
        assert sorted(entry["id"] for entry in found) == ["r0", "r1", "r2", "r3", "r4"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"{half", "not an entry"),
        (b"\xff\xfe", "not an entry"),
        (b"[" * 5000 + b"]" * 5000, "not an entry"),
        (b'{"kind": "poem", "id": "x", "document": {}}', "not an entry"),
        (b'{"kind": "rubric", "id": "x", "document": {}, "more": 1}', "not an entry"),
        (b'{"kind": "rubric", "id": "a b", "document": {}}', "the id must be"),
        (b'{"kind": "rubric", "id": "", "document": {}}', "the id must be"),
        (b'{"kind": "rubric", "id": "x", "document": {"name": 3}}', "must be text without U+0000"),
        (b'{"kind": "rubric", "id": "x", "document": {"name": "a\\u0000"}}', "U+0000 (NUL) stands in"),
        (b'{"kind": "rubric", "id": "x", "document": {"name": "n", "rules": ["A"]}}', "must be lists of objects"),
        (b'{"kind": "rubric", "id": "x", "document": {"name": "n", "rules": [{"id": "A"}]}}', "problems"),
        (
            b'{"kind": "dataset", "id": "x", "document": {"name": "n", "content": "{"}}',
            "n: not recognised: it is JSON",
        ),
        (b'{"kind": "dataset", "id": "x", "document": {"name": "n", "content": "{}", "dialect": "nope"}}', "nope"),
    ],
)
async def test_a_line_that_cannot_be_taken_says_why_and_the_next_is_taken(
    tmp_path: Path, line: bytes, told: str
) -> None:
    good = msgspec.json.encode({"kind": "rubric", "id": "good", "document": GOOD[DocumentKind.RUBRIC]})
    async with hosted(tmp_path, BOT) as host:
        bad, fine = await imported(host, b"\n" + line + b"\n\n" + good, "bo", EVERYWHERE)
        assert (bad.line, bad.status, fine.line, fine.status) == (2, "refused", 4, "created")
        assert told in bad.detail
        assert not [word for word in (str(tmp_path), gettempdir()) if word in f"{bad.detail}{bad.problems}"]


async def test_nobody_brings_in_what_is_for_agents_of_others(tmp_path: Path) -> None:
    ours = AccessScope(organization_id="acme", agent_ids=("a1",))
    entries = [
        {"kind": "rubric", "id": f"r-{agent}", "document": {**GOOD[DocumentKind.RUBRIC], "agent_id": agent}}
        for agent in ("a1", "a2", None)
    ]
    entries.append(
        {"kind": "dataset", "id": "d", "document": {"name": "n", "content": msgspec.json.encode(question(1)).decode()}}
    )
    async with hosted(tmp_path, BOT) as host:
        told = await imported(host, as_content(entries), "bo", ours)
        assert [each.status for each in told] == ["created", "refused", "refused", "refused"]
        assert all("may write for the agents a1 only" in each.detail for each in told[1:])
        assert [entry["id"] for entry in await lines(host, ours)] == ["r-a1"]
        assert await lines(host, OTHER) == []


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
    return await documents.add_document(host, kind, documents.DocumentChange(body={"name": "Set", **body}), EVERYWHERE)


async def test_as_it_is_nothing_is_lost(host: Host) -> None:
    made = await a_document(host, DocumentKind.TEST_SET, {"items": [CASE]})
    written = await export_as(host, made, "")
    assert written.report is None
    assert written.ending == ".json"
    assert json.loads(written.content)["items"] == [CASE]


@pytest.mark.parametrize("shape", ["golden", "test-set", "legal"])
async def test_a_test_set_as_every_shape_is_told_in_full(host: Host, shape: str) -> None:
    made = await a_document(host, DocumentKind.TEST_SET, {"items": [CASE]})
    written = await export_as(host, made, shape)
    assert written.report is not None
    assert (written.report.read, written.report.written) == (1, 1)
    assert b"hi" in written.content


async def test_a_shape_that_needs_more_says_what(host: Host) -> None:
    made = await a_document(host, DocumentKind.TEST_SET, {"items": [CASE]})
    with pytest.raises(InputError, match="an explain row needs scenario_id, agent_name"):
        await export_as(host, made, "explain")


async def test_a_question_set_is_written_out_too(host: Host) -> None:
    body = {"questions": [{"question": "Who?", "expected_answer": "Ana"}]}
    made = await a_document(host, DocumentKind.QUESTION_SET, body)
    written = await export_as(host, made, "legal")
    assert json.loads(written.content)["prompt"] == "Who?"


async def test_a_shape_that_nobody_knows_is_refused(host: Host) -> None:
    made = await a_document(host, DocumentKind.TEST_SET, {"items": [CASE]})
    with pytest.raises(UnknownName):
        await export_as(host, made, "spoon")


async def test_every_shape_offered_can_be_written(host: Host) -> None:
    assert set(EXPORT_DIALECTS) <= set(host.work.kit.dialects.names())


async def test_a_test_set_is_brought_in_as_it_is(host: Host) -> None:
    content = json.dumps({"items": [CASE]}).encode()
    assert await read_import(host, DocumentKind.TEST_SET, content, "mine.json") == {"name": "mine", "items": [CASE]}


async def test_a_name_in_the_file_wins(host: Host) -> None:
    content = json.dumps({"name": "Its own", "rules": []}).encode()
    assert (await read_import(host, DocumentKind.RUBRIC, content, "mine.json"))["name"] == "Its own"


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
    body = await read_import(host, DocumentKind.TEST_SET, json.dumps(line).encode() + b"\n", "law.jsonl")
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
        await read_import(host, kind, content, "x.json")


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd.json", "", ".", "a/b/c.json"])
async def test_the_name_of_a_file_leads_nowhere_else(host: Host, name: str) -> None:
    with pytest.raises((DatasetInvalid, InputError)):
        await read_import(host, DocumentKind.TEST_SET, b"nothing that is known", name)
