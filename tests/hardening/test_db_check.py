"""Break 13: one bad body made all results of a run unreadable, and `db check` said ok. Break 19: files
that others could read."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from databases import IN_TURN, a_database
from hardening.alterations import execute
from hardening.test_integrity import store_run
from howsure.main import program
from howsure.model.document import DocumentKind
from howsure.model.run import RunState
from howsure.model.verdict import Verdict
from howsure.store import maintenance
from howsure.store.documents import DocumentDraft
from howsure.store.reply_cache import ReplyCache
from howsure.store.result_lists import ResultFilter, ResultOrder
from howsure.store.store import Store
from store.making import OTHER, RUN, a_run


@pytest.fixture(params=IN_TURN)
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with a_database(request.param, tmp_path) as where:
        yield where


def bad_bytes(location: str) -> str:
    return "'\\x7b226261'::bytea" if "://" in location else "X'7b226261'"


async def test_one_bad_body_makes_one_result_unreadable(location: str) -> None:
    await store_run(location, 10)
    execute(location, [f"UPDATE results SET body = {bad_bytes(location)} WHERE position = 4"])
    async with await Store.open(location) as store:
        results = await store.results(RUN)
        assert [result.position for result in results] == list(range(10))
        assert [result.position for result in results if result.verdict is Verdict.DAMAGED] == [4]
        assert "`howsure db check` says more" in results[4].reasons[0]
        assert len(await store.costs(RUN)) == 9
        assert (await store.summary(RUN)).run.counts.completed == 10
    found = await maintenance.check(location)
    assert [(row.kind, row.position) for row in found.rows] == [("damaged", 4)]


async def test_a_verdict_that_is_none_is_damaged_and_not_errored(location: str) -> None:
    await store_run(location, 10)
    execute(location, ["UPDATE results SET verdict = 'passsed' WHERE position = 0", "UPDATE runs SET groups = NULL"])
    async with await Store.open(location) as store:
        counts = (await store.summary(RUN)).candidates[""]
        assert (counts.damaged, counts.errored, counts.completed, counts.pending) == (1, 2, 10, 0)


async def test_a_bad_run_does_not_hide_the_others(location: str) -> None:
    await store_run(location, 5)
    execute(location, [f"UPDATE runs SET body = {bad_bytes(location)}"])
    async with await Store.open(location) as store:
        (run,) = await store.runs()
        assert run.error.startswith("damaged: it cannot be read")
        assert len(await store.browse.run_previews()) == 1
    found = await maintenance.check(location)
    assert [(row.kind, row.table) for row in found.rows] == [("altered", "runs")]


def test_the_command_names_runs_and_positions_and_exits_with_2(location: str) -> None:
    asyncio.run(store_run(location, 10))
    execute(
        location, ["DELETE FROM results WHERE position IN (2, 3)", "UPDATE scores SET value = 0.5 WHERE position = 7"]
    )
    told = CliRunner().invoke(program, ["db", "check", "--database", location])
    assert told.exit_code == 2
    assert f"BAD  missing in results: run {RUN}, position 2" in told.stdout
    assert f"BAD  altered in results: run {RUN}, position 7" in told.stdout
    shown = json.loads(CliRunner().invoke(program, ["db", "check", "--database", location, "--json"]).stdout)
    missing = [row["position"] for row in shown["rows"] if row["kind"] == "missing" and row["table"] == "results"]
    assert (shown["healthy"], missing) == (False, [2, 3])


def test_damaged_results_are_counted_as_damaged_once_they_are_marked(location: str) -> None:
    asyncio.run(store_run(location, 10))
    bad = bad_bytes(location)
    execute(location, [f"UPDATE results SET body = {bad} WHERE position = 4",
                       f"UPDATE cases SET body = {bad} WHERE position = 5",
                       "UPDATE results SET verdict = 'passsed' WHERE position = 0"])  # fmt: skip
    told = CliRunner().invoke(program, ["db", "check", "--mark", "--database", location])
    assert told.exit_code == 2
    assert "3 results of 1 runs marked as damaged" in told.stdout
    shown = json.loads(CliRunner().invoke(program, ["show", RUN, "--database", location, "--json"]).stdout)
    counted = {word: shown[word] for word in ("passed", "failed", "errored", "skipped", "damaged", "pending", "total")}
    assert counted == {
        "passed": 2, "failed": 2, "errored": 2, "skipped": 1, "damaged": 3, "pending": 0, "total": 10
    }  # fmt: skip
    assert shown["candidates"][""]["damaged"] == 3
    text = CliRunner().invoke(program, ["show", RUN, "--database", location]).stdout
    assert "3 damaged" in text
    again = CliRunner().invoke(program, ["db", "check", "--database", location])
    assert "4 problems" in again.stdout  # the result of the damaged case is named, too
    entries = json.loads(CliRunner().invoke(program, ["audit", "list", "--json", "--database", location]).stdout)
    assert [(entry["action"], entry["subject"]) for entry in entries] == [("db-mark", f"{RUN} results=3")]


async def test_marking_hides_nothing_else_that_is_wrong(location: str) -> None:
    await store_run(location, 10)
    execute(location, [f"UPDATE results SET body = {bad_bytes(location)} WHERE position = 4",
                       "DELETE FROM results WHERE position = 7"])  # fmt: skip
    found = await maintenance.check(location)
    assert await maintenance.mark(location, found.rows) == {RUN: 1}
    again = {(row.kind, row.table, row.position) for row in (await maintenance.check(location)).rows}
    assert {("damaged", "results", 4), ("missing", "results", 7)} <= again


@pytest.mark.parametrize("column", ["case_id", "candidate", "verdict", "created_at", "fault", "flags", "id"])
async def test_text_that_is_not_utf8_damages_one_result(tmp_path: Path, column: str) -> None:
    path = tmp_path / "runs.db"
    await store_run(str(path), 10)
    execute(str(path), [f"UPDATE results SET {column} = CAST(X'61c328' AS TEXT) WHERE position = 4"])
    async with await Store.open(path) as store:
        damaged = [result.position for result in await store.results(RUN) if result.verdict is Verdict.DAMAGED]
        assert damaged == ([] if column in ("fault", "flags") else [4])
        page = await store.browse.result_page(RUN, ResultFilter(order=ResultOrder.FILE), None, 20)
        assert len(page.positions) == 10
        assert (await store.summary(RUN)).run.counts.total == 10
        assert len((await store.columns(RUN))[0].positions) == 10
        await store.set_state(RUN, RunState.FAILED, error="x")
    assert ("results", 4) in {(row.table, row.position) for row in (await maintenance.check(path)).rows}


@pytest.mark.parametrize("column", ["name", "agent_id", "state", "created_at", "completed_at", "error"])
async def test_a_run_whose_text_is_not_utf8_does_not_hide_the_others(tmp_path: Path, column: str) -> None:
    path = tmp_path / "runs.db"
    await store_run(str(path), 2)
    async with await Store.open(path) as store:
        await store.create_run(a_run(OTHER))
    execute(str(path), [f"UPDATE runs SET {column} = CAST(X'61c328' AS TEXT) WHERE id = '{RUN}'"])
    async with await Store.open(path) as store:
        assert {run.id for run in await store.runs()} == {RUN, OTHER}
        assert len(await store.browse.run_previews()) == 2
        assert len(await store.results(RUN)) == 2


async def test_a_changed_version_of_a_document_is_named(location: str) -> None:

    async with await Store.open(location) as store:
        await store.documents.create(DocumentKind.RUBRIC, "r", DocumentDraft(body=b"{}", name="r"))
        await store.documents.revise(DocumentKind.RUBRIC, "r", DocumentDraft(body=b"[]"))
        await store.documents.revise(DocumentKind.RUBRIC, "r", DocumentDraft(body=b"[1]"))
    assert (await maintenance.check(location)).healthy
    execute(location, ["UPDATE document_versions SET author = 'x' WHERE version = 1",
                       "DELETE FROM document_versions WHERE version = 2"])  # fmt: skip
    found = await maintenance.check(location)
    assert [(row.kind, row.id) for row in found.rows] == [
        ("altered", "rubric r version 1"),
        ("missing", "rubric r version 2"),
    ]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_files_are_their_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        path = tmp_path / ".howsure" / "howsure.db"
        async with await Store.open(path) as store:
            await store.runs()
            await store_run(str(path), 3)
            files = [each for each in path.parent.iterdir() if each.name.startswith("howsure.db")]
            assert len(files) == 3
            assert {mode(each) for each in files} == {0o600}
        assert mode(path.parent) == 0o700
        cache = ReplyCache.open(tmp_path / ".howsure" / "replies.db")
        cache.close()
        await maintenance.backup(path, tmp_path / "copy.db")
        assert (mode(tmp_path / ".howsure" / "replies.db"), mode(tmp_path / "copy.db")) == (0o600, 0o600)
    finally:
        os.umask(old)


async def test_a_file_that_others_could_read_is_tightened_when_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / ".howsure" / "howsure.db"
    async with await Store.open(path):
        pass
    path.chmod(0o644)
    path.parent.chmod(0o755)
    async with await Store.open(path):
        pass
    assert (mode(path), mode(path.parent)) == (0o600, 0o700)


async def test_a_shared_folder_of_the_users_own_stays_shared(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir(mode=0o755)
    (tmp_path / "shared").chmod(0o755)
    async with await Store.open(tmp_path / "shared" / "runs.db"):
        pass
    assert (mode(tmp_path / "shared"), mode(tmp_path / "shared" / "runs.db")) == (0o755, 0o600)
