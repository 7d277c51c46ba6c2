"""The HTTP target against a real server on loopback: sessions, cookies, streams, limits and bad days."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from howsure.errors import TargetFailed, TargetTimedOut
from howsure.model.case import Case, Script, SingleTurn
from howsure.model.expectation import Choice, CorrectChoice
from howsure.model.transcript import Message, Role, SentRequest
from howsure.targets.base import CheckableTarget, Reply, StartableTarget, TargetRequest
from howsure.targets.http.target import HttpKind, HttpTarget
from howsure.testing import a_case
from live_targets import conversed, web_bot

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def bot(answer: Answer, **settings: Any) -> AsyncIterator[HttpTarget]:
    async with web_bot(answer) as url:
        filled = {name: at(value, url) for name, value in settings.items()}
        target = HttpKind().make(
            TargetRequest(name="shop", rest=url, settings=filled, environ={"KEY": "sesame-open-123"})
        )
        await target.start()
        try:
            yield target
        finally:
            await target.stop()


def at(value: Any, url: str) -> Any:
    """Settings with the server's address in the place of `BOT`."""
    if isinstance(value, dict):
        return {name: at(inner, url) for name, inner in value.items()}
    return value.replace("BOT", url) if isinstance(value, str) else value


async def ask(target: HttpTarget, text: str = "Hi") -> Reply:
    session = await target.open(a_case())
    try:
        return await session.send(text)
    finally:
        await session.close()


async def failure(target: HttpTarget, kind: type[TargetFailed] = TargetFailed) -> str:
    with pytest.raises(kind) as caught:
        await ask(target)
    return str(caught.value)


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


async def says_hello(request: web.Request) -> web.StreamResponse:
    return web.json_response({"answer": "Hello"})


async def test_a_bot_took_as_long_as_its_answer_and_waiting_for_a_place_is_not_its_time() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(0.1)
        return web.json_response({"answer": "Hello"})

    async with bot(answer, max_connections=1) as target:
        begun = time.monotonic()
        replies = await asyncio.gather(*(ask(target) for _ in range(8)))
        whole = (time.monotonic() - begun) * 1000
    took = [reply.duration_ms for reply in replies]
    assert all(isinstance(each, float) and each >= 100 for each in took), took
    # One after the other they are the whole; with their waiting they would be more than four times as much.
    assert sum(each or 0.0 for each in took) <= 1.5 * whole, took


async def test_one_connection_serves_all_turns() -> None:
    peers: set[Any] = set()

    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        peers.add(request.transport.get_extra_info("peername"))
        return web.json_response({"answer": "Hello"})

    async with bot(answer) as target:
        for _ in range(5):
            await ask(target)
    assert len(peers) == 1


async def test_a_session_is_opened_and_closed_where_the_bot_wants_that() -> None:
    seen: list[tuple[str, str, Any]] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        body = await request.json() if request.can_read_body else None
        seen.append((request.method, request.path, body))
        if request.path.endswith("/new"):
            return web.json_response({"session": {"id": 17}})
        if request.method == "DELETE":
            return web.json_response({"vars": {"done": True}})
        return web.json_response({"answer": "Hello"})

    session = {
        "open": {"url": "BOT/new", "body": {"vars": "{state}"}, "id": "session.id"},
        "close": {"url": "BOT/{session_id}", "method": "DELETE", "state": "vars"},
    }
    async with bot(answer, session=session, body={"q": "{message}", "s": "{session_id}"}) as target:
        transcript = await conversed(a_case(message="Hi", state={"a": 1}), target)
    assert seen == [
        ("POST", "/chat/new", {"vars": {"a": 1}}),
        ("POST", "/chat", {"q": "Hi", "s": "17"}),
        ("DELETE", "/chat/17", None),
    ]
    assert transcript.state == {"done": True}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"x": 1}, "`session.id` leads nowhere"),
        ({"session": {"id": None}}, "its session id is none: expected text, found null"),
        ({"session": {"id": ""}}, "its session id is none: expected text, found text ''"),
    ],
)
async def test_a_session_without_an_id_is_told(body: Any, told: str) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.json_response(body)

    async with bot(answer, session={"open": {"url": "BOT/new", "id": "session.id"}}) as target:
        assert told in await failure(target)


