"""Targets that requests name: listed hosts are called, private addresses behind listed names are not, also after a run
was resumed or taken over."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from api.operations import a_test_set, entry
from api.served import Caller, serving
from howsure.services.host.allowed_hosts import guard_for
from listening import a_chat_bot

WHY = "this host leads to an address that the service may not call"


async def a_run(ask: Caller, target: str) -> str:
    made = await ask("POST", "/test-sets", a_test_set(entry(1), agent_id=None))
    asked = await ask("POST", "/runs", {"test_set_id": made.body["test_set_id"], "target": target})
    assert asked.status == 202, asked.body
    run_id: str = asked.body["run_id"]
    return run_id


async def test_a_listed_address_is_called(tmp_path: Path) -> None:
    async with a_chat_bot() as (port, came), serving(tmp_path, hosts=(f"127.0.0.1:{port}", "localhost")) as ask:
        run = await ask.finished(await a_run(ask, f"http://127.0.0.1:{port}/chat"))
        assert (run["state"], run["errored"]) == ("completed", 0)
        # A name that leads to an address that is listed as itself.
        run = await ask.finished(await a_run(ask, f"http://localhost:{port}/chat"))
        assert (run["state"], run["errored"]) == ("completed", 0)
        assert len(came) == 2


async def test_a_listed_name_that_leads_home_is_not_called(tmp_path: Path) -> None:
    async with a_chat_bot() as (port, came), serving(tmp_path, hosts=("localhost", "10.0.0.0/8")) as ask:
        run_id = await a_run(ask, f"http://localhost:{port}/chat")
        run = await ask.finished(run_id)
        assert (run["status"], came) == ("failed", [])
        assert WHY in run["error"]
        assert "127.0.0.1" not in run["error"]
        assert (await ask("POST", f"/runs/{run_id}/resume")).status == 202
        again = await ask.finished(run_id)
        assert (again["status"], WHY in again["error"], came) == ("failed", True, [])


async def test_a_host_that_is_not_listed_cannot_even_be_asked_for(tmp_path: Path) -> None:
    async with serving(tmp_path, hosts=("bot.example",)) as ask:
        for target in ("http://127.0.0.1:9/chat", "http://evil.example/", "https://169.254.169.254/", "http://[::1]/"):
            made = await ask("POST", "/runs", {"question_set_id": "x", "target": target})
            assert made.status == 422, made.body
            assert [each["field"] for each in made.body["problems"]] == ["question_set_id", "target"]
        asked = {"name": "Q", "questions": [{"question": "q", "expected_answer": "a"}]}
        key = (await ask("POST", "/question-sets", asked)).body["question_set_id"]
        for target in ("http://127.0.0.1:9/chat", "http://evil.example/", "http://2130706433/", "http://[::1]/"):
            made = await ask("POST", "/runs", {"question_set_id": key, "target": target})
            assert made.status == 422, made.body
            assert "is not among those this service may call" in made.body["detail"]


async def test_only_what_a_request_named_is_guarded(tmp_path: Path) -> None:
    async with a_chat_bot() as (port, came), serving(tmp_path) as ask:
        block = {"own": {"kind": "http", "url": f"http://localhost:{port}/chat"}}
        work = ask.host.work
        work.settings = replace(work.settings, targets={**work.settings.targets, **block})
        run = await ask.finished(await a_run(ask, "own"))
        assert (run["state"], run["errored"], len(came)) == ("completed", 0, 1)
        assert guard_for(work.settings.service.hosts, ["own"], work.settings.targets) is None
