"""Answers of runs that nobody ordered from the service are graded again as their pins say: with the judge and the
rubric they had, or with others; and their rubric comes into the library."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from hosts import requested
from howsure.config import ServiceSettings, Settings
from howsure.errors import Conflict, NotFound, PlanRefused
from howsure.kit.builtins import builtin_kit
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.document import DocumentKind
from howsure.model.run import DatasetPin, Run, RunState
from howsure.policies.profiles import builtin_profiles
from howsure.services.demo import DEMOS, demo_request
from howsure.services.host import documents
from howsure.services.host.context import Host
from howsure.services.host.run_control import regrade, rubric_key, save_rubric
from howsure.services.host.worker import Worker, WorkerPace
from howsure.services.run.start import start
from howsure.services.workspace import Workspace

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
    again = await regrade(host, first.id, requested(name="milder"), EVERYWHERE)
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
    ("change", "said"),
    [
        ({"datasets": (DatasetPin(path="/nowhere/cases.jsonl", sha256="0"),)}, "not on the service's machine.*cases"),
        ({"judge": "recorded:/nowhere/replies.jsonl"}, "the recording that judged this run is not here any more"),
    ],
)
async def test_what_is_gone_is_named_without_its_folder(host: Host, change: dict[str, Any], said: str) -> None:
    first = await by_command(host)
    moved = replace(first, id="22222222-2222-4222-8222-222222222222", pins=replace(first.pins, **change))
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