async def test_cookies_belong_to_one_conversation() -> None:
    seen: list[dict[str, str]] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        seen.append(dict(request.cookies))
        response = web.json_response({"answer": "Hello"})
        response.set_cookie("sid", f"c{len(seen)}")
        return response

    async with bot(answer) as target:
        first, second = await target.open(a_case()), await target.open(a_case())
        await first.send("a")
        await second.send("b")
        await first.send("c")
        await second.send("d")
    assert seen == [{}, {}, {"sid": "c1"}, {"sid": "c2"}]


async def test_headers_carry_secrets_and_no_redirect_is_followed() -> None:
    seen: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        seen.append(request.headers["Authorization"])
        raise web.HTTPTemporaryRedirect("/elsewhere?key=sesame-open-123")

    async with bot(answer, headers={"Authorization": "Bearer ${KEY}"}) as target:
        told = await failure(target)
    assert seen == ["Bearer sesame-open-123"]
    assert "307 Temporary Redirect" in told
    assert "sesame" not in told


async def test_a_stream_ends_where_the_bot_says_so_although_the_connection_stays_open() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for piece in ("Hel", "lo"):
            await response.write(f'data: {{"d": "{piece}"}}\n\n'.encode())
            await asyncio.sleep(0.01)
        await response.write(b"data: [DONE]\n\n")
        await asyncio.sleep(60)
        return response

    async with bot(answer, stream="sse", delta="d", turn_seconds=10) as target:
        reply = await ask(target)
    assert reply.messages[0].content == "Hello"


async def test_a_connection_that_breaks_in_the_answer_is_told() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b'{"answer": "Hel')
        assert request.transport is not None
        request.transport.abort()
        return response

    async with bot(answer) as target:
        told = await failure(target)
    assert told.startswith("cannot reach http://127.0.0.1:")
    assert "connection" in told


async def test_an_answer_that_is_too_large_is_refused() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(body=b'"' + b"x" * (17 * 1024 * 1024) + b'"')

    async with bot(answer) as target:
        assert "sent more than 16,777,216 bytes" in await failure(target)


async def test_a_bot_that_is_too_slow_is_timed_out() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(60)
        return web.Response()

    async with bot(answer, turn_seconds=0.1) as target:
        told = await failure(target, TargetTimedOut)
    assert told.endswith("in 0.1 s")


async def test_waiting_for_a_connection_is_not_the_bots_time() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(0.15)
        return web.json_response({"answer": "Hello"})

    async with bot(answer, turn_seconds=2, max_connections=1) as target:
        replies = await asyncio.gather(*(ask(target) for _ in range(16)))
    assert len(replies) == 16


async def test_a_bot_that_is_not_there_is_told_and_so_is_its_health() -> None:
    url = f"http://127.0.0.1:{free_port()}/chat"
    target = HttpKind().make(TargetRequest(name="shop", rest=url, settings={"connect_tries": 2}))
    await target.start()
    told = await failure(target)
    with pytest.raises(TargetFailed, match=r"cannot reach .*: connection refused"):
        await target.check()
    await target.stop()
    assert told == f"cannot reach {url}: connection refused; is the bot running there?"


async def test_a_bot_that_is_still_starting_is_waited_for() -> None:
    port = free_port()
    target = HttpKind().make(
        TargetRequest(name="shop", rest=f"http://127.0.0.1:{port}/chat", settings={"connect_tries": 8})
    )
    await target.start()
    asked = asyncio.create_task(ask(target))
    await asyncio.sleep(0.3)
    application = web.Application()
    application.router.add_post("/chat", says_hello)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    reply = await asked
    await target.stop()
    await runner.cleanup()
    assert reply.messages[0].content == "Hello"


@pytest.mark.parametrize(("retries", "calls"), [(0, 1), (1, 2), (3, 3)])
async def test_a_turn_is_sent_again_only_where_the_settings_say_so(retries: int, calls: int) -> None:
    seen: list[int] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        seen.append(1)
        if len(seen) < 3:
            raise web.HTTPServiceUnavailable(text="busy")
        return web.json_response({"answer": "Hello"})

    async with bot(answer, retries=retries) as target:
        if retries < 2:
            assert "503 Service Unavailable (text/plain): busy" in await failure(target)
        else:
            await ask(target)
    assert len(seen) == calls


async def test_an_error_that_will_not_go_away_is_not_tried_again() -> None:
    seen: list[int] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        seen.append(1)
        raise web.HTTPBadRequest(text="no")

    async with bot(answer, retries=5) as target:
        await failure(target)
    assert len(seen) == 1


