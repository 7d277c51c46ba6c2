"""The doctor: what is well, what is not, and what to do about it."""

from __future__ import annotations

from pathlib import Path

import pytest
from aiohttp import web

from howsure.config import Settings
from howsure.errors import TargetFailed
from howsure.model.case import Case
from howsure.services.doctor import DoctorFinding, examine
from howsure.services.run.start import start
from howsure.services.workspace import Workspace
from howsure.targets.base import Stateless
from howsure.version import __version__
from unit.services.places import Counting, asking, house, unwatched, workplace


async def findings(work: Workspace) -> dict[str, DoctorFinding]:
    return {each.what: each for each in await examine(work)}


async def test_a_healthy_place_is_found_healthy(tmp_path: Path) -> None:
    found = await findings(workplace(tmp_path))
    assert list(found) == ["howsure", "python", "sqlite", "database", "settings", "kit", "terminal"]
    assert all(each.well for each in found.values())
    assert found["howsure"].found == __version__
    assert found["settings"].found == "no howsure.yaml: defaults hold"
    assert found["database"].found == ".howsure/howsure.db, no runs yet"
    assert found["kit"].found.startswith("20 dialects, 1 targets, ")


async def test_runs_settings_and_plugins_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "howsure.yaml").write_text("judge: offline\n", encoding="utf-8")
    work = workplace(tmp_path, Counting())
    await start(work, asking(house(tmp_path)), unwatched)
    found = await findings(work)
    assert found["database"].found == ".howsure/howsure.db, has runs"
    assert found["settings"].found == "howsure.yaml"
    assert ", 2 targets, " in found["kit"].found


async def test_a_database_that_is_none_is_bad_and_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "not-a-database").write_text("hello " * 100, encoding="utf-8")
    found = await findings(workplace(tmp_path, settings=Settings(database=str(tmp_path / "not-a-database"))))
    assert found["database"].well is False
    assert found["database"].hint == "set HOWSURE_DATABASE_URL or --database"
    assert [each.what for each in found.values() if not each.well] == ["database"]


class Watched:
    """A target that is started, asked and stopped; `said` is what it answers, or raises."""

    name = "watched"

    def __init__(self, said: str | Exception) -> None:
        self.said = said
        self.done: list[str] = []

    async def start(self) -> None:
        self.done.append("start")

    async def stop(self) -> None:
        self.done.append("stop")

    async def check(self) -> str:
        self.done.append("check")
        if isinstance(self.said, Exception):
            raise self.said
        return self.said

    async def open(self, case: Case) -> Stateless:
        raise AssertionError("nobody is to talk to it")


async def target_finding(work: Workspace, spec: str) -> DoctorFinding:
    *_, last = await examine(work, spec)
    return last


async def test_a_target_is_started_asked_and_stopped(tmp_path: Path) -> None:
    target = Watched("two models are loaded")
    found = await target_finding(workplace(tmp_path, target), "watched")
    assert found == DoctorFinding(what="target watched", well=True, found="two models are loaded")
    assert target.done == ["start", "check", "stop"]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (TargetFailed("nobody listens at port 9"), "nobody listens at port 9"),
        (OSError("refused"), "target 'watched': OSError: refused"),
    ],
    ids=["its own", "anything"],
)
async def test_a_target_that_is_not_there_is_a_finding_and_is_stopped(
    tmp_path: Path, error: Exception, said: str
) -> None:
    target = Watched(error)
    found = await target_finding(workplace(tmp_path, target), "watched")
    assert found == DoctorFinding(what="target watched", well=False, found=said)
    assert target.done == ["start", "check", "stop"]


async def test_a_target_that_cannot_be_asked_is_not_called_bad(tmp_path: Path) -> None:
    found = await target_finding(workplace(tmp_path, Counting()), "counting")
    assert found == DoctorFinding(what="target counting", well=True, found="made; it cannot be asked before a run")


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        ("nobody", "unknown target 'nobody'"),
        ("recorded", "recorded answers are read from files: there is no target to ask"),
        ("chat", "--target chat needs models"),
        ("function:gone.py:answer", "gone.py: no such file"),
        ("http:http://127.0.0.1:9/", "connection refused"),
        ("replay:", "needs the agent"),
    ],
)
async def test_what_is_wrong_with_a_target_is_said(tmp_path: Path, spec: str, part: str) -> None:
    found = await target_finding(workplace(tmp_path), spec)
    assert (found.what, found.well) == (f"target {spec}", False)
    assert part in found.found


async def test_a_wrong_block_is_named(tmp_path: Path) -> None:
    settings = Settings(targets={"shop": {"kind": "function", "functoin": "a:b"}})
    found = await target_finding(workplace(tmp_path, settings=settings), "shop")
    assert "`targets.shop.functoin`: is not a setting; did you mean `function`?" in found.found
    assert found.hint == "`targets.shop` in howsure.yaml says how to reach it"


async def test_a_model_is_really_asked(tmp_path: Path) -> None:
    async def complete(request: web.Request) -> web.Response:
        body = await request.json()
        asked.append(body["messages"][0]["content"])
        choice = {"message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}
        return web.json_response({"model": body["model"], "choices": [choice]})

    asked: list[str] = []
    app = web.Application()
    app.add_routes([web.post("/v1/chat/completions", complete)])
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        model = f"openai-compatible:m@http://127.0.0.1:{runner.addresses[0][1]}/v1"
        for _ in range(2):
            found = await target_finding(workplace(tmp_path), f"chat:{model}")
            assert found.well, found.found
            assert " answers (" in found.found
    finally:
        await runner.cleanup()
    assert asked == ["Are you there? Reply with the word yes."] * 2
