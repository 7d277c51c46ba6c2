"""Documents out as lines and in again: what was exported is the same elsewhere, and nobody takes what is not theirs."""

from __future__ import annotations

from pathlib import Path
from tempfile import gettempdir
from typing import Any

import msgspec
import pytest

from hosts import a_dataset, hosted, question
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.document import DocumentKind
from howsure.services.hosting import bulk
from howsure.services.hosting.bulk import Imported, exported, imported
from howsure.services.hosting.host import Host
from howsure.services.hosting.library import Change, add
from howsure.services.hosting.shapes import body_of
from unit.services.hosting.test_library import GOOD

BOT = "def answer(text): return text"
ACME, OTHER = AccessScope(organization_id="acme"), AccessScope(organization_id="other")


async def lines(host: Host, within: AccessScope, *kinds: DocumentKind) -> list[dict[str, Any]]:
    found = [line async for line in exported(host, kinds or list(DocumentKind), within)]
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in found)
    return [msgspec.json.decode(line) for line in found]


def as_content(entries: list[dict[str, Any]]) -> bytes:
    return b"".join(msgspec.json.encode(each) + b"\n" for each in entries)


async def filled(host: Host, within: AccessScope) -> None:
    for kind, body in GOOD.items():
        await add(host, kind, Change(body=body, author="ana"), within, f"{kind.value}-1")


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
            assert body_of(mine) | body_of(theirs) == body_of(theirs)
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
        assert told == Imported(line=1, kind="dataset", id="copy", status="created")
        copied = await host.store.documents.get(DocumentKind.DATASET, "copy")
        assert copied.edition.body == document.edition.body
        assert await host.store.dataset_cases.count([copied]) == {("", "copy"): 2}


async def test_exports_go_over_as_many_pages_as_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "PAGE", 2)
    async with hosted(tmp_path, BOT) as host:
        body = GOOD[DocumentKind.RUBRIC]
        for number in range(5):
            await add(host, DocumentKind.RUBRIC, Change(body=body), EVERYWHERE, f"r{number}")
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
        (b'{"kind": "rubric", "id": "x", "document": {"name": "a\\u0000"}}', "must be text without U+0000"),
        (b'{"kind": "rubric", "id": "x", "document": {"name": "n", "rules": ["A"]}}', "must be lists of objects"),
        (b'{"kind": "rubric", "id": "x", "document": {"name": "n", "rules": [{"id": "A"}]}}', "problems"),
        (
            b'{"kind": "dataset", "id": "x", "document": {"name": "n", "content": "{"}}',
            "dataset.json: not recognised as any",
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
