"""The demo goes into the queue once, however often and by however many it is asked for."""

from __future__ import annotations

import asyncio
from pathlib import Path

from howsure.config import Settings
from howsure.kit.plugins import builtin_kit
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.document import DocumentKind
from howsure.model.job import RequestedState
from howsure.model.run import RunState
from howsure.policies.verdicts import builtin_profiles
from howsure.services.host import documents
from howsure.services.host.demo import load_demo
from howsure.services.host.documents import DocumentChange
from howsure.services.host.run_control import delete, stop
from howsure.services.workspace import Host, Workspace


def a_workplace(folder: Path) -> Workspace:
    return Workspace(Settings(database=str(folder / "howsure.db")), builtin_kit(builtin_profiles()), folder)


async def test_the_demo_is_queued_once_though_two_ask_at_the_same_time(tmp_path: Path) -> None:
    work = a_workplace(tmp_path)
    async with await work.store() as store:
        host = Host(work, store)
        first, second = await asyncio.gather(load_demo(host, EVERYWHERE), load_demo(host, EVERYWHERE))
        assert first == second
        runs = await store.runs()
        assert sorted(run.id for run in runs) == sorted(first)
        assert {run.state for run in runs} == {RunState.PENDING}
        assert (await store.queue.lengths()).queued == 5


async def test_each_organisation_has_a_demo_of_its_own(tmp_path: Path) -> None:
    work = a_workplace(tmp_path)
    async with await work.store() as store:
        host = Host(work, store)
        ours = await load_demo(host, AccessScope(organization_id="us"))
        theirs = await load_demo(host, AccessScope(organization_id="them"))
        assert set(ours).isdisjoint(theirs)
        assert len(await store.runs(within=AccessScope(organization_id="us"))) == 5


async def test_what_was_deleted_of_the_demo_comes_back(tmp_path: Path) -> None:
    work = a_workplace(tmp_path)
    async with await work.store() as store:
        host = Host(work, store)
        ids = await load_demo(host, EVERYWHERE)
        await stop(host, ids[0], RequestedState.CANCEL, EVERYWHERE)
        await delete(host, ids[0], EVERYWHERE)
        assert len(await store.runs()) == 4
        await load_demo(host, EVERYWHERE)
        assert len(await store.runs()) == 5


async def test_its_documents_are_in_the_library_and_runs_are_made_of_them(tmp_path: Path) -> None:
    work = a_workplace(tmp_path)
    async with await work.store() as store:
        host, ours = Host(work, store), AccessScope(organization_id="us")
        await load_demo(host, ours)
        await load_demo(host, AccessScope(organization_id="them"))
        kinds = (DocumentKind.TEST_SET, DocumentKind.RUBRIC, DocumentKind.AGENT, DocumentKind.DATASET)
        found = {kind: await store.documents.previews(kind, within=ours) for kind in kinds}
        assert {kind: len(cards) for kind, cards in found.items()} == dict(zip(kinds, (1, 1, 1, 2), strict=True))
        assert {card.name for card in found[DocumentKind.DATASET]} == {
            "moss_support_golden.json",
            "support-simulation.csv",
        }
        paths = {run.name: run.pins.datasets[0].path for run in await store.runs(within=ours)}
        assert paths["demo test-set"].startswith("document:test_set/")
        assert paths["demo golden"].startswith("document:dataset/")
        # Something lies beside these that they need.
        assert paths["demo legal"].endswith("/legal/compliance.jsonl")
        assert paths["demo explain"].endswith(".explain.jsonl")


async def test_what_somebody_made_of_a_document_stays(tmp_path: Path) -> None:
    work = a_workplace(tmp_path)
    async with await work.store() as store:
        host = Host(work, store)
        ids = await load_demo(host, EVERYWHERE)
        (rubric,) = await store.documents.previews(DocumentKind.RUBRIC)
        change = DocumentChange(body={"name": "Mine", "rules": [{"id": "A", "name": "Be brief", "severity": "low"}]})
        await documents.change_document(host, DocumentKind.RUBRIC, rubric.id, change, EVERYWHERE)
        await stop(host, ids[3], RequestedState.CANCEL, EVERYWHERE)
        await delete(host, ids[3], EVERYWHERE)
        await load_demo(host, EVERYWHERE)
        assert (await store.documents.get(DocumentKind.RUBRIC, rubric.id)).name == "Mine"
        run = await store.run(ids[3])
        assert run.pins.rubric is not None and len(run.pins.rubric.rules) == 5
