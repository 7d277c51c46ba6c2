"""What is older than it may be kept is taken out; what was deleted is gone for everybody at once, can be brought back
for some days, and loses its content then."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from api.served import serving
from databases import IN_TURN, a_database
from howsure.config import RetentionSettings, ServiceSettings, Settings
from howsure.errors import Conflict, NotFound
from howsure.kit import Kit
from howsure.main import program
from howsure.model.document import DocumentKind
from howsure.model.run import RunState
from howsure.services.host.retention import purge, purging_daily
from howsure.services.workspace import Workspace
from howsure.store import maintenance
from howsure.store.documents import DocumentDraft
from howsure.store.store import Store
from store.making import NOON, OTHER, RUN, a_result, a_run

DATASET = DocumentKind.DATASET
DEMO = Path(__file__).parents[2] / "src" / "howsure" / "demo"


@pytest.fixture(params=IN_TURN)
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with a_database(request.param, tmp_path) as where:
        yield where


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


async def fill(store: Store, run_id: str, created_at: datetime, state: RunState) -> None:
    await store.create_run(a_run(run_id, total=2, created_at=created_at))
    await store.save(run_id, [a_result(0), a_result(1)])
    await store.set_state(run_id, state)


async def test_each_kind_is_kept_as_long_as_it_may(location: str) -> None:
    clock = Clock()
    async with await Store.open(location, clock=clock) as store:
        await fill(store, RUN, NOON - timedelta(days=400), RunState.COMPLETED)
        await fill(store, OTHER, NOON - timedelta(days=40), RunState.COMPLETED)
        ages = {"runs": 365, "transcripts": 30}
        assert await store.retention.purge(ages, 30, dry_run=True) == {
            "deleted_documents": 0,
            "runs": 1,
            "transcripts": 2,
        }
        assert len(await store.runs()) == 2
        done = await store.retention.purge(ages, 30)
        assert done == {"deleted_documents": 0, "runs": 1, "transcripts": 1}
        (left,) = await store.runs()
        assert left.id == OTHER
        results = await store.results(OTHER)
        assert "Answer" not in repr(results)
        assert (await store.summary(OTHER)).run.counts.passed == 2
        assert await store.retention.purge(ages, 30) == {"deleted_documents": 0, "runs": 0, "transcripts": 0}
    assert (await maintenance.check(location)).healthy


async def test_a_run_that_is_not_over_is_kept(location: str) -> None:
    async with await Store.open(location, clock=lambda: NOON) as store:
        await store.create_run(a_run(total=2, created_at=NOON - timedelta(days=400)))
        assert (await store.retention.purge({"runs": 1}, 30))["runs"] == 0


async def test_what_was_deleted_can_be_brought_back_until_its_content_is_purged(location: str) -> None:
    clock = Clock()
    async with await Store.open(location, clock=clock) as store:
        draft = DocumentDraft(
            body=b"secret rows", name="d", author="Ms Example", note="from Ms Example", case_ids=("a",)
        )
        for key in ("d1", "d2"):
            await store.documents.create(DATASET, key, draft)
            await store.documents.delete(DATASET, key)
        with pytest.raises(NotFound):
            await store.documents.get(DATASET, "d1", 1)
        with pytest.raises(NotFound):
            await store.documents.versions(DATASET, "d1")
        assert (await store.documents.undelete(DATASET, "d1")).edition.body == b"secret rows"
        with pytest.raises(Conflict, match="is not deleted"):
            await store.documents.undelete(DATASET, "d1")
        clock.now += timedelta(days=29)
        assert (await store.retention.purge({}, 30))["deleted_documents"] == 0
        clock.now += timedelta(days=2)
        assert (await store.retention.purge({}, 30))["deleted_documents"] == 1
        with pytest.raises(NotFound, match="is gone"):
            await store.documents.undelete(DATASET, "d2")
        gone = await store.documents.get(DATASET, "d2", 1, deleted=True)
        assert (gone.edition.body, gone.edition.author, gone.edition.note) == (b"", "", "purged")
        assert (await store.documents.get(DATASET, "d1")).edition.body == b"secret rows"
    assert (await maintenance.check(location)).healthy


async def test_the_content_of_a_deleted_dataset_is_not_answered(tmp_path: Path, location: str) -> None:
    line = (DEMO / "legal" / "compliance.jsonl").read_bytes()
    async with serving(tmp_path, None, location) as call:
        made = await call("POST", "/datasets/upload?name=d.jsonl", line, content_type="application/octet-stream")
        assert made.status == 201, made.body
        path = f"/datasets/{made.body['dataset_id']}"
        assert (await call("GET", f"{path}/versions/1/content")).raw == line
        assert (await call("DELETE", path)).status == 204
        for ending in ("", "/versions", "/versions/1", "/versions/1/content", "/test-cases"):
            assert (await call("GET", path + ending)).status == 404, ending
        assert (await call("POST", f"{path}/undelete")).status == 200
        assert (await call("GET", f"{path}/versions/1/content")).raw == line
        assert (await call("POST", f"{path}/undelete")).status == 409


async def test_the_service_purges_at_its_start_and_again_after_each_period(tmp_path: Path, location: str) -> None:
    service = ServiceSettings(retention=RetentionSettings(runs="30d"))
    work = Workspace(Settings(database=location, service=service), Kit(), tmp_path)
    async with await Store.open(location) as store:
        await fill(store, RUN, NOON - timedelta(days=4000), RunState.COMPLETED)
        async with purging_daily(work, store, period=0.05):
            await until_purged(store, 1)
            await fill(store, OTHER, NOON - timedelta(days=4000), RunState.COMPLETED)
            await until_purged(store, 2)
        entries = [entry async for entry in store.audit.entries()]
    assert [(entry.action, entry.actor, entry.subject) for entry in entries] == [("purge", "service", "runs=1")] * 2


async def until_purged(store: Store, times: int) -> None:
    async with asyncio.timeout(20):
        while len([entry async for entry in store.audit.entries()]) < times:
            await asyncio.sleep(0.02)


async def test_copies_of_documents_that_runs_have_read_go_after_the_same_time(tmp_path: Path) -> None:
    work = Workspace(
        Settings(database=str(tmp_path / "x.db"), service=ServiceSettings(undelete_days=7)), Kit(), tmp_path
    )
    old, new = (work.data_folder / "documents" / name / "rows.jsonl" for name in ("old", "new"))
    for file in (old, new):
        file.parent.mkdir(parents=True)
        file.write_text("secret rows")
    before = datetime.now(UTC) - timedelta(days=8)
    os.utime(old, (before.timestamp(), before.timestamp()))
    async with await Store.open(work.location) as store:
        assert (await purge(work, store, dry_run=True))["files"] == 1
        assert old.exists()
        assert (await purge(work, store))["files"] == 1
    assert (old.parent.exists(), new.exists()) == (False, True)


def test_the_command_says_what_it_would_take_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "howsure.yaml").write_text(
        "service:\n  retention:\n    runs: 365d\n    audit: 30d\n  undelete_days: 7\n"
    )
    told = json.loads(CliRunner().invoke(program, ["db", "purge", "--dry-run", "--json"]).stdout)
    assert told == {"dry_run": True, "purged": {"deleted_documents": 0, "runs": 0, "audit": 0, "files": 0}}
    assert "nothing removed" in CliRunner().invoke(program, ["db", "purge"]).stdout
    (tmp_path / "howsure.yaml").write_text("service:\n  retention:\n    runs: a year\n")
    refused = CliRunner().invoke(program, ["db", "purge"])
    assert refused.exit_code == 2
    assert "`service.retention.runs`: expected days such as 365d, found 'a year'" in refused.stderr
