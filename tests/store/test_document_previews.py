"""Lists without bodies, on both databases: documents, versions, how cases ended and how rules held."""

from __future__ import annotations

from howsure.model.access_scope import AccessScope
from howsure.model.document import DocumentKind
from howsure.model.score import Part, Score, Unscored, UnscoredReason
from howsure.model.verdict import Verdict
from howsure.store.browse import CaseVerdict, PartTally
from howsure.store.documents import DocumentDraft
from howsure.store.pages import next_cursor
from howsure.store.store import Store
from store.making import OTHER, RUN, a_result, a_run

RUBRIC = DocumentKind.RUBRIC
ACME = AccessScope(organization_id="acme")


async def test_documents_are_listed_newest_first_page_by_page(store: Store) -> None:
    for name in ("a", "b", "c"):
        await store.documents.create(
            RUBRIC, name, DocumentDraft(body=b"{}", name=name, author="ana", note="first"), ACME
        )
    await store.documents.revise(RUBRIC, "b", DocumentDraft(body=b"{ }", author="bo", note="second"), within=ACME)
    await store.documents.create(RUBRIC, "gone", DocumentDraft(body=b"{}"), ACME)
    await store.documents.delete(RUBRIC, "gone", within=ACME)
    first = await store.documents.previews(RUBRIC, limit=2, within=ACME)
    rest = await store.documents.previews(RUBRIC, limit=2, before=next_cursor(first[-1]), within=ACME)
    assert [card.id for card in (*first, *rest)] == ["c", "b", "a"]
    assert (first[1].version, first[1].author, first[1].note, first[1].size) == (2, "bo", "second", 3)


async def test_only_what_one_may_see_is_listed(store: Store) -> None:
    await store.documents.create(RUBRIC, "r", DocumentDraft(body=b"{}", agent_id="moss"), ACME)
    assert await store.documents.previews(RUBRIC, within=AccessScope(organization_id="other")) == []
    assert await store.documents.previews(RUBRIC, within=AccessScope(organization_id="acme", agent_ids=("x",))) == []
    assert (
        len(await store.documents.previews(RUBRIC, within=AccessScope(organization_id="acme", agent_ids=("moss",))))
        == 1
    )
    assert await store.documents.previews(DocumentKind.TEST_SET, within=ACME) == []


async def test_versions_are_listed_newest_first(store: Store) -> None:
    await store.documents.create(RUBRIC, "r", DocumentDraft(body=b"{}", note="one"), ACME)
    for note in ("two", "three"):
        await store.documents.revise(RUBRIC, "r", DocumentDraft(body=b"{}", note=note), within=ACME)
    document = await store.documents.get(RUBRIC, "r", within=ACME)
    steps = await store.documents.changes(document, 2)
    assert [(step.version, step.note) for step in steps] == [(3, "three"), (2, "two")]
    assert [step.version for step in await store.documents.changes(document, before=2)] == [1]


async def test_how_cases_ended_and_rules_held(store: Store) -> None:
    part = Part(id="KIND", text="Is kind")
    held = Score(name="rubric", value=1.0, pass_mark=1.0, part=part)
    broken = Score(name="rubric", value=0.0, pass_mark=1.0, part=part)
    silent = Unscored(name="rubric", why=UnscoredReason.ERROR, reason="?", part=part)
    await store.create_run(a_run())
    await store.create_run(a_run(OTHER, name="second"))
    await store.save(RUN, [a_result(0, grades=(held,)), a_result(1, Verdict.FAILED, grades=(broken,))])
    await store.save(OTHER, [a_result(0, Verdict.ERRORED, grades=(silent,)), a_result(1, grades=(held,))])
    assert await store.browse.case_verdicts([RUN, OTHER], ["case-0"]) == [
        CaseVerdict(RUN, "case-0", "passed"),
        CaseVerdict(OTHER, "case-0", "errored"),
    ]
    found = await store.browse.part_tallies([RUN, OTHER], ["KIND", "OTHER"])
    assert sorted(found, key=lambda each: (each.run_id, each.outcome)) == [
        PartTally(RUN, "KIND", "failed", 1),
        PartTally(RUN, "KIND", "passed", 1),
        PartTally(OTHER, "KIND", "error", 1),
        PartTally(OTHER, "KIND", "passed", 1),
    ]
    assert await store.browse.part_tallies([], ["KIND"]) == []
    assert await store.browse.case_verdicts([RUN], []) == []
