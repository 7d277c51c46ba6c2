"""What can be done to a run that exists: pause, cancel, resume, retry, grade again, delete."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from hosts import a_dataset, completed, hosted, in_state, ordered, question, requested, working
from howsure.config import ServiceSettings, Settings
from howsure.errors import Conflict, NotFound, PlanRefused
from howsure.kit.plugins import builtin_kit
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.document import DocumentKind
from howsure.model.job import JobState, RequestedState
from howsure.model.run import DatasetPin, Run, RunState
from howsure.model.verdict import Verdict
from howsure.policies.verdicts import builtin_profiles
from howsure.services.demo import DEMOS, demo_request
from howsure.services.host import documents
from howsure.services.host.documents import DocumentChange, add_document
from howsure.services.host.run_control import delete, regrade, resume, retry, rubric_key, save_rubric, stop
from howsure.services.host.run_requests import submit_run
from howsure.services.host.worker import Worker, WorkerPace
from howsure.services.import_results import find_results, import_file
from howsure.services.run.start import start
from howsure.services.workspace import Host, Workspace
from store.making import a_run
from tool_logs import inspect_json, inspect_sample
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


async def test_an_imported_run_is_graded_again_and_not_tried_again(tmp_path: Path, database: str) -> None:
    choices: dict[str, Any] = {"choices": ["red", "blue"], "target": "B", "output": {}}
    said = [[{"role": "assistant", "content": f"Answer: {letter}"}] for letter in "BA"]
    samples = [inspect_sample(id, "C", messages=said[id], **choices) for id in (0, 1)]
    samples.append(inspect_sample(2, "C", error="timed out"))
    log = inspect_json(tmp_path / "log.json", samples)
    async with hosted(tmp_path, BOT, database) as host:
        (found,) = find_results([str(log)], host.work.kit)
        run = (await import_file(host.store, found)).summary.run
        log.unlink()
        with pytest.raises(Conflict, match="was imported from inspect: it is not made here"):
            await retry(host, run.id, EVERYWHERE)
        queued = await regrade(host, run.id, requested(name="ours"), EVERYWHERE)
        async with working(host):
            again = await in_state(host, queued.run.id)
        assert (again.counts.passed, again.counts.failed, again.counts.errored) == (1, 1, 1)
        kept = await host.store.run(run.id)
        assert (kept.counts.passed, kept.counts.errored) == (2, 1)


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


TEST_SET = next(demo for demo in DEMOS if demo.dialect == "test-set")
LEGAL = next(demo for demo in DEMOS if demo.dialect == "legal")


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Host]:
    settings = Settings(database=str(tmp_path / "howsure.db"), service=ServiceSettings(judges=("openai:gpt-9",)))
    work = Workspace(settings, builtin_kit(builtin_profiles()), tmp_path)
    async with await work.store() as store:
        yield Host(work, store)


async def by_command(host: Host, demo: Any = TEST_SET) -> Run:
    """A run that `howsure run` made, on the same database."""
    return (await start(host.work, demo_request(demo), lambda _: lambda _: None)).run


async def worked(host: Host, run_id: str) -> Run:
    stop = asyncio.Event()
    working = asyncio.create_task(Worker(host, WorkerPace(look=0.02, beat=0.02)).run(stop))
    while (await host.store.run(run_id)).state in (RunState.PENDING, RunState.RUNNING):
        await asyncio.sleep(0.02)
    stop.set()
    await working
    return await host.store.run(run_id)


async def test_graded_again_as_it_was_it_comes_out_the_same(host: Host) -> None:
    first = await by_command(host)
    ordered = await regrade(host, first.id, requested(), EVERYWHERE)
    second = await worked(host, ordered.run.id)
    assert (second.state, second.counts, second.name) == (RunState.COMPLETED, first.counts, first.name)
    assert second.pins.request.judge == first.pins.request.judge
    assert second.pins.rubric == first.pins.rubric
    assert second.pins.agent == first.pins.agent
    assert [pin.path for pin in second.pins.responses] == [f"run:{first.id}"]


async def test_a_milder_rule_lets_a_case_pass(host: Host) -> None:
    first = await by_command(host)
    kept = await save_rubric(host, first, "ana", EVERYWHERE)
    body = documents.DocumentChange(body=_milder(kept.edition.body), note="milder")
    await documents.change_document(host, DocumentKind.RUBRIC, kept.id, body, EVERYWHERE)
    assert (await regrade(host, first.id, requested(), EVERYWHERE)).run.pins.rubric == first.pins.rubric
    again = await regrade(host, first.id, requested(rubric_id=kept.id, name="milder"), EVERYWHERE)
    second = await worked(host, again.run.id)
    assert (first.counts.passed, second.counts.passed) == (8, 9)
    assert second.name == "milder"
    assert second.pins.rubric is not None and second.pins.rubric.version == 2
    third = await worked(host, (await regrade(host, second.id, requested(), EVERYWHERE)).run.id)
    assert third.counts == second.counts


def _milder(body: bytes) -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(body)
    rules = [{**rule, "severity": "low"} for rule in decoded["rules"]]
    return {**decoded, "name": "Moss", "rules": rules}


async def test_the_rubric_comes_into_the_library_once(host: Host) -> None:
    first = await by_command(host)
    kept = await save_rubric(host, first, "ana", EVERYWHERE)
    again = await save_rubric(host, first, "bo", EVERYWHERE)
    assert (kept.id, again.id, again.edition.author) == (rubric_key(first.pins), kept.id, "ana")
    assert kept.edition.note == "as the run demo test-set used it (its version 3)"
    without = await by_command(host, LEGAL)
    with pytest.raises(Conflict, match="without a rubric"):
        await save_rubric(host, without, "ana", EVERYWHERE)


async def test_another_judge_may_be_one_that_is_offered(host: Host) -> None:
    first = await by_command(host)
    assert (await regrade(host, first.id, requested(judge="offline"), EVERYWHERE)).run.pins.request.judge == "offline"
    for judge in ("openai:gpt-1000", "recorded:/etc/passwd"):
        with pytest.raises(PlanRefused, match="is not one this service offers"):
            await regrade(host, first.id, requested(judge=judge), EVERYWHERE)


async def test_a_judge_that_costs_money_must_be_offered_though_the_run_had_it(host: Host) -> None:
    first = await by_command(host)
    dear = replace(
        first,
        id="11111111-1111-4111-8111-111111111111",
        pins=replace(first.pins, request=replace(first.pins.request, judge="openai:gpt-5")),
    )
    await host.store.create_run(dear)
    with pytest.raises(PlanRefused, match="'openai:gpt-5' is not one this service offers"):
        await regrade(host, dear.id, requested(), EVERYWHERE)


@pytest.mark.parametrize(
    ("dataset", "judge", "said"),
    [
        ("/nowhere/cases.jsonl", "", "not on the service's machine.*cases"),
        ("", "recorded:/nowhere/replies.jsonl", "the recording that judged this run is not here any more"),
    ],
)
async def test_what_is_gone_is_named_without_its_folder(host: Host, dataset: str, judge: str, said: str) -> None:
    first = await by_command(host)
    datasets = (DatasetPin(path=dataset, sha256="0"),) if dataset else first.pins.datasets
    request = replace(first.pins.request, judge=judge or first.pins.request.judge)
    pins = replace(first.pins, datasets=datasets, request=request)
    moved = replace(first, id="22222222-2222-4222-8222-222222222222", pins=pins)
    await host.store.create_run(moved)
    with pytest.raises(Conflict, match=said) as refused:
        await regrade(host, moved.id, requested(), EVERYWHERE)
    assert "/nowhere" not in str(refused.value)


async def test_nobody_grades_what_they_may_not_see(host: Host) -> None:
    first = await by_command(host)
    for within in (AccessScope(organization_id="others"), AccessScope(agent_ids=("another",))):
        with pytest.raises(NotFound):
            await regrade(host, first.id, requested(), within)
    with pytest.raises(NotFound, match="there is no rubric nothing"):
        await regrade(host, first.id, requested(rubric_id="nothing"), EVERYWHERE)


async def test_a_rubric_that_is_deleted_or_unseen_cannot_be_chosen(host: Host) -> None:
    first = await by_command(host)
    saved = await save_rubric(host, first, "ann", EVERYWHERE)
    others = AccessScope(organization_id="elsewhere")
    await add_document(host, DocumentKind.RUBRIC, DocumentChange(body=GOOD[DocumentKind.RUBRIC]), others, "theirs")
    await host.store.documents.delete(DocumentKind.RUBRIC, saved.id)
    for scope, rubric_id in ((EVERYWHERE, saved.id), (AccessScope(organization_id=""), "theirs")):
        with pytest.raises(NotFound, match="there is no rubric"):
            await regrade(host, first.id, requested(rubric_id=rubric_id), scope)
