"""`howsure.Client`: the same as its asynchronous twin, from a script, from a notebook, and when nobody closes it."""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import howsure
from howsure.client import blocking_client
from howsure.client.async_client import AsyncClient, AsyncKeys
from howsure.client.blocking_client import BlockingFacade, Client, LoopThread
from howsure.client.documents import AsyncBots, AsyncBulk, AsyncDatasets, AsyncDocuments
from howsure.client.errors import ResourceNotFound, WaitedTooLong
from howsure.client.runs import AsyncLabels, AsyncResults, AsyncRuns
from howsure.errors import InputError
from howsure.wire.runs import Run

DEMO = Path(__file__).parents[3] / "src" / "howsure" / "demo"


@pytest.fixture
def client(service: str) -> Iterator[Client]:
    with Client(service, environ={}) as opened:
        yield opened


def test_a_script_goes_from_a_file_to_its_results(client: Client) -> None:
    dataset = client.datasets.upload(DEMO / "simulation" / "support-simulation.csv")
    told: list[tuple[Run, threading.Thread]] = []
    run = client.runs.start(dataset_id=dataset.dataset_id, target="recorded")
    run = client.runs.wait(run.run_id, lambda now: told.append((now, threading.current_thread())), seconds=60)
    assert (run.state, run.total, run.completed) == ("completed", 13, 13)
    assert told[-1][0] == run
    assert {thread for _, thread in told} == {threading.current_thread()}
    results = list(client.runs.results(run.run_id))
    assert len({each.result_id for each in results}) == 13
    assert [each.result_id for each in islice(client.runs.results(run.run_id), 3)] == [
        each.result_id for each in results[:3]
    ]
    assert next(client.runs.each(most=1)).run_id == run.run_id


async def test_it_works_where_a_loop_is_running_already(service: str) -> None:
    with Client(service, environ={}) as client:
        assert client.health().status == "ok"
        assert list(client.runs.each(agent_id="nobody")) == []


def test_errors_are_raised_where_they_are_waited_for(client: Client) -> None:
    with pytest.raises(ResourceNotFound, match="there is no"):
        client.rubrics.get("nothing")
    with pytest.raises(ResourceNotFound):
        list(client.runs.results("nothing"))
    rule = {"id": "KIND", "name": "Be kind", "severity": "low"}
    made = client.rubrics.create({"name": "Kindness", "rules": [rule]})
    assert client.rubrics.get(made.rubric_id) == made


def test_waiting_has_an_end(client: Client) -> None:
    entry = {"type": "single_turn", "name": "a", "inputs": {"message": "a"}, "expected": {"success_criteria": ["b"]}}
    # So many that the run goes on when it is asked after for the first time.
    made = client.test_sets.create({"name": "Many", "items": [entry] * 300})
    started = client.evaluate("bot", made.test_set_id)
    with pytest.raises(WaitedTooLong):
        client.runs.wait(started.run_id, seconds=0)
    assert client.runs.wait(started.run_id).completed == 300


def test_several_threads_share_one_client(client: Client) -> None:
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(client.health().status)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert found == ["ok"] * 8


def test_closing_ends_the_thread_and_says_so_afterwards(service: str) -> None:
    client = Client(service, environ={})
    client.health()
    ours = [thread for thread in threading.enumerate() if thread.name == "howsure-client"]
    assert ours
    client.close()
    client.close()
    assert [thread for thread in ours if thread.is_alive()] == []
    with pytest.raises(InputError, match="this client is closed: make another"):
        client.health()


def test_a_client_that_asked_nothing_has_no_thread() -> None:
    before = threading.active_count()
    with Client(environ={}) as client:
        assert repr(client) == "Client('http://127.0.0.1:8002/api/v1')"
        assert threading.active_count() == before


