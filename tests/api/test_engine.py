"""Where a run is made, as a request says it; what it does not say, the operator's settings do."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from msgspec.structs import replace

from api.served import serving
from api.test_runs import AGENT, a_test_set, entry
from hosts import requested
from howsure.config import Engine
from howsure.model.access_scope import EVERYWHERE
from howsure.services.host.run_requests import submit_run
from howsure.services.workspace import Host, Workspace

WITH_RAY = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed here")


async def test_a_run_is_made_here_where_that_is_asked_for(tmp_path: Path) -> None:
    async with serving(tmp_path) as ask:
        key = await a_test_set(ask, entry(1))
        asked = await ask("POST", "/runs", {"test_set_id": key, "agent_id": AGENT, "engine": "local"})
        assert asked.status == 202, asked.body
        assert (await ask.finished(asked.body["run_id"]))["status"] == "completed"
        assert (await ask.host.store.run(asked.body["run_id"])).pins.request.engine == ""


async def test_an_engine_that_there_is_not_is_refused(tmp_path: Path) -> None:
    async with serving(tmp_path) as ask:
        key = await a_test_set(ask, entry(1))
        asked = await ask("POST", "/runs", {"test_set_id": key, "agent_id": AGENT, "engine": "spark"})
        assert asked.status == 422
        assert "engine" in str(asked.body)
        assert (await ask("GET", "/runs")).body == []


@pytest.mark.parametrize(
    ("said", "engine"),
    [pytest.param("", "ray", marks=WITH_RAY), ("local", ""), pytest.param("ray", "ray", marks=WITH_RAY)],
)
async def test_what_a_request_does_not_say_the_operator_does(tmp_path: Path, said: str, engine: str) -> None:
    async with serving(tmp_path, runs=1) as ask:
        key = await a_test_set(ask, entry(1))
        work = ask.host.work
        clustered = Workspace(replace(work.settings, engine=Engine.RAY), work.kit, work.folder)
        order = requested(test_set_id=key, agent_id=AGENT, engine=said)
        ordered = await submit_run(Host(clustered, ask.host.store), order, EVERYWHERE)
        assert ordered.run.pins.request.engine == engine


async def test_the_settings_hold_for_runs_of_the_service_as_on_the_command_line(tmp_path: Path) -> None:
    async with serving(tmp_path, runs=1) as ask:
        key = await a_test_set(ask, entry(1))
        work, said = ask.host.work, {"max_concurrency": 3, "batch_criteria": True, "gates": ("errors <= 0",)}
        host = Host(Workspace(replace(work.settings, anchors="latest", **said), work.kit, work.folder), ask.host.store)
        plain = (await submit_run(host, requested(test_set_id=key, agent_id=AGENT), EVERYWHERE)).run.pins.request
        assert (plain.concurrency, plain.batch_criteria, plain.gates) == (3, True, ("errors <= 0",))
        assert plain.anchors == ""
        order = requested(test_set_id=key, agent_id=AGENT, concurrency=2, gates=("pass_rate >= 0.5",))
        asked = (await submit_run(host, order, EVERYWHERE)).run.pins.request
        assert (asked.concurrency, asked.gates) == (2, ("errors <= 0", "pass_rate >= 0.5"))
