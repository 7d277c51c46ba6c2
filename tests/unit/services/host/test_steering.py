"""Runs that exist: stopped, gone on with, tried again, graded again, deleted, by those who may see them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hosts import a_dataset, completed, hosted, in_state, ordered, question, requested, working
from howsure.errors import Conflict, NotFound
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.document import DocumentKind
from howsure.model.job import JobState, RequestedState
from howsure.model.run import Run, RunState
from howsure.model.verdict import Verdict
from howsure.services.host.context import Host
from howsure.services.host.documents import DocumentChange, add_document
from howsure.services.host.run_control import delete, regrade, resume, retry, stop
from howsure.services.host.run_requests import submit_run
from store.making import a_run
from unit.services.host.test_documents import GOOD, RULE

BOT = """
import asyncio, pathlib

CURED = pathlib.Path(__file__).parent / "cured"

async def answer(text: str) -> str:
    await asyncio.sleep(0.005)
    if "break" in text and not CURED.exists():
        raise RuntimeError("the bot broke")
    return "Answer: A"
"""
OTHERS = AccessScope(organization_id="others")


async def finished(host: Host, *questions: dict[str, object], **order: object) -> Run:
    run = await ordered(host, await a_dataset(host, *questions), **order)
    async with working(host):
        return await in_state(host, run.id)


async def test_a_run_that_waits_is_stopped_at_once_and_goes_on(tmp_path: Path, database: str) -> None:
    async with hosted(tmp_path, BOT, database) as host:
        run = await ordered(host, await a_dataset(host, *map(question, range(3))))
        for wish, state in ((RequestedState.PAUSE, RunState.PAUSED), (RequestedState.CANCEL, RunState.CANCELLED)):
            assert await stop(host, run.id, wish, EVERYWHERE) is state
        await resume(host, run.id, EVERYWHERE)
        async with working(host):
            assert (await in_state(host, run.id)).counts.passed == 3


async def test_a_run_that_is_worked_on_keeps_what_is_finished(tmp_path: Path, database: str) -> None:
    async with hosted(tmp_path, BOT, database) as host:
        run = await ordered(host, await a_dataset(host, *map(question, range(200))), concurrency=1)
        async with working(host):
            await completed(host, run.id, 3)
            await stop(host, run.id, RequestedState.PAUSE, EVERYWHERE)
            paused = await in_state(host, run.id, RunState.PAUSED)
            assert 3 <= paused.counts.completed < 200
            await resume(host, run.id, EVERYWHERE)
            assert (await in_state(host, run.id)).counts.passed == 200


async def test_what_is_complete_has_nothing_to_go_on_with(tmp_path: Path) -> None:
    async with hosted(tmp_path, BOT) as host:
        run = await finished(host, question(1))
        with pytest.raises(Conflict, match="is complete: there is nothing to resume"):
            await resume(host, run.id, EVERYWHERE)
        with pytest.raises(Conflict, match="has no errored case to retry"):
            await retry(host, run.id, EVERYWHERE)
        for wish in (RequestedState.PAUSE, RequestedState.CANCEL):
            with pytest.raises(Conflict):
                await stop(host, run.id, wish, EVERYWHERE)


async def test_only_what_errored_is_tried_again(tmp_path: Path, database: str) -> None:
    async with hosted(tmp_path, BOT, database) as host:
        run = await finished(host, question(1), question(2, "break it"))
        assert (run.counts.passed, run.counts.errored) == (1, 1)
        before = {result.case.id: result.created_at for result in await host.store.results(run.id)}
        (tmp_path / "cured").touch()
        await retry(host, run.id, EVERYWHERE)
        async with working(host):
            again = await in_state(host, run.id)
        assert (again.counts.passed, again.counts.errored) == (2, 0)
        after = {result.case.id: result.created_at for result in await host.store.results(run.id)}
        assert after["q1"] == before["q1"]
        assert after["q2"] != before["q2"]


async def test_answers_are_graded_again_without_asking_for_them_again(tmp_path: Path, database: str) -> None:
    async with hosted(tmp_path, BOT, database) as host:
        await add_document(
            host, DocumentKind.TEST_SET, DocumentChange(body=GOOD[DocumentKind.TEST_SET]), EVERYWHERE, "t1"
        )
        await add_document(
            host, DocumentKind.RUBRIC, DocumentChange(body={"name": "Kindness", "rules": [RULE]}), EVERYWHERE, "r1"
        )
        first = (await submit_run(host, requested(test_set_id="t1", name="first", repeat=2), EVERYWHERE)).run
        async with working(host):
            await in_state(host, first.id)
            # Were the bot asked once more, it would break.
            (tmp_path / "host_bot.py").write_text("def answer(text): raise RuntimeError")
            again = (await regrade(host, first.id, requested(rubric_id="r1", name="second"), EVERYWHERE)).run
            done = await in_state(host, again.id)
        assert (done.name, done.counts.total, done.counts.errored) == ("second", 2, 0)
        assert done.pins.rubric is not None
        assert [result.verdict for result in await host.store.results(first.id)] != [Verdict.ERRORED] * 2
        answers = [[each.transcript and each.transcript.answer for each in await host.store.results(run.id)]
                   for run in (first, done)]  # fmt: skip
        assert answers[0] == answers[1] == ["Answer: A"] * 2


async def test_a_run_made_of_files_cannot_be_graded_again_here(tmp_path: Path) -> None:
    async with hosted(tmp_path, BOT) as host:
        await host.store.create_run(a_run())
        with pytest.raises(Conflict, match=r"this run was made from files .*legal\.jsonl"):
            await regrade(host, a_run().id, requested(), EVERYWHERE)


async def test_a_run_is_deleted_when_nobody_works_on_it(tmp_path: Path, database: str) -> None:
    async with hosted(tmp_path, BOT, database) as host:
        run = await ordered(host, await a_dataset(host, question(1)))
        with pytest.raises(Conflict, match="is queued: cancel it first"):
            await delete(host, run.id, EVERYWHERE)
        await stop(host, run.id, RequestedState.CANCEL, EVERYWHERE)
        await delete(host, run.id, EVERYWHERE)
        with pytest.raises(NotFound):
            await host.store.run(run.id)
        with pytest.raises(NotFound):
            await delete(host, run.id, EVERYWHERE)


async def test_a_run_of_the_command_line_is_deleted_when_it_has_ended(tmp_path: Path) -> None:
    async with hosted(tmp_path, BOT) as host:
        await host.store.create_run(a_run())
        await delete(host, a_run().id, EVERYWHERE)
        assert await host.store.runs(limit=9) == []


async def test_runs_of_others_cannot_be_steered(tmp_path: Path, database: str) -> None:
    async with hosted(tmp_path, BOT, database) as host:
        run = await ordered(host, await a_dataset(host, question(1)))
        for doing in (
            stop(host, run.id, RequestedState.CANCEL, OTHERS),
            resume(host, run.id, OTHERS),
            retry(host, run.id, OTHERS),
            regrade(host, run.id, requested(), OTHERS),
            delete(host, run.id, OTHERS),
        ):
            with pytest.raises(NotFound):
                await doing
        job = await host.store.queue.job(run.id)
        assert job is not None
        assert job.state is JobState.QUEUED