async def test_health_is_asked_for() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path != "/health":
            raise web.HTTPNotFound
        return web.Response(status=200 if request.method == "GET" else 500, text="fine")

    async with bot(answer, health="/health") as target:
        assert "/health answered 200 OK (text/plain) in " in await target.check()
    async with bot(answer, health="/nowhere") as target:
        with pytest.raises(TargetFailed, match="404 Not Found"):
            await target.check()


async def test_without_a_health_address_a_connection_is_tried() -> None:
    async with bot(says_hello) as target:
        assert "accepts connections" in await target.check()


async def test_a_target_is_held_open_and_can_be_checked() -> None:
    target = HttpKind().make(TargetRequest(name="shop", rest="http://127.0.0.1:1"))
    assert isinstance(target, StartableTarget)
    assert isinstance(target, CheckableTarget)
    assert target.name == "shop"
    with pytest.raises(TargetFailed, match="target 'shop' was not started"):
        await target.open(a_case())
    await target.stop()


async def test_repeats_have_ids_of_their_own() -> None:
    seen: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        seen.append((await request.json())["session_id"])
        return web.json_response({"answer": "Hello"})

    async with bot(answer) as target:
        for _ in range(3):
            await conversed(Case(id="1", input=Script(turns=("a", "b"))), target)
    assert [seen[place] == seen[place + 1] for place in (0, 2, 4)] == [True] * 3
    assert len(set(seen)) == 3


async def test_the_history_is_sent() -> None:
    seen: list[Any] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        seen.append(await request.json())
        return web.json_response({"answer": "Hello"})

    async with bot(answer, body={"messages": "{messages}", "n": "{turn}"}) as target:
        await conversed(Case(id="1", input=Script(turns=("a", "b"))), target)
    assert seen[1] == {
        "n": 2,
        "messages": [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": "Hello"},
            {"role": "user", "content": "b"},
        ],
    }


CHOICES = (Choice(id="A", text="Yes"), Choice(id="B", text="No"))
QUESTION = a_case(
    CorrectChoice(choices=CHOICES, correct=("A",)),
    input=SingleTurn(message="May he?", context="He is ten."),
)


async def sent_to(body: Any) -> tuple[Any, Reply]:
    """What a bot is sent for a question with choices and context, and its reply."""
    seen: list[Any] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        seen.append(await request.json())
        return web.json_response({"answer": "A"})

    async with bot(answer, **({"body": body} if body else {})) as target:
        session = await target.open(QUESTION)
        reply = await session.send("May he?")
    return seen[0], reply


async def test_the_usual_body_holds_the_whole_case_in_its_message() -> None:
    body, reply = await sent_to(None)
    assert body["message"].startswith("He is ten.\n\nMay he?\n\nA. Yes\nB. No\n\n")
    assert reply.sent == SentRequest(messages=(Message(role=Role.USER, content=body["message"]),))


async def test_what_a_template_places_itself_is_not_sent_twice_and_the_body_is_kept_without_secrets() -> None:
    body, reply = await sent_to(
        {"q": "{message}", "bare": "{prompt}", "options": "{choices}", "about": "{context}", "key": "${KEY}"}
    )
    assert body["q"].startswith("May he?\n\n")
    assert "A. Yes" not in body["q"]
    assert (body["bare"], body["about"], body["key"]) == ("May he?", "He is ten.", "sesame-open-123")
    assert body["options"] == [{"id": "A", "text": "Yes"}, {"id": "B", "text": "No"}]
    assert reply.sent is not None
    assert json.loads(reply.sent.body) == {**body, "key": "[secret]"}


@pytest.mark.parametrize(
    ("settings", "told"),
    [({}, False), ({"body": {"who": "{candidate}"}}, True), ({"headers": {"X-Who": "{candidate}"}}, True)],
)
async def test_a_target_knows_whether_it_tells_the_candidate(settings: dict[str, Any], told: bool) -> None:
    async with bot(says_hello, **settings) as target:
        assert target.takes_candidate is told


def test_aiohttp_is_not_imported_before_a_run_starts() -> None:
    source = (
        "import sys, howsure.targets.http.target, howsure.targets.function.target, howsure.targets.command.target;"
        "howsure.targets.http.target.HttpKind().make(howsure.targets.base.TargetRequest(name='x', rest='http://127.0.0.1:1'));"
        "sys.exit('aiohttp' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", source], check=False).returncode == 0
