"""Documents: versions that never change, two writers at once, what is deleted, whose they are, pages."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from typing import Any

import pytest
from msgspec.structs import replace

from howsure.errors import Conflict, InputError, NotFound
from howsure.model.access_scope import AccessScope
from howsure.model.document import DocumentKind
from howsure.store.documents import DocumentDraft, DocumentQuery
from howsure.store.pages import next_cursor
from howsure.store.store import Store
from store.conftest import Clock

RUBRIC, DATASET = DocumentKind.RUBRIC, DocumentKind.DATASET
ACME, OTHER = AccessScope(organization_id="acme"), AccessScope(organization_id="other")


def draft(body: str = "one", **fields: Any) -> DocumentDraft:
    return DocumentDraft(body=body.encode(), **{"name": "Kindness", "agent_id": "a1", **fields})


async def test_a_document_begins_at_version_one(kept: Store, clock: Clock) -> None:
    made = await kept.documents.create(RUBRIC, "r1", draft(author="me", note="first"))
    assert (made.id, made.kind, made.name, made.agent_id, made.latest) == ("r1", RUBRIC, "Kindness", "a1", 1)
    assert (made.created_at, made.updated_at, made.deleted_at) == (clock.now, clock.now, None)
    assert (made.edition.version, made.edition.body, made.edition.author) == (1, b"one", "me")
    assert (made.edition.note, made.edition.sha256) == ("first", sha256(b"one").hexdigest())


async def test_a_change_is_the_next_version_and_the_one_before_stays_as_it_was(kept: Store, clock: Clock) -> None:
    await kept.documents.create(RUBRIC, "r1", draft())
    clock.on(minutes=1)
    second = await kept.documents.revise(RUBRIC, "r1", DocumentDraft(body=b"two", name="Kinder"))
    assert (second.latest, second.edition.body, second.name, second.agent_id) == (2, b"two", "Kinder", "a1")
    assert (second.updated_at - second.created_at).total_seconds() == 60
    first = await kept.documents.get(RUBRIC, "r1", 1)
    assert (first.latest, first.edition.version, first.edition.body, first.name) == (2, 1, b"one", "Kindness")
    versions = await kept.documents.versions(RUBRIC, "r1")
    assert [each.edition.version for each in versions] == [2, 1]
    assert [each.edition.version for each in await kept.documents.versions(RUBRIC, "r1", before=2)] == [1]
    assert await kept.documents.versions(RUBRIC, "r1", before=1) == []


async def test_what_is_there_is_not_made_twice(kept: Store) -> None:
    await kept.documents.create(RUBRIC, "r1", draft())
    with pytest.raises(Conflict, match="the rubric r1 is there already"):
        await kept.documents.create(RUBRIC, "r1", draft("other"))
    assert (await kept.documents.get(RUBRIC, "r1")).edition.body == b"one"
    # The same id elsewhere is another document.
    await kept.documents.create(RUBRIC, "r1", draft("theirs"), OTHER)
    await kept.documents.create(DocumentKind.TEST_SET, "r1", draft("a test set"))


async def test_a_change_to_an_older_version_is_a_conflict(kept: Store) -> None:
    await kept.documents.create(RUBRIC, "r1", draft())
    await kept.documents.revise(RUBRIC, "r1", draft("two"), expected=1)
    with pytest.raises(Conflict, match="the rubric r1 is at version 2, not 1"):
        await kept.documents.revise(RUBRIC, "r1", draft("three"), expected=1)
    with pytest.raises(Conflict, match="is at version 2, not 1"):
        await kept.documents.delete(RUBRIC, "r1", expected=1)
    assert len(await kept.documents.versions(RUBRIC, "r1")) == 2


@pytest.mark.parametrize("expected", [None, 1], ids=["whatever it was", "if it is still the first"])
async def test_of_many_who_change_it_at_once_no_change_is_lost(kept: Store, expected: int | None) -> None:
    await kept.documents.create(RUBRIC, "r1", draft("0"))
    given = [f"change {number}" for number in range(1, 13)]
    changes = [kept.documents.revise(RUBRIC, "r1", draft(text), expected=expected) for text in given]
    ended = await asyncio.gather(*changes, return_exceptions=True)
    refused = [each for each in ended if isinstance(each, BaseException)]
    assert all(isinstance(each, Conflict) for each in refused)
    found = await kept.documents.versions(RUBRIC, "r1")
    assert [each.edition.version for each in found] == list(range(len(found), 0, -1))
    assert len(found) == 1 + len(given) - len(refused)
    assert len({each.edition.body for each in found}) == len(found)
    assert len(refused) == (0 if expected is None else len(given) - 1)


async def test_of_two_stores_neither_loses_the_others_change(location: str) -> None:
    async with await Store.open(location) as one, await Store.open(location) as two:
        await one.documents.create(RUBRIC, "r1", draft("0"))
        changes = [store.documents.revise(RUBRIC, "r1", draft(f"{n}")) for n in range(1, 6) for store in (one, two)]
        await asyncio.gather(*changes)
        assert [each.edition.version for each in await two.documents.versions(RUBRIC, "r1")] == list(range(11, 0, -1))


async def test_what_was_deleted_is_not_found_but_its_versions_are(kept: Store) -> None:
    await kept.documents.create(RUBRIC, "r1", draft())
    await kept.documents.delete(RUBRIC, "r1")
    with pytest.raises(NotFound, match=r"rubric r1"):
        await kept.documents.get(RUBRIC, "r1")
    for change in (kept.documents.revise(RUBRIC, "r1", draft("two")), kept.documents.delete(RUBRIC, "r1")):
        with pytest.raises(NotFound):
            await change
    assert await kept.documents.several(RUBRIC, DocumentQuery()) == []
    gone = await kept.documents.get(RUBRIC, "r1", 1, deleted=True)
    assert (gone.edition.body, gone.deleted_at is None) == (b"one", False)
    assert await kept.documents.labels(RUBRIC, ["r1", "r2"]) == {"r1": "Kindness (deleted)"}


async def test_an_id_that_two_organisations_have_is_not_called_by_the_name_of_either(kept: Store) -> None:
    await kept.documents.create(RUBRIC, "r1", draft(), ACME)
    await kept.documents.create(RUBRIC, "r1", draft(), OTHER)
    await kept.documents.create(RUBRIC, "r2", draft(), OTHER)
    assert await kept.documents.labels(RUBRIC, ["r1", "r2"]) == {"r2": "Kindness"}
    assert await kept.documents.labels(RUBRIC, ["r1", "r2"], ACME) == {"r1": "Kindness"}


@pytest.mark.parametrize(
    ("within", "seen"),
    [
        (AccessScope(), True),
        (ACME, True),
        (OTHER, False),
        (AccessScope(organization_id="acme", agent_ids=("a1", "a2")), True),
        (AccessScope(organization_id="acme", agent_ids=("a2",)), False),
        (AccessScope(organization_id="acme", agent_ids=()), False),
        (AccessScope(agent_ids=("a1",)), True),
    ],
    ids=["everything", "ours", "theirs", "its agent", "another agent", "no agent", "its agent, anywhere"],
)
async def test_what_one_may_not_see_is_not_there(kept: Store, within: AccessScope, seen: bool) -> None:
    documents = kept.documents
    await documents.create(RUBRIC, "r1", draft(), ACME)
    assert len(await documents.several(RUBRIC, DocumentQuery(), within)) == seen
    assert len(await documents.labels(RUBRIC, ["r1"], within)) == seen
    calls = [
        documents.get(RUBRIC, "r1", within=within),
        documents.versions(RUBRIC, "r1", within=within),
        documents.revise(RUBRIC, "r1", draft("two"), within=within),
        documents.delete(RUBRIC, "r1", within=within),
    ]
    for call in calls:
        if seen:
            await call
        else:
            with pytest.raises(NotFound, match="there is no rubric r1"):
                await call


async def test_lists_are_paged_newest_first(kept: Store, clock: Clock) -> None:
    for number in range(7):
        # Three of them in the same moment: their ids decide.
        clock.on(seconds=0 if number in (3, 4) else 1)
        await kept.documents.create(RUBRIC, f"r{number}", draft(agent_id="a1" if number % 2 else "a2"))
    seen: list[str] = []
    before: str | None = None
    while page := await kept.documents.several(RUBRIC, DocumentQuery(limit=2, before=before)):
        seen += [each.id for each in page]
        before = next_cursor(page[-1])
    assert seen == ["r6", "r5", "r4", "r3", "r2", "r1", "r0"]
    assert [each.id for each in await kept.documents.several(RUBRIC, DocumentQuery(agent_id="a1"))] == [
        "r5",
        "r3",
        "r1",
    ]
    assert await kept.documents.several(RUBRIC, DocumentQuery(name="Nobody")) == []
    with pytest.raises(InputError, match="is not a place in a list"):
        await kept.documents.several(RUBRIC, DocumentQuery(before="yesterday~r1"))


@pytest.mark.parametrize("body", [b"", b"\x00\xff", "Žluťoučký kůň \U0001f40e".encode(), b"x" * 3_000_000])
async def test_a_body_is_kept_byte_for_byte(kept: Store, body: bytes) -> None:
    await kept.documents.create(DATASET, "d1", DocumentDraft(body=body, name="n", dialect="legal"))
    found = await kept.documents.get(DATASET, "d1")
    assert (found.edition.body, found.edition.dialect) == (body, "legal")


async def test_a_version_that_never_was_is_named_with_the_newest(kept: Store) -> None:
    await kept.documents.create(RUBRIC, "r1", draft())
    with pytest.raises(NotFound, match="the rubric r1 has no version 4; the newest is 1"):
        await kept.documents.get(RUBRIC, "r1", 4)
    with pytest.raises(NotFound, match="there is no test set r1"):
        await kept.documents.get(DocumentKind.TEST_SET, "r1")


async def test_the_cases_of_datasets_are_counted(kept: Store) -> None:
    given = DocumentDraft(body=b"1", name="d", case_ids=("q1", "q2", "q3"))
    ours = await kept.documents.create(DATASET, "d1", given, ACME)
    theirs = await kept.documents.create(DATASET, "d1", replace(given, case_ids=("q1",)), OTHER)
    none = await kept.documents.create(DATASET, "d2", replace(given, case_ids=()), ACME)
    counted = await kept.dataset_cases.count([ours, theirs, none])
    assert counted == {("acme", "d1"): 3, ("other", "d1"): 1}
    assert await kept.dataset_cases.count([]) == {}


async def test_many_cases_are_noted_down(kept: Store) -> None:
    ids = tuple(f"case:{number}" for number in range(2_500))
    made = await kept.documents.create(DATASET, "d1", DocumentDraft(body=b"1", name="d", case_ids=ids))
    assert await kept.dataset_cases.count([made]) == {("", "d1"): 2_500}
    await kept.documents.revise(DATASET, "d1", DocumentDraft(body=b"2", case_ids=ids[:7]))
    assert await kept.dataset_cases.count([made]) == {("", "d1"): 7}


async def test_who_wrote_the_newest_versions_is_known_without_their_bodies(store: Store) -> None:
    documents = store.documents
    await documents.create(
        DocumentKind.RUBRIC, "r", DocumentDraft(body=b"1", author="ana", note="first"), AccessScope(organization_id="a")
    )
    await documents.create(
        DocumentKind.RUBRIC, "r", DocumentDraft(body=b"1", author="zoe"), AccessScope(organization_id="b")
    )
    for number in range(2, 6):
        draft = DocumentDraft(body=b"x", author="bo", note=f"n{number}")
        await documents.revise(DocumentKind.RUBRIC, "r", draft, within=AccessScope(organization_id="a"))
    newest = await documents.get(DocumentKind.RUBRIC, "r", within=AccessScope(organization_id="a"))
    told = await documents.changes(newest)
    assert [(each.version, each.author, each.note) for each in told] == [
        (5, "bo", "n5"),
        (4, "bo", "n4"),
        (3, "bo", "n3"),
        (2, "bo", "n2"),
        (1, "ana", "first"),
    ]
    assert told[0].created_at == newest.edition.created_at
    assert [each.version for each in await documents.changes(newest, 2)] == [5, 4]
