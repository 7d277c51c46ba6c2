"""What a worker does, in this process: Ray's handle of the desk is one that calls it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from dialect_rows import write_rows
from house import mcq
from howsure.config import Settings
from howsure.services.cluster.desk import Desk
from howsure.services.cluster.room import Outcome
from howsure.services.cluster.shards import shards
from howsure.services.cluster.site import SENT, Site
from howsure.services.cluster.tasks import LARGE, PROCESS, Task, look_around, work_on
from howsure.services.options import RunOptions
from howsure.services.running import new_run, utc_now
from howsure.services.runs import planned
from howsure.services.workspace import Workspace
from howsure.store.lease import machine


class Method:
    def __init__(self, call: Callable[..., Awaitable[Any]]) -> None:
        self.remote = call


class Handle:
    """As Ray gives one: every method has a `remote`."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def __getattr__(self, name: str) -> Method:
        return Method(getattr(self._desk, name))


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
        options = RunOptions(datasets=(str(self.dataset),), responses=(str(self.responses),), judge="offline")
        async with AsyncExitStack() as stack:
            store = await stack.enter_async_context(await self.work.store())
            plan, _, name = await planned(self.work, store, options, utc_now(), stack)
            run = new_run(plan, name, utc_now())
            await store.create_run(run)
        self.run_id = run.id
        self.site = Site.of(self.work, plan, run, caches=True).packed()
        self.tasks = [msgspec.json.encode(Task(shard=shard, owner="")) for shard in shards(plan.survey, 2)]

    async def completed(self) -> int:
        async with await self.work.store() as store:
            return (await store.run(self.run_id)).counts.completed


def test_shards_are_worked_on_one_after_the_other(tmp_path: Path) -> None:
    told, handle = Told(tmp_path), Handle(Desk(None))
    made = [work_on(told.site, handle, "token", task) for task in told.tasks]
    assert made == [Outcome(made=2), Outcome(made=2), Outcome(made=1)]
    assert asyncio.run(told.completed()) == 5


def test_a_process_keeps_its_room_until_another_driver_comes(tmp_path: Path) -> None:
    told, handle = Told(tmp_path), Handle(Desk(None))
    work_on(told.site, handle, "first", told.tasks[0])
    room = PROCESS.run(PROCESS.room(told.site, handle, "first"))
    work_on(told.site, handle, "first", told.tasks[1])
    assert PROCESS.run(PROCESS.room(told.site, handle, "first")) is room
    assert PROCESS.run(PROCESS.room(told.site, handle, "second")) is not room


def test_a_machine_that_has_everything_has_no_problem(tmp_path: Path) -> None:
    told = Told(tmp_path)
    found = look_around(told.site, Handle(Desk(None)), "token")
    assert found.problems == ()
    assert found.machine == machine()


def test_a_file_that_is_not_here_is_named(tmp_path: Path) -> None:
    told = Told(tmp_path)
    told.dataset.unlink()
    assert look_around(told.site, Handle(Desk(None)), "token").problems == (f"no such file: {told.dataset}",)


def test_a_file_that_is_another_here_is_named(tmp_path: Path) -> None:
    told = Told(tmp_path)
    told.dataset.write_bytes(told.dataset.read_bytes() + b"\n")
    found = look_around(told.site, Handle(Desk(None)), "token")
    assert found.problems == (f"{told.dataset} is another file than the driver's",)


def test_what_the_user_can_mend_comes_back_as_data(tmp_path: Path) -> None:
    told = Told(tmp_path)
    told.responses.unlink()
    outcome = work_on(told.site, Handle(Desk(None)), "token", told.tasks[0])
    assert outcome.made == 0
    assert str(told.responses) in outcome.error


def test_lines_that_changed_are_not_worked_on(tmp_path: Path) -> None:
    told, handle = Told(tmp_path), Handle(Desk(None))
    told.dataset.write_bytes(told.dataset.read_bytes().replace(b"Question 3?", b"Question 9?"))
    assert work_on(told.site, handle, "token", told.tasks[0]).made == 2
    assert "house.jsonl changed" in work_on(told.site, handle, "token", told.tasks[1]).error


def test_a_machine_needs_no_file_whose_cases_are_sent_along(tmp_path: Path) -> None:
    told = Told(tmp_path)
    site = Site.unpacked(told.site)
    assert site.sizes == (told.dataset.stat().st_size,)
    told.dataset.unlink()
    sent = replace(site, sizes=(SENT,)).packed()
    assert look_around(sent, Handle(Desk(None)), "token").problems == ()


def test_a_very_large_file_is_told_by_its_size(tmp_path: Path) -> None:
    """Its bytes are hashed shard by shard, when they are read."""
    told = Told(tmp_path)
    large = replace(Site.unpacked(told.site), sizes=(LARGE,)).packed()
    found = look_around(large, Handle(Desk(None)), "token")
    assert found.problems == (f"{told.dataset} is another file than the driver's",)
    with told.dataset.open("r+b") as file:
        # A hole: it takes no room on the disk.
        file.truncate(LARGE)
    assert look_around(large, Handle(Desk(None)), "token").problems == ()
