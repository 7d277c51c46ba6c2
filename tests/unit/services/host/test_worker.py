"""Runs that a worker carries out: taken from the queue, finished, stopped, taken over, given back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hosts import requested
from howsure.config import ServiceSettings, Settings
from howsure.errors import Conflict, NotFound, PlanRefused
from howsure.kit.plugins import builtin_kit
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.document import Document, DocumentKind
from howsure.model.job import JobState, JobTask, RequestedState
from howsure.model.run import RunState
from howsure.model.run_request import RunRequest
from howsure.policies.verdicts import builtin_profiles
from howsure.services.host.run_requests import submit_run
from howsure.services.host.worker import Worker, WorkerPace
from howsure.services.workspace import Host, Workspace
from howsure.store.documents import DocumentDraft
from howsure.store.leases import this_owner

QUICK = WorkerPace(look=0.02, beat=0.02)
ORGANIZATION = AccessScope(organization_id="acme")
ANSWERS: dict[str, str] = {}

BOT = """
import asyncio, os, time

def answer(text: str) -> str:
    if os.path.exists("SLOW"):
        time.sleep(0.05)
    if "break" in text:
        raise RuntimeError("the bot broke")
    return f"You said {text}"
"""


def entry(number: int, message: str = "") -> dict[str, Any]:
    return {
        "item_id": f"i{number}",
        "type": "single_turn",
        "name": f"Greeting {number}",
        "inputs": {"message": message or f"hello {number}"},
        "expected": {"success_criteria": [f"The answer says hello {number}"]},
        "tags": [],
    }


@asynccontextmanager
async def hosted(folder: Path, **rules: Any) -> AsyncIterator[Host]:
    (folder / "worker_bot.py").write_text(BOT)
    service = ServiceSettings(**{"target": "bot", "bots": {"a1": "bot"}, **rules})
    blocks = {"bot": {"kind": "function", "function": "worker_bot:answer"}}
    settings = Settings(database=str(folder / "howsure.db"), targets=blocks, service=service)
    work = Workspace(settings, builtin_kit(builtin_profiles()), folder)
    async with await work.store() as store:
        yield Host(work, store)


async def a_test_set(host: Host, entries: list[dict[str, Any]], within: AccessScope = EVERYWHERE) -> Document:
    body = msgspec.json.encode({"items": entries})
    draft = DocumentDraft(body=body, agent_id="a1", name="Greetings")
    return await host.store.documents.create(DocumentKind.TEST_SET, f"ts-{len(entries)}", draft, within)


@asynccontextmanager
async def working(host: Host) -> AsyncIterator[None]:
    stop = asyncio.Event()
    task = asyncio.create_task(Worker(host, QUICK).run(stop))
    try:
        yield
    finally:
        stop.set()
        await task


async def until(true: Callable[[], Awaitable[bool]], seconds: float = 20.0) -> None:
    async with asyncio.timeout(seconds):
        while not await true():
            await asyncio.sleep(0.02)


async def ended(host: Host, run_id: str, *states: RunState) -> None:
    async def there() -> bool:
        return (await host.store.run(run_id)).state in (states or (RunState.COMPLETED,))

    await until(there)


async def test_an_ordered_run_is_carried_out(tmp_path: Path) -> None:
    async with hosted(tmp_path) as host:
        document = await a_test_set(host, [entry(1), entry(2), entry(3)])
        ordered = await submit_run(host, requested(agent_id="a1", test_set_id=document.id), EVERYWHERE)
        assert (ordered.run.state, ordered.run.counts.total) == (RunState.PENDING, 3)
        assert ordered.run.pins.datasets[0].path == "document:test_set/ts-3@1"
        async with working(host):
            await ended(host, ordered.run.id)
        run = await host.store.run(ordered.run.id)
        job = await host.store.queue.job(run.id)
        assert run.counts.completed == 3
        assert job is not None and job.state is JobState.DONE and job.tries == 1


async def test_a_run_belongs_to_the_organisation_that_ordered_it(tmp_path: Path) -> None:
    async with hosted(tmp_path) as host:
        document = await a_test_set(host, [entry(1)], ORGANIZATION)
        with pytest.raises(NotFound, match="there is no test set ts-1"):
            await submit_run(host, requested(test_set_id=document.id), AccessScope(organization_id="other"))
        ordered = await submit_run(host, requested(test_set_id=document.id), ORGANIZATION)
        assert ordered.run.organization_id == "acme"
        assert [run.id for run in await host.store.runs(within=ORGANIZATION)] == [ordered.run.id]
        assert await host.store.runs(within=AccessScope(organization_id="other")) == []


async def test_a_run_is_cancelled_while_it_waits(tmp_path: Path) -> None:
    async with hosted(tmp_path) as host:
        document = await a_test_set(host, [entry(1)])
        ordered = await submit_run(host, requested(test_set_id=document.id), EVERYWHERE)
        assert await host.store.queue.wish(ordered.run.id, RequestedState.CANCEL) is RunState.CANCELLED
        assert (await host.store.run(ordered.run.id)).state is RunState.CANCELLED
        assert await host.store.queue.claim("me", per_agent=9, overall=9) is None
        await host.store.queue.again(ordered.run.id, JobTask.ATTEMPT)
        async with working(host):
            await ended(host, ordered.run.id)


async def test_a_run_is_paused_and_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "SLOW").touch()
    async with hosted(tmp_path) as host:
        document = await a_test_set(host, [entry(number) for number in range(60)])
        ordered = await submit_run(host, requested(test_set_id=document.id, concurrency=1), EVERYWHERE)

        async def some_done() -> bool:
            return (await host.store.run(ordered.run.id)).counts.completed > 3

        async with working(host):
            await until(some_done)
            assert await host.store.queue.wish(ordered.run.id, RequestedState.PAUSE) is RunState.RUNNING
            await ended(host, ordered.run.id, RunState.PAUSED)
            done = (await host.store.run(ordered.run.id)).counts.completed
            assert 3 < done < 60
            await asyncio.sleep(0.2)
            assert (await host.store.run(ordered.run.id)).counts.completed == done
            (tmp_path / "SLOW").unlink()
            await host.store.queue.again(ordered.run.id, JobTask.ATTEMPT)
            with pytest.raises(Conflict, match="wait for its end, or cancel it"):
                await host.store.queue.again(ordered.run.id, JobTask.ATTEMPT)
            await ended(host, ordered.run.id)
        assert (await host.store.run(ordered.run.id)).counts.completed == 60


async def test_a_worker_that_stops_gives_its_runs_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "SLOW").touch()
    async with hosted(tmp_path) as host:
        document = await a_test_set(host, [entry(number) for number in range(40)])
        ordered = await submit_run(host, requested(test_set_id=document.id, concurrency=1), EVERYWHERE)

        async def some_done() -> bool:
            return (await host.store.run(ordered.run.id)).counts.completed > 1

        async with working(host):
            await until(some_done)
        job = await host.store.queue.job(ordered.run.id)
        assert job is not None and job.state is JobState.QUEUED
        assert (await host.store.run(ordered.run.id)).state is RunState.PENDING
        (tmp_path / "SLOW").unlink()
        async with working(host):
            await ended(host, ordered.run.id)


async def test_a_run_whose_worker_was_killed_is_taken_over(tmp_path: Path) -> None:
    async with hosted(tmp_path) as host:
        document = await a_test_set(host, [entry(1), entry(2)])
        ordered = await submit_run(host, requested(test_set_id=document.id), EVERYWHERE)
        gone = this_owner("worker-gone").split("/")
        gone[-3] = "999999999"
        job = await host.store.queue.claim("/".join(gone), per_agent=9, overall=9)
        assert job is not None and job.run_id == ordered.run.id
        async with working(host):
            await ended(host, ordered.run.id)
        assert (await host.store.run(ordered.run.id)).counts.completed == 2


async def test_a_run_that_has_ended_is_done_whatever_becomes_of_its_worker(tmp_path: Path) -> None:
    async with hosted(tmp_path) as host:
        document = await a_test_set(host, [entry(1)])
        ordered = await submit_run(host, requested(test_set_id=document.id), EVERYWHERE)
        await host.store.queue.claim("gone", per_agent=9, overall=9)
        end = datetime(2026, 11, 15, tzinfo=UTC)
        await host.store.set_state(ordered.run.id, RunState.COMPLETED, completed_at=end)
        assert await host.store.queue.reclaim("me/") == []
        job = await host.store.queue.job(ordered.run.id)
        assert job is not None and job.state is JobState.DONE
        assert (await host.store.run(ordered.run.id)).completed_at == end


async def test_a_run_that_cannot_be_carried_out_has_failed_with_the_reason(tmp_path: Path) -> None:
    async with hosted(tmp_path) as host:
        document = await a_test_set(host, [entry(1)])
        ordered = await submit_run(host, requested(test_set_id=document.id), EVERYWHERE)
    async with hosted(tmp_path) as host:
        host.work.settings.targets["bot"]["function"] = "worker_bot:missing"
        async with working(host):
            await ended(host, ordered.run.id, RunState.FAILED)
        run = await host.store.run(ordered.run.id)
        assert "missing" in run.error or "has changed" in run.error


async def test_errored_cases_are_tried_again(tmp_path: Path) -> None:
    async with hosted(tmp_path) as host:
        document = await a_test_set(host, [entry(1), entry(2, "break it")])
        ordered = await submit_run(host, requested(test_set_id=document.id), EVERYWHERE)
        async with working(host):
            await ended(host, ordered.run.id)
            assert (await host.store.run(ordered.run.id)).counts.errored == 1
            await host.store.queue.again(ordered.run.id, JobTask.RETRY)
            await ended(host, ordered.run.id)
        assert (await host.store.run(ordered.run.id)).counts.errored == 1


async def test_no_more_runs_of_an_agent_than_allowed_are_taken(tmp_path: Path) -> None:
    async with hosted(tmp_path) as host:
        document = await a_test_set(host, [entry(1)])
        draft = DocumentDraft(body=b'{"system_prompt": "Be kind."}', name="Bot", agent_id="a1")
        await host.store.documents.create(DocumentKind.AGENT, "a1", draft)
        for _ in range(3):
            await submit_run(host, requested(agent_id="a1", test_set_id=document.id), EVERYWHERE)
        queue = host.store.queue
        assert await queue.claim("one", per_agent=2, overall=9) is not None
        assert await queue.claim("two", per_agent=2, overall=9) is not None
        assert await queue.claim("three", per_agent=2, overall=9) is None
        assert await queue.claim("three", per_agent=9, overall=2) is None
        assert (await queue.lengths()).running == 2
        assert (await queue.lengths(AccessScope(organization_id="other"))).running == 0


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (requested(), "expected one of test_set_id, dataset_id and question_set_id, found 0"),
        (requested(test_set_id="ts-1", target="function:os:getcwd"), "is not one this service offers; offered: bot"),
        (requested(test_set_id="ts-1", target="command:rm -rf"), "is not one this service offers; offered: bot"),
        (requested(test_set_id="ts-1", target="http://10.0.0.1/x"), "the host 10.0.0.1 is not among those"),
        (
            requested(test_set_id="ts-1", judge="openai:gpt-4.1"),
            "judge 'openai:gpt-4.1' is not one this service offers",
        ),
        (requested(test_set_id="ts-1", simulator="openai:gpt-4.1"), "simulator 'openai:gpt-4.1' is not one"),
    ],
)
async def test_what_the_operator_does_not_allow_is_refused(tmp_path: Path, order: RunRequest, message: str) -> None:
    async with hosted(tmp_path) as host:
        await a_test_set(host, [entry(1)])
        with pytest.raises(PlanRefused) as caught:
            await submit_run(host, order, EVERYWHERE)
        assert message in str(caught.value)
        assert await host.store.runs() == []
