"""The keys under `service:`, each with and without, against services in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from api.served import Caller, serving_workspace
from howsure.api.server import ServerOptions, access_for
from howsure.config import load
from howsure.services.workspace import Workspace
from net.elsewhere import ELSEWHERE
from net.rows import file_bytes
from net.servers import loopback
from net.setting_keys import all_keys
from net.worlds import WORLDS

BOTS = """
import time


def right(text):
    return "Answer: A"


def wrong(text):
    return "Answer: B"


def slow(text):
    time.sleep(0.5)
    return "Answer: A"
"""
TARGETS = """
targets:
  right: {kind: function, function: "bots.py:right"}
  wrong: {kind: function, function: "bots.py:wrong"}
  slow: {kind: function, function: "bots.py:slow"}
"""
Look = Callable[[Caller, str], Awaitable[Any]]
"""What is seen of a service; the text is the address of the bots."""


async def a_dataset(ask: Caller) -> str:
    content = file_bytes(WORLDS["legal"]["cases.jsonl"]).decode()
    return str((await ask("POST", "/datasets", {"name": "cases.jsonl", "content": content})).body["dataset_id"])


def a_run(**body: str) -> Look:
    """How many passed and failed, or the status of the refusal."""

    async def look(ask: Caller, bots: str) -> Any:
        sent = {name: value.replace("$BOT", bots) for name, value in body.items()}
        reply = await ask("POST", "/runs", {"dataset_id": await a_dataset(ask), **sent})
        if reply.status != 202:
            return reply.status
        run = await ask.finished(reply.body["run_id"])
        return run["passed"], run["failed"]

    return look


def two_runs(*agents: str) -> Look:
    """The states of two runs that were asked for at the same time, when the first has begun."""

    async def look(ask: Caller, bots: str) -> Any:
        key = await a_dataset(ask)
        ids = [
            (await ask("POST", "/runs", {"dataset_id": key, "agent_id": agent, "target": "slow", "limit": 1})).body[
                "run_id"
            ]
            for agent in agents
        ]
        await asyncio.sleep(0.35)
        states = [(await ask("GET", f"/runs/{each}")).body["status"] for each in ids]
        for each in ids:
            await ask.finished(each)
        return states

    return look


def the_status(method: str, path: str, body: Any = None, **headers: str) -> Look:
    async def look(ask: Caller, bots: str) -> Any:
        return (await ask(method, path, body, **headers)).status

    return look


ROWS: list[tuple[str, str, str, Look, Any, Any]] = [
    # The key, what it is given, what is given on the other side, what is looked at, and what is seen on either side.
    ("target", "{target: wrong}", "{target: right}", a_run(), (0, 4), (4, 0)),
    ("bots", "{target: right, bots: {desk: wrong}}", "{target: right, unknown_bots: true}",
     a_run(agent_id="desk"), (0, 4), (4, 0)),
    ("judges", "{target: right, judges: ['openai-compatible:judge']}", "{target: right}",
     a_run(eval_model="openai-compatible:judge"), (4, 0), 422),
    ("hosts", "{hosts: ['127.0.0.1']}", "{}", a_run(target="$BOT/slow"), (4, 0), 422),
    ("bot_service", "{bot_service: '$BOT/bots/{id}'}", "{}", the_status("GET", "/bots/desk/context"), 200, 404),
    ("bot_service_key", "{bot_service: '$BOT/locked-bots/{id}', bot_service_key: DESK_KEY}",
     "{bot_service: '$BOT/locked-bots/{id}'}", the_status("GET", "/bots/desk/context"), 200, 404),
    ("runs", "{runs: 1, unknown_bots: true}", "{runs: 4, unknown_bots: true}", two_runs("a", "b"),
     ["running", "pending"], ["running", "running"]),
    ("runs_per_agent", "{runs_per_agent: 1, unknown_bots: true}",
     "{runs_per_agent: 2, unknown_bots: true}", two_runs("a", "a"),
     ["running", "pending"], ["running", "running"]),
    ("largest_body", "{largest_body: 200}", "{}", the_status("POST", "/rubrics", {"name": "x" * 250, "rules": []}), 413,
     422),
    ("largest_json", "{largest_json: 200}", "{}", the_status("POST", "/rubrics", {"name": "x" * 250, "rules": []}), 413,
     422),
    ("origins", "{origins: ['https://pages.example']}", "{}",
     the_status("POST", "/rubrics", {}, Origin="https://pages.example"), 422, 403),
    ("host_names", "{host_names: [howsure.example]}", "{}", the_status("GET", "/health", Host="howsure.example"), 200,
     400),
]  # fmt: skip


def test_every_key_of_the_service_has_a_row() -> None:
    keys = {key.name for key in all_keys() if key.place == "service"}
    # `retention` has rows in table_keys.py; what `undelete_days` does is in tests/hardening/test_retention.py.
    others = {name.removeprefix("service.") for name in ELSEWHERE} | {"retention", "undelete_days"}
    assert {name for name, *_ in ROWS} == keys - others


@pytest.mark.parametrize(("key", "given", "other", "look", "seen", "otherwise"), ROWS, ids=[row[0] for row in ROWS])
@pytest.mark.thorough
async def test_the_effect_is_there_with_it_and_not_without(
    key: str,
    given: str,
    other: str,
    look: Look,
    seen: Any,
    otherwise: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DESK_KEY", "open sesame")
    with loopback() as address:
        monkeypatch.setenv("OPENAI_COMPATIBLE_BASE_URL", f"{address}/v1")
        found = [
            await served(tmp_path / str(number), each.replace("$BOT", address), look, address)
            for number, each in enumerate((given, other))
        ]
    assert found == [seen, otherwise]
    assert seen != otherwise


async def served(folder: Path, block: str, look: Look, address: str) -> Any:
    folder.mkdir()
    (folder / "bots.py").write_text(BOTS)
    (folder / "howsure.yaml").write_text(f"database: {folder / 'howsure.db'}\n{TARGETS}service: {block}\n")
    work = Workspace.made(load(folder, {}), folder, folder)
    async with await work.store() as store:
        access = await access_for(work, store, ServerOptions())
    async with serving_workspace(work, access) as ask:
        return await look(ask, address)
