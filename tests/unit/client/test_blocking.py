"""`howsure.Client`: the same as its asynchronous twin, from a script, from a notebook, and when nobody closes it."""

from __future__ import annotations

import inspect
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
from howsure.client.blocking_client import BlockingFacade, Client
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
    made = client.test_sets.create({"name": "One", "items": [entry]})
    started = client.evaluate("bot", made.test_set_id)
    with pytest.raises(WaitedTooLong):
        client.runs.wait(started.run_id, seconds=0)
    assert client.runs.wait(started.run_id).completed == 1


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
        [sys.executable, "-Wd", "-c", program], capture_output=True, text=True, timeout=60, check=False
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
    own = {name: each for name, each in vars(kind).items() if inspect.isfunction(each) and not name.startswith("_")}
    return {name: [*inspect.signature(each).parameters] for name, each in sorted(own.items())}


def test_every_twin_is_known() -> None:
    made = {
        each for each in vars(blocking_client).values() if inspect.isclass(each) and issubclass(each, BlockingFacade)
    }
    assert made - {BlockingFacade} == set(TWINS)


def test_both_stand_at_the_front_door() -> None:
    assert howsure.Client is Client
    assert howsure.AsyncClient is AsyncClient
    assert {"Client", "AsyncClient"} <= set(dir(howsure))