def test_a_program_that_closes_nothing_ends_quietly(service: str) -> None:
    program = f"import howsure; client = howsure.Client({service!r}, environ={{}}); print(client.health().status)"
    done = subprocess.run(
        [sys.executable, "-Wd", "-c", program], capture_output=True, text=True, timeout=240, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


TWINS: dict[type[Any], type[Any]] = {
    blocking_client.BlockingDocuments: AsyncDocuments,
    blocking_client.BlockingDatasets: AsyncDatasets,
    blocking_client.BlockingBots: AsyncBots,
    blocking_client.BlockingRuns: AsyncRuns,
    blocking_client.BlockingResults: AsyncResults,
    blocking_client.BlockingLabels: AsyncLabels,
    blocking_client.BlockingBulk: AsyncBulk,
    blocking_client.BlockingKeys: AsyncKeys,
    Client: AsyncClient,
}


@pytest.mark.parametrize(("own", "twin"), TWINS.items(), ids=lambda kind: kind.__name__)
def test_twins_can_do_the_same(own: type[Any], twin: type[Any]) -> None:
    assert methods(own) == methods(twin)


def methods(kind: type[Any]) -> dict[str, list[str]]:
    own = [(name, each) for name, each in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")]
    return {name: [*inspect.signature(each).parameters] for name, each in own}


def test_every_twin_is_known() -> None:
    made = {
        each for each in vars(blocking_client).values() if inspect.isclass(each) and issubclass(each, BlockingFacade)
    }
    assert made - {BlockingFacade} == set(TWINS)


def test_both_stand_at_the_front_door() -> None:
    assert howsure.Client is Client
    assert howsure.AsyncClient is AsyncClient
    assert {"Client", "AsyncClient"} <= set(dir(howsure))


async def said(text: str) -> tuple[str, str]:
    return text, threading.current_thread().name


async def nothing() -> None:
    return None


def test_a_coroutine_is_waited_for_on_another_thread() -> None:
    thread = LoopThread()
    assert thread.run(said("hello")) == ("hello", "howsure-client")
    assert thread.run(said("again")) == ("again", "howsure-client")
    thread.finish(nothing())


def test_what_goes_wrong_is_raised_here() -> None:
    async def broken() -> None:
        raise ValueError("inside")

    thread = LoopThread()
    with pytest.raises(ValueError, match="inside"):
        thread.run(broken())
    assert thread.run(said("still there"))[0] == "still there"
    thread.finish(nothing())


def test_the_last_thing_is_done_and_then_nothing() -> None:
    done: list[str] = []

    async def last() -> None:
        done.append("last")

    thread = LoopThread()
    thread.run(nothing())
    thread.finish(last())
    assert done == ["last"]
    with pytest.raises(InputError, match="this client is closed"):
        thread.run(said("late"))
    # Once more does no harm.
    thread.finish(nothing())


def test_a_thread_that_never_began_does_nothing_at_its_end() -> None:
    before = threading.active_count()
    thread = LoopThread()
    thread.finish(nothing())
    assert threading.active_count() == before
    with pytest.raises(InputError):
        thread.run(nothing())


def test_many_at_once_share_one_loop() -> None:
    thread = LoopThread()
    found: list[int] = []
    waiting: list[int] = []

    async def waited(number: int) -> int:
        waiting.append(number)
        async with asyncio.timeout(30):
            # One after the other they would wait for ever.
            while len(waiting) < 10:
                await asyncio.sleep(0.01)
        return number

    def ask(number: int) -> None:
        found.append(thread.run(waited(number)))

    asking = [threading.Thread(target=ask, args=(number,)) for number in range(10)]
    for each in asking:
        each.start()
    for each in asking:
        each.join(60)
    assert sorted(found) == list(range(10))
    assert sum(each.name == "howsure-client" for each in threading.enumerate()) >= 1
    thread.finish(nothing())


class Interrupted(Exception):
    """As Ctrl-C would be."""


def test_whoever_stops_waiting_stops_what_is_waited_for() -> None:
    thread = LoopThread()
    stopped = threading.Event()

    async def forever() -> None:
        asyncio.get_running_loop().call_later(0.2, os.kill, os.getpid(), signal.SIGALRM)
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()

    def interrupt(*_: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(Interrupted):
            thread.run(forever())
    finally:
        signal.signal(signal.SIGALRM, before)
    assert stopped.wait(60)
    thread.finish(nothing())


def test_whoever_waits_while_it_is_closed_is_told() -> None:
    thread = LoopThread()
    began = threading.Event()
    told: list[str] = []

    async def forever() -> None:
        began.set()
        await asyncio.sleep(60)

    def wait() -> None:
        with pytest.raises(InputError) as raised:
            thread.run(forever())
        told.append(str(raised.value))

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    assert began.wait(60)
    thread.finish(nothing())
    waiting.join(60)
    assert told == ["this client is closed: make another"]
