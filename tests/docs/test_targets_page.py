"""docs/targets.md: the bots it shows work with the settings it shows, and every setting and reason is explained."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from howsure.dialects.datasets import read_cases, validate
from howsure.dialects.golden import GoldenDialect
from howsure.model.case import Case, Script
from howsure.targets.base import Target, TargetKind, TargetRequest
from howsure.targets.command.target import CommandKind, CommandSettings
from howsure.targets.function.calls import KNOWN
from howsure.targets.function.target import FunctionKind, FunctionSettings
from howsure.targets.http.plan import (
    BODY,
    HttpSettings,
    SessionCloseCall,
    SessionOpenCall,
    ToolCallPaths,
    UsagePaths,
)
from howsure.targets.http.target import HttpKind
from howsure.targets.http.templates import PLACEHOLDERS
from live_targets import conversed, running, stopped, web_bot

PAGE = (Path(__file__).parents[2] / "docs" / "targets.md").read_text(encoding="utf-8")
KINDS: dict[str, TargetKind] = {kind.name: kind for kind in (HttpKind(), FunctionKind(), CommandKind())}


def blocks(language: str) -> list[str]:
    found: list[str] = re.findall(rf"```{language}\n(.+?)```", PAGE, re.DOTALL)
    return found


@pytest.fixture
def workplace(tmp_path: Path) -> Iterator[Path]:
    """A folder with every Python file of the page."""
    before = list(sys.path)
    for source in blocks("python"):
        name = re.match(r"# (\w+\.py)\n", source)
        assert name is not None
        (tmp_path / name[1]).write_text(source, encoding="utf-8")
    yield tmp_path
    sys.path[:] = before


def settings(kind: str, number: int = 0) -> tuple[str, dict[str, Any]]:
    """A target that the page shows, by its kind."""
    shown = [target for block in blocks("yaml") for target in yaml.safe_load(block)["targets"].items()]
    name, block = [(name, block) for name, block in shown if block["kind"] == kind][number]
    return name, block


async def made(folder: Path, kind: str, number: int = 0, **environ: str) -> Target:
    name, block = settings(kind, number)
    wish = TargetRequest(name=name, settings=block, folder=folder, environ={**os.environ, **environ})
    return await running(KINDS[kind], wish)


def dataset(folder: Path) -> Case:
    path = folder / "shop_golden.json"
    path.write_text(blocks("json")[0], encoding="utf-8")
    report = validate(path, GoldenDialect())
    assert (report.problems, report.warnings) == ((), ())
    (case,) = read_cases(path, GoldenDialect(), report)
    return case


async def test_the_first_bot_passes_the_first_dataset(workplace: Path) -> None:
    case = dataset(workplace)
    told = await conversed(case, await made(workplace, "function"))
    assert told.answer == "Order 42 has been shipped."
    assert [(call.name, call.arguments) for call in told.tool_calls] == [("look_up", {"order": "42"})]
    assert told.state == {"order": "42"}


async def test_the_class_works_as_shown(workplace: Path) -> None:
    told = await conversed(Case(id="1", input=Script(turns=("a", "b"))), await made(workplace, "function", 1))
    assert told.answer == "Good morning! You have said 2 things."
    assert told.state == {"heard": 2}


async def test_the_program_works_as_shown(workplace: Path) -> None:
    python = str(Path(sys.executable).parent)
    target = await made(workplace, "command", PATH=f"{python}{os.pathsep}{os.environ['PATH']}")
    told = await conversed(Case(id="1", input=Script(turns=("a", "b"))), target)
    assert told.answer == "Turn 2: you said 'b'."
    assert told.state == {"turns": 2}


async def test_the_http_block_reads_a_bot_of_its_shape() -> None:
    seen: list[tuple[str, str, Any]] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.headers["Authorization"] == "Bearer sesame-open-123"
        body = await request.json() if request.can_read_body else None
        seen.append((request.method, request.path, body))
        if request.path == "/v1/sessions":
            return web.json_response({"session": {"id": "s1"}})
        return web.json_response(
            {
                "output": {
                    "replies": [{"text": "One moment."}, {"text": "It is shipped."}],
                    "actions": [{"action": "look_up", "parameters": {"order": "42"}, "outcome": "shipped"}],
                },
                "session": {"variables": {"order": "42"}},
                "metering": {"tokens": {"in": 3, "out": 4}},
                "fault": None,
            }
        )

    async with web_bot(answer) as url:
        name, block = settings("http")
        here = url.removesuffix("/chat")
        wish = TargetRequest(name=name, settings=moved(block, here), environ={"SHOP_TOKEN": "sesame-open-123"})
        target = await running(HttpKind(), wish)
        told = await conversed(Case(id="1", input=Script(turns=("Where is it?",)), state={"a": 1}), target)
        await stopped(target)
    assert seen == [
        ("POST", "/v1/sessions", {"variables": {"a": 1}}),
        (
            "POST",
            "/v1/sessions/s1/messages",
            {"input": {"text": "Where is it?", "locale": "en"}, "variables": {"a": 1}},
        ),
        ("DELETE", "/v1/sessions/s1", None),
    ]
    assert told.answer == "It is shipped."
    assert [(call.name, call.arguments) for call in told.tool_calls] == [("look_up", {"order": "42"})]
    assert told.state == {"order": "42"}
    assert told.usage is not None


async def test_the_stream_block_reads_a_stream() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        assert (await request.json())["messages"] == [{"role": "user", "content": "Hi"}]
        pieces = [json.dumps({"choices": [{"delta": {"content": piece}}]}) for piece in ("Hel", "lo")]
        last = json.dumps({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}})
        text = "".join(f"data: {each}\n\n" for each in (*pieces, last, "[DONE]"))
        return web.Response(text=text, content_type="text/event-stream")

    async with web_bot(answer) as url:
        name, block = settings("http", 1)
        target = await running(HttpKind(), TargetRequest(name=name, settings=moved(block, url.removesuffix("/chat"))))
        told = await conversed(Case(id="1", input=Script(turns=("Hi",))), target)
        await stopped(target)
    assert told.answer == "Hello"


def moved(value: Any, here: str) -> Any:
    """The block of the page, with the address of the test's server."""
    if isinstance(value, Mapping):
        return {name: moved(inner, here) for name, inner in value.items()}
    return value.replace("http://127.0.0.1:8000", here) if isinstance(value, str) else value


def test_what_is_posted_without_settings_is_what_it_shows() -> None:
    assert list(json.loads(blocks("json")[1])) == list(BODY)


@pytest.mark.parametrize(
    "block",
    [HttpSettings, ToolCallPaths, UsagePaths, SessionOpenCall, SessionCloseCall, FunctionSettings, CommandSettings],
    ids=lambda block: block.__name__,
)
def test_every_setting_is_explained(block: Any) -> None:
    assert [name for name in block.__struct_fields__ if f"`{name}`" not in PAGE] == []


def test_every_placeholder_and_parameter_is_explained() -> None:
    assert [name for name in PLACEHOLDERS if f"`{{{name}}}`" not in PAGE] == []
    assert [name for name in KNOWN if f"`{name}`" not in PAGE] == []


def test_every_kind_has_its_section() -> None:
    assert [name for name in (*KINDS, "chat") if f"## `{name}`" not in PAGE] == []
