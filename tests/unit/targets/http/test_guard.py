"""Targets that somebody asked the service for: they go where the guard lets them, and nowhere else."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from howsure.errors import TargetFailed
from howsure.llm.transport import AddressGuard
from howsure.model.case import Case, SingleTurn
from howsure.targets.adk.target import AdkKind
from howsure.targets.base import TargetRequest
from howsure.targets.http.target import HttpKind

CASE = Case(id="c", input=SingleTurn(message="hello"))
WHY = "this host leads to an address that the service may not call"


class Bot:
    """A bot that counts who came."""

    def __init__(self) -> None:
        self.came: list[str] = []
        self.url = ""

    async def chat(self, request: web.Request) -> web.Response:
        self.came.append(request.path)
        if request.path == "/away":
            raise web.HTTPFound("http://169.254.169.254/latest/meta-data")
        return web.json_response({"answer": "fine"})


@pytest.fixture
async def bot() -> AsyncIterator[Bot]:
    bot, app = Bot(), web.Application()
    app.router.add_route("*", "/{rest:.*}", bot.chat)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    bot.url = f"127.0.0.1:{runner.addresses[0][1]}"
    yield bot
    await runner.cleanup()


def anywhere(host: str, address: str, port: int) -> bool:
    return True


def nowhere(host: str, address: str, port: int) -> bool:
    return False


def wish(url: str, guard: AddressGuard | None, **environ: str) -> TargetRequest:
    return TargetRequest(name="http", rest=url, guard=guard, environ=environ)


async def said(made: TargetRequest) -> str:
    target = HttpKind().make(made)
    await target.start()
    try:
        session = await target.open(CASE)
        reply = await session.send("hello")
        return reply.messages[-1].content
    finally:
        await target.stop()


async def test_a_listed_bot_is_asked(bot: Bot) -> None:
    assert await said(wish(f"http://{bot.url}/chat", anywhere)) == "fine"
    assert await HttpKind().make(wish(f"http://{bot.url}/chat", anywhere)).check()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_another_is_never_reached(bot: Bot, host: str) -> None:
    url = f"http://{bot.url.replace('127.0.0.1', host)}/chat"
    with pytest.raises(TargetFailed, match=WHY) as raised:
        await said(wish(url, nowhere))
    assert str(raised.value).startswith(f"{url}: {WHY}")
    with pytest.raises(TargetFailed, match=WHY):
        await HttpKind().make(wish(url, nowhere)).check()
    assert bot.came == []


async def test_a_redirect_is_not_followed(bot: Bot) -> None:
    with pytest.raises(TargetFailed, match="302"):
        await said(wish(f"http://{bot.url}/away", anywhere))
    assert bot.came == ["/away"]


async def test_no_proxy_goes_around_the_guard(bot: Bot) -> None:
    proxied = wish("http://bot.invalid/chat", anywhere, http_proxy=f"http://{bot.url}")
    with pytest.raises(TargetFailed, match="there is no such host"):
        await said(proxied)
    assert bot.came == []


async def test_an_adk_server_is_guarded_too(bot: Bot) -> None:
    target = AdkKind().make(TargetRequest(name="adk", rest=f"http://{bot.url}/shop", guard=nowhere))
    with pytest.raises(TargetFailed, match=WHY) as raised:
        await target.check()
    assert str(raised.value).startswith(f"http://{bot.url}: {WHY}")
    await target.stop()
    assert bot.came == []
