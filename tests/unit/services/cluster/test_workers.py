"""What a worker does, in this process: Ray's handle of the coordinator is one that calls it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from dialect_rows import rubric_qa, write_rows
from house import mcq
from howsure.config import ServiceSettings, Settings, load
from howsure.errors import ConfigInvalid, Conflict
from howsure.model.run import Run
from howsure.model.run_request import RunRequest
from howsure.services.cluster.coordinator import RateCoordinator
from howsure.services.cluster.shards import cut_shards, shard_sources
from howsure.services.cluster.workers import (
    ADDRESS,
    LARGE,
    PROCESS,
    SENT,
    ShardOutcome,
    ShardTask,
    WorkerConfig,
    WorkerContext,
    check_machine,
    work_on_shard,
)
from howsure.services.run.execute import new_run, utc_now
from howsure.services.run.plan import Plan
from howsure.services.run.start import plan_request, start
from howsure.services.workspace import Workspace
from howsure.store.leases import machine_id
from howsure.store.store import Store

PARROT = """
from howsure.targets.base import Reply, Stateless

class Parrot:
    name = "parrot"

    async def open(self, case):
        return Stateless(lambda text: Reply.saying("Answer: A"))

def register(kit):
    kit.targets.add(Parrot())
"""


def place(folder: Path, **settings: Any) -> Workspace:
    (folder / "parrot.py").write_text(PARROT, encoding="utf-8")
    given = Settings(database=str(folder / "runs.db"), plugins=("parrot.py",), **settings)
    return Workspace.made(given, folder, folder)


def options(folder: Path, cases: int = 6, **said: Any) -> RunRequest:
    dataset = write_rows(folder / "house.jsonl", [mcq(number) for number in range(cases)])
    return RunRequest(**{"datasets": (str(dataset),), "target": "parrot", "judge": "offline", **said})


async def begun(work: Workspace, said: RunRequest, store: Store) -> tuple[WorkerConfig, Plan]:
    """A run that is planned and kept, as the driver tells a worker of it."""
    async with AsyncExitStack() as stack:
        plan = await plan_request(work, store, replace(said, cache=False), utc_now(), stack)
        run = new_run(plan, utc_now())
        await store.create_run(run)
        return msgspec.json.decode(msgspec.json.encode(WorkerConfig.of(work, plan, run)), type=WorkerConfig), plan


async def worked(config: WorkerConfig, plan: Plan, size: int, **wish: Any) -> list[int]:
    """How many attempts each shard made."""
    context = await WorkerContext.opened(config, RateCoordinator(None), "w")
    try:
        return [(await context.work_on(shard, "", **wish)).made for shard in cut_shards(plan.cases, size)]
    finally:
        await context.stack.aclose()


async def exported(store: Store, run: Run) -> list[tuple[int, str, str, str, int]]:
    return [
        (each.position, each.case.id, each.verdict.value, each.candidate, each.repeat)
        async for each in store.iterate(run.id)
    ]


async def test_shards_make_the_run_that_one_machine_makes(tmp_path: Path) -> None:
    work, said = place(tmp_path), options(tmp_path, repeat=2)
    async with await work.store() as store:
        config, plan = await begun(work, said, store)
        assert await worked(config, plan, 4) == [8, 4]
        near = await start(work, said, lambda _: lambda _: None)
        assert await exported(store, config.run) == await exported(store, near.run)
        assert (await store.run(config.run.id)).counts.passed == 12


async def test_a_shard_that_comes_again_makes_only_what_is_missing(tmp_path: Path) -> None:
    work = place(tmp_path)
    async with await work.store() as store:
        config, plan = await begun(work, options(tmp_path), store)
        assert await worked(config, plan, 4) == [4, 2]
        assert await worked(config, plan, 3) == [0, 0]
        assert await worked(config, plan, 3, again=(0, 5)) == [1, 1]
        assert (await store.run(config.run.id)).counts.completed == 6


async def test_a_worker_whose_driver_was_replaced_stores_nothing(tmp_path: Path) -> None:
    work = place(tmp_path)
    async with await work.store() as store:
        config, plan = await begun(work, options(tmp_path), store)
        await store.claim(config.run.id, "machine/1/2/new", utc_now())
        context = await WorkerContext.opened(config, RateCoordinator(None), "w")
        with pytest.raises(Conflict):
            await context.work_on(next(cut_shards(plan.cases, 6)), "machine/1/2/old")
        await context.stack.aclose()
        assert (await store.run(config.run.id)).counts.completed == 0


async def test_what_was_done_is_reported(tmp_path: Path) -> None:
    work = place(tmp_path)
    async with await work.store() as store:
        config, plan = await begun(work, options(tmp_path), store)
        coordinator = RateCoordinator(None)
        context = await WorkerContext.opened(config, coordinator, "w")
        await context.work_on(next(cut_shards(plan.cases, 6)), "")
        await context.stack.aclose()
        assert (await coordinator.progress()).verdicts == {"passed": 6}


async def test_replies_of_judges_are_handed_in_with_the_results_that_they_made(tmp_path: Path) -> None:
    """A recording that workers made answers as one that was made here."""
    work = place(tmp_path)
    rows = [rubric_qa(f"r{number}") for number in range(4)]
    dataset = str(write_rows(tmp_path / "advice.jsonl", rows))
    near = tmp_path / "near.jsonl"
    said = RunRequest(datasets=(dataset,), target="parrot", judge="offline")
    await start(work, replace(said, record_judge=near), lambda _: lambda _: None)
    coordinator = RateCoordinator(None)
    async with await work.store() as store:
        config, plan = await begun(work, said, store)
        context = await WorkerContext.opened(replace(config, records=True), coordinator, "w")
        for shard in cut_shards(plan.cases, 3):
            await context.work_on(shard, "")
        await context.stack.aclose()
    told = await coordinator.progress()
    assert sorted(b"".join(told.recorded).splitlines()) == sorted(near.read_bytes().splitlines())
    assert len(near.read_bytes().splitlines()) == 4
    assert told.traced == ()


@pytest.mark.skipif(find_spec("fsspec") is None, reason="fsspec is not installed here")
async def test_a_file_at_an_address_is_read_there_and_not_copied(tmp_path: Path) -> None:
    memory = import_module("fsspec").filesystem("memory")
    memory.pipe("/far/house.jsonl", b"".join(json.dumps(mcq(number)).encode() + b"\n" for number in range(6)))
    driver, worker = tmp_path / "driver", tmp_path / "worker"
    driver.mkdir()
    worker.mkdir()
    work = place(driver)
    (worker / "parrot.py").write_text(PARROT, encoding="utf-8")
    async with await work.store() as store:
        config, plan = await begun(work, options(driver, datasets=("memory://far/house.jsonl",)), store)
        elsewhere = replace(config, folder=str(worker))
        context = await WorkerContext.opened(elsewhere, RateCoordinator(None), "w")
        sources = shard_sources(plan.pins.datasets)
        made = [(await context.work_on(shard, "")).made for shard in cut_shards(plan.cases, 4, sources)]
        assert (sources, made) == (("memory://far/house.jsonl",), [4, 2])
        assert not list(worker.rglob("*.jsonl"))
        memory.pipe("/far/house.jsonl", memory.cat("/far/house.jsonl").replace(b"Question 5?", b"Question 9?"))
        with pytest.raises(Conflict, match=r"house\.jsonl changed"):
            await context.work_on(list(cut_shards(plan.cases, 4, sources))[1], "", again=(5,))
        await context.stack.aclose()
        assert (await store.run(config.run.id)).counts.passed == 6
    memory.store.clear()


async def test_a_plug_in_that_is_another_here_is_refused(tmp_path: Path) -> None:
    work = place(tmp_path)
    async with await work.store() as store:
        config, _ = await begun(work, options(tmp_path), store)
        (tmp_path / "parrot.py").write_text(PARROT + "\n# changed\n", encoding="utf-8")
        with pytest.raises(Conflict, match=r"parrot\.py has changed, or is not there"):
            await WorkerContext.opened(config, RateCoordinator(None), "w")


async def test_a_plug_in_that_is_missing_here_is_named(tmp_path: Path) -> None:
    work = place(tmp_path)
    async with await work.store() as store:
        config, _ = await begun(work, options(tmp_path), store)
        (tmp_path / "parrot.py").unlink()
        with pytest.raises(ConfigInvalid, match=r"parrot\.py: no such file"):
            await WorkerContext.opened(config, RateCoordinator(None), "w")


async def test_a_site_holds_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = place(tmp_path)
    async with await work.store() as store:
        config, plan = await begun(work, options(tmp_path), store)
    address = "postgresql://howsure:hunter2@db.example/howsure"
    elsewhere = Workspace.made(replace(work.settings, database=address), tmp_path, tmp_path)
    told = WorkerConfig.of(elsewhere, plan, config.run)
    assert b"hunter2" not in msgspec.json.encode(told)
    assert told.location == ""
    monkeypatch.delenv(ADDRESS, raising=False)
    with pytest.raises(ConfigInvalid, match="HOWSURE_DATABASE_URL is not set there"):
        told.workplace()
    monkeypatch.setenv(ADDRESS, address)
    assert told.workplace().settings.database == address


RICH = """
judge: panel
panel: {members: ["openai:a", offline], rule: unanimous, votes: 3, near: 0.1, settings: {"openai:a": {temperature: 0}}}
rates: {"openai:*": {requests_per_minute: 30000, tokens_per_minute: 1000000}}
retry: {attempts: 3}
targets: {shop: {kind: http, url: "http://localhost/chat", headers: {Authorization: "${SHOP_KEY}"}}}
profiles: {strict: {extends: prep_default, marks: {CoherenceExplain: 4.5}, normalization: min_max}}
prices: {"openai:a": {prompt: 1.0, completion: 2.0}}
service: {bot_service: "http://bots.example/{id}", hosts: [bots.example]}
engine: ray
cluster: {shard: 10}
"""


async def test_settings_arrive_as_they_were_written(tmp_path: Path) -> None:
    (tmp_path / "howsure.yaml").write_text(RICH, encoding="utf-8")
    written = load(tmp_path, {})
    work = place(tmp_path)
    async with await work.store() as store:
        config, plan = await begun(work, options(tmp_path), store)
    rich = Workspace.made(replace(written, database=str(tmp_path / "runs.db")), tmp_path, tmp_path)
    arrived = msgspec.json.decode(msgspec.json.encode(WorkerConfig.of(rich, plan, config.run)), type=WorkerConfig)
    assert arrived.settings == replace(written, service=ServiceSettings(hosts=("bots.example",)))
    assert arrived.run == config.run
    assert arrived.location == str(tmp_path / "runs.db")


@pytest.mark.parametrize("asks_anew", [False, True])
async def test_workers_and_coordinator_are_told_of_a_retry(tmp_path: Path, asks_anew: bool) -> None:
    work = place(tmp_path)
    async with await work.store() as store:
        config, plan = await begun(work, options(tmp_path, asks_anew=asks_anew), store)
    assert (config.asks_anew, plan.pins.request.asks_anew) == (asks_anew, False)


class Method:
    def __init__(self, call: Callable[..., Awaitable[Any]]) -> None:
        self.remote = call


class Handle:
    """As Ray gives one: every method has a `remote`."""

    def __init__(self, coordinator: RateCoordinator) -> None:
        self._coordinator = coordinator

    def __getattr__(self, name: str) -> Method:
        return Method(getattr(self._coordinator, name))


@pytest.fixture(autouse=True)
def process() -> Iterator[None]:
    yield
    PROCESS.run(PROCESS.leave())
    PROCESS.end()


class Told:
    """A run as the driver tells its workers of it."""

    def __init__(self, folder: Path) -> None:
        self.dataset = write_rows(folder / "house.jsonl", [mcq(number) for number in range(5)])
        answers = [{"example_id": f"q{number}", "response_text": "A"} for number in range(5)]
        self.responses = write_rows(folder / "answers.jsonl", answers)
        self.work = Workspace.made(Settings(database=str(folder / "runs.db")), folder, folder)
        asyncio.run(self._plan())

    async def _plan(self) -> None:
        options = RunRequest(datasets=(str(self.dataset),), responses=(str(self.responses),), judge="offline")
        async with AsyncExitStack() as stack:
            store = await stack.enter_async_context(await self.work.store())
            plan = await plan_request(self.work, store, options, utc_now(), stack)
            run = new_run(plan, utc_now())
            await store.create_run(run)
        self.run_id = run.id
        self.config = msgspec.json.encode(WorkerConfig.of(self.work, plan, run))
        self.tasks = [msgspec.json.encode(ShardTask(shard=shard, owner="")) for shard in cut_shards(plan.cases, 2)]

    async def completed(self) -> int:
        async with await self.work.store() as store:
            return (await store.run(self.run_id)).counts.completed


def test_shards_are_worked_on_one_after_the_other(tmp_path: Path) -> None:
    told, handle = Told(tmp_path), Handle(RateCoordinator(None))
    made = [work_on_shard(told.config, handle, "token", task) for task in told.tasks]
    assert made == [ShardOutcome(made=2), ShardOutcome(made=2), ShardOutcome(made=1)]
    assert asyncio.run(told.completed()) == 5


def test_a_process_keeps_its_room_until_another_driver_comes(tmp_path: Path) -> None:
    told, handle = Told(tmp_path), Handle(RateCoordinator(None))
    work_on_shard(told.config, handle, "first", told.tasks[0])
    context = PROCESS.run(PROCESS.context(told.config, handle, "first"))
    work_on_shard(told.config, handle, "first", told.tasks[1])
    assert PROCESS.run(PROCESS.context(told.config, handle, "first")) is context
    assert PROCESS.run(PROCESS.context(told.config, handle, "second")) is not context


def test_a_machine_that_has_everything_has_no_problem(tmp_path: Path) -> None:
    told = Told(tmp_path)
    found = check_machine(told.config, Handle(RateCoordinator(None)), "token")
    assert found.problems == ()
    assert found.machine == machine_id()


def test_a_file_that_is_not_here_is_named(tmp_path: Path) -> None:
    told = Told(tmp_path)
    told.dataset.unlink()
    assert check_machine(told.config, Handle(RateCoordinator(None)), "token").problems == (
        f"no such file: {told.dataset}",
    )


def test_a_file_that_is_another_here_is_named(tmp_path: Path) -> None:
    told = Told(tmp_path)
    told.dataset.write_bytes(told.dataset.read_bytes() + b"\n")
    found = check_machine(told.config, Handle(RateCoordinator(None)), "token")
    assert found.problems == (f"{told.dataset} is another file than the driver's",)


def test_what_the_user_can_mend_comes_back_as_data(tmp_path: Path) -> None:
    told = Told(tmp_path)
    told.responses.unlink()
    outcome = work_on_shard(told.config, Handle(RateCoordinator(None)), "token", told.tasks[0])
    assert outcome.made == 0
    assert str(told.responses) in outcome.error


def test_lines_that_changed_are_not_worked_on(tmp_path: Path) -> None:
    told, handle = Told(tmp_path), Handle(RateCoordinator(None))
    told.dataset.write_bytes(told.dataset.read_bytes().replace(b"Question 3?", b"Question 9?"))
    assert work_on_shard(told.config, handle, "token", told.tasks[0]).made == 2
    assert "house.jsonl changed" in work_on_shard(told.config, handle, "token", told.tasks[1]).error


def test_a_machine_needs_no_file_whose_cases_are_sent_along(tmp_path: Path) -> None:
    told = Told(tmp_path)
    config = msgspec.json.decode(told.config, type=WorkerConfig)
    assert config.sizes == (told.dataset.stat().st_size,)
    told.dataset.unlink()
    sent = msgspec.json.encode(replace(config, sizes=(SENT,)))
    assert check_machine(sent, Handle(RateCoordinator(None)), "token").problems == ()


def test_a_very_large_file_is_told_by_its_size(tmp_path: Path) -> None:
    """Its bytes are hashed shard by shard, when they are read."""
    told = Told(tmp_path)
    large = msgspec.json.encode(replace(msgspec.json.decode(told.config, type=WorkerConfig), sizes=(LARGE,)))
    found = check_machine(large, Handle(RateCoordinator(None)), "token")
    assert found.problems == (f"{told.dataset} is another file than the driver's",)
    with told.dataset.open("r+b") as file:
        # A hole: it takes no context on the disk.
        file.truncate(LARGE)
    assert check_machine(large, Handle(RateCoordinator(None)), "token").problems == ()
