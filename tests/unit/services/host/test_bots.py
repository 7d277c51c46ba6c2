"""What is known of an agent: written here, or fetched from the bot service, whatever that answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from hosts import a_dataset, hosted, question, requested
from howsure.config import ServiceSettings
from howsure.errors import NotFound, PlanRefused, Unreachable
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.document import DocumentKind
from howsure.services.host.bots import MAX_BYTES, bot_context, fetch_bot
from howsure.services.host.documents import DocumentChange, add_document
from howsure.services.host.run_requests import submit_run
from listening import listening

BOT = "def answer(text): return text"
MOSS = {"bot_name": "Moss", "organization_id": "acme", "system_prompt": "Be kind.", "team": "blue",
        "tools": [{"id": "1", "tool_name": "refund"}] * 3}  # fmt: skip


@asynccontextmanager
async def a_bot_service(
    status: int = 200, body: Any = MOSS, **headers: str
) -> AsyncIterator[tuple[str, list[web.Request]]]:
    came: list[web.Request] = []

    async def describe(request: web.Request) -> web.Response:
        came.append(request)
        if isinstance(body, bytes):
            return web.Response(status=status, body=body, headers=headers)
        return web.json_response(body, status=status, headers=headers)

    async with listening("GET", "/bots/{id}", describe) as port:
        yield f"http://127.0.0.1:{port}/bots/{{id}}", came


async def test_an_agent_is_fetched_where_nobody_described_it(tmp_path: Path) -> None:
    async with a_bot_service() as (address, came), hosted(tmp_path, BOT, bot_service=address) as host:
        found, _ = await bot_context(host, "64f0 ä/../x", EVERYWHERE)
        assert (found["bot_id"], found["bot_name"], found["team"], found["llm_config"]) == (
            "64f0 ä/../x",
            "Moss",
            "blue",
            None,
        )
        assert [tool["tool_name"] for tool in found["tools"]] == ["refund"]
        assert came[0].path == "/bots/64f0 ä/../x"
        assert "Authorization" not in came[0].headers


async def test_what_was_written_here_comes_first(tmp_path: Path) -> None:
    async with a_bot_service() as (address, came), hosted(tmp_path, BOT, bot_service=address) as host:
        await add_document(host, DocumentKind.AGENT, DocumentChange(body={"bot_name": "Ours"}), EVERYWHERE, "b1")
        assert (await bot_context(host, "b1", EVERYWHERE))[0]["bot_name"] == "Ours"
        assert came == []


async def test_the_key_of_the_bot_service_is_named_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOTS_KEY", "very-secret")
    async with a_bot_service() as (address, came):
        rules = ServiceSettings(bot_service=address, bot_service_key="BOTS_KEY")
        found = await fetch_bot(rules, "b1")
        assert came[0].headers["Authorization"] == "Bearer very-secret"
        assert "very-secret" not in repr(found)


@pytest.mark.parametrize(
    ("status", "body", "error", "told"),
    [
        (404, {}, NotFound, "there is no agent b1"),
        (500, {}, Unreachable, "answered 500"),
        (302, {}, PlanRefused, "answered 302"),
        (200, b"<html>", PlanRefused, "is not a description"),
        (200, b"\xff\xfe", PlanRefused, "is not a description"),
        (200, [], PlanRefused, "is not a description"),
        (200, {"bot_name": 3}, PlanRefused, "is not a description"),
        (200, {"bot_name": "x", "tools": [{"no": "name"}]}, PlanRefused, "is not a description"),
        (200, b" " * (MAX_BYTES + 1), PlanRefused, "is larger than"),
    ],
    ids=["none", "broken", "elsewhere", "a page", "not text", "a list", "no name", "odd tools", "endless"],
)
async def test_whatever_the_bot_service_answers_is_told(
    status: int, body: Any, error: type[Exception], told: str
) -> None:
    async with a_bot_service(status, body, Location="http://127.0.0.1:9/") as (address, came):
        with pytest.raises(error, match=told):
            await fetch_bot(ServiceSettings(bot_service=address), "b1")
        assert len(came) == 1


async def test_a_bot_service_that_is_away_is_not_a_missing_agent() -> None:
    with pytest.raises(Unreachable, match="cannot be reached for agent b1"):
        await fetch_bot(ServiceSettings(bot_service="http://127.0.0.1:9/{id}"), "b1")


@pytest.mark.parametrize(
    ("within", "seen"),
    [
        (EVERYWHERE, True),
        (AccessScope(organization_id="acme"), True),
        (AccessScope(organization_id="other"), False),
        (AccessScope(organization_id="acme", agent_ids=("b1",)), True),
        (AccessScope(organization_id="acme", agent_ids=("b2",)), False),
    ],
)
async def test_agents_of_others_are_not_there(tmp_path: Path, within: AccessScope, seen: bool) -> None:
    async with a_bot_service() as (address, _), hosted(tmp_path, BOT, bot_service=address) as host:
        if seen:
            assert (await bot_context(host, "b1", within))[0]["bot_name"] == "Moss"
        else:
            with pytest.raises(NotFound):
                await bot_context(host, "b1", within)


async def test_without_a_bot_service_an_unknown_agent_is_not_there(tmp_path: Path) -> None:
    async with hosted(tmp_path, BOT) as host:
        with pytest.raises(NotFound):
            await bot_context(host, "b1", EVERYWHERE)


async def test_a_run_is_pinned_to_what_the_bot_service_said(tmp_path: Path) -> None:
    async with a_bot_service() as (address, came), hosted(tmp_path, BOT, bot_service=address) as host:
        document = await a_dataset(host, question(1))
        run = (await submit_run(host, requested(dataset_id=document.id, agent_id="b1"), EVERYWHERE)).run
        assert run.pins.agent is not None
        assert (run.pins.agent.id, run.pins.agent.name) == ("b1", "Moss")
        kept = await host.store.documents.get(DocumentKind.AGENT, "b1")
        assert (kept.edition.author, kept.edition.note) == ("bot service", "as the bot service described it")
        assert len(came) == 1
