"""The shop bot behind every kind of live target, for the contract suite. A new kind joins by one more `Bench`."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from threading import Event
from types import ModuleType
from typing import Any

from aiohttp import web
from msgspec import Struct

from howsure.model.case import Case, user_turns
from howsure.model.transcript import Message, Role, Transcript, Usage
from howsure.targets.base import FinishedSession, Reply, StartableTarget, Target, TargetKind, TargetRequest
from howsure.targets.command.target import CommandKind
from howsure.targets.function.target import FunctionKind
from howsure.targets.http.target import HttpKind
from shop_bot import GARBAGE, ShopBot

TURN_SECONDS = 1.5
STATE = {"shop": "Moss & Co"}


class Stage(Struct, kw_only=True):
    """A target, ready to talk, and what is left of it when it should be gone."""

    target: Target
    leftovers: Callable[[], list[str]] = list


class Bench(Struct, frozen=True, kw_only=True):
    """How to put the shop bot behind one kind of target."""

    name: str
    serve: Callable[[Path], AbstractAsyncContextManager[Stage]]


async def running(kind: TargetKind, wish: TargetRequest) -> Target:
    target = kind.make(wish)
    if isinstance(target, StartableTarget):
        await target.start()
    return target


async def stopped(target: Target) -> None:
    if isinstance(target, StartableTarget):
        await target.stop()


async def conversed(case: Case, target: Target) -> Transcript:
    """One conversation, as a run would have it, without a run: every turn that is known, then the end."""
    session = await target.open(case)
    if isinstance(session, FinishedSession):
        return session.transcript
    messages: list[Message] = []
    usages: list[Usage] = []
    replies: list[Reply] = []
    try:
        for turn in user_turns(case.input):
            reply = await session.send(turn)
            replies.append(reply)
            messages += [Message(role=Role.USER, content=turn), *reply.messages]
            usages += [reply.usage] if reply.usage else []
    finally:
        closing = await session.close()
    said = [message.content for message in messages[-1:] if message.role is Role.ASSISTANT and not message.tool_calls]
    return Transcript(
        answer="".join(said),
        messages=tuple(messages),
        state=closing.state,
        spans=closing.spans,
        usage=summed(usages),
        sent=replies[0].sent,
    )


def summed(usages: list[Usage]) -> Usage | None:
    prompt, completion = (
        sum(getattr(one, name) or 0 for one in usages) for name in ("prompt_tokens", "completion_tokens")
    )
    return Usage(prompt_tokens=prompt, completion_tokens=completion) if usages else None


# HTTP


@asynccontextmanager
async def web_bot(answer: Callable[[web.Request], Any]) -> AsyncIterator[str]:
    """The address of a server on loopback that answers every request so."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    try:
        yield f"http://{host}:{port}/chat"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def over_http(folder: Path) -> AsyncIterator[Stage]:
    bot = ShopBot()

    async def answer(request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        match asked["message"]:
            case "break":
                raise web.HTTPInternalServerError(text="the shop is on fire: boom")
            case "hang":
                await asyncio.sleep(60)
            case "leave":
                assert request.transport is not None
                request.transport.abort()
            case "garbage":
                return web.Response(text=GARBAGE, content_type="text/html")
            case _:
                pass
        return web.json_response(bot.answer(asked["message"], asked["session_id"], asked["state"]))

    async with web_bot(answer) as url:
        wish = TargetRequest(name="shop", rest=url, settings={"turn_seconds": TURN_SECONDS}, folder=folder, state=STATE)
        target = await running(HttpKind(), wish)
        try:
            yield Stage(target=target)
        finally:
            await stopped(target)


# Python


def python_module(name: str, answer: Callable[..., Any]) -> str:
    """A module that holds the function; the spec that leads to it."""
    module = ModuleType(name)
    vars(module)["answer"] = answer
    sys.modules[name] = module
    return f"{name}:answer"


@asynccontextmanager
async def as_async_function(folder: Path) -> AsyncIterator[Stage]:
    bot = ShopBot()

    async def answer(text: str, session_id: str, state: dict[str, Any]) -> Any:
        if text == "hang":
            await asyncio.sleep(60)
        return misbehaving(text) or bot.answer(text, session_id, state)

    async with function_stage(folder, python_module("shop_async", answer)) as stage:
        yield stage


@asynccontextmanager
async def as_function(folder: Path) -> AsyncIterator[Stage]:
    bot, closing = ShopBot(), Event()

    def answer(text: str, *, session_id: str, state: dict[str, Any]) -> Any:
        if text == "hang":
            closing.wait(60)
        return misbehaving(text) or bot.answer(text, session_id, state)

    async with function_stage(folder, python_module("shop_sync", answer)) as stage:
        try:
            yield stage
        finally:
            closing.set()


@asynccontextmanager
async def as_class(folder: Path) -> AsyncIterator[Stage]:
    bot = ShopBot()

    class Conversation:
        def __init__(self, session_id: str, state: dict[str, Any]) -> None:
            self._session = session_id
            self._state = state

        async def send(self, text: str) -> Any:
            if text == "hang":
                await asyncio.sleep(60)
            answer = misbehaving(text) or bot.answer(text, self._session, self._state)
            self._state = answer.get("state", self._state) if isinstance(answer, dict) else self._state
            return answer

        async def close(self) -> None:
            return None

    async with function_stage(folder, python_module("shop_class", Conversation)) as stage:
        yield stage


def misbehaving(text: str) -> Any:
    match text:
        case "break":
            raise RuntimeError("boom")
        case "leave":
            sys.exit(3)
        case "garbage":
            return object()
        case _:
            return None


@asynccontextmanager
async def function_stage(folder: Path, spec: str) -> AsyncIterator[Stage]:
    wish = TargetRequest(name="shop", rest=spec, settings={"turn_seconds": TURN_SECONDS}, folder=folder, state=STATE)
    target = await running(FunctionKind(), wish)
    try:
        yield Stage(target=target)
    finally:
        await stopped(target)
        del sys.modules[spec.partition(":")[0]]


# Programs


def as_program(mode: str) -> Callable[[Path], AbstractAsyncContextManager[Stage]]:
    @asynccontextmanager
    async def serve(folder: Path) -> AsyncIterator[Stage]:
        pids = folder / "pids"
        settings = {
            "command": [sys.executable, str(Path(__file__).parent / "shop_bot.py")],
            "env": ["SHOP_BOT_PIDS"],
            "mode": mode,
            "turn_seconds": TURN_SECONDS,
            "stop_seconds": 2.0,
        }
        environ = {**os.environ, "SHOP_BOT_PIDS": str(pids)}
        wish = TargetRequest(name="shop", settings=settings, folder=folder, environ=environ, state=STATE)
        target = await running(CommandKind(), wish)
        try:
            yield Stage(target=target, leftovers=lambda: alive(pids))
        finally:
            await stopped(target)

    return serve


def alive(pids: Path) -> list[str]:
    """The programs that still run; children of theirs may take a moment to die."""
    left = pids.read_text(encoding="utf-8").split() if pids.exists() else []
    for _ in range(100):
        left = [number for number in left if _runs(int(number))]
        if not left:
            break
        time.sleep(0.03)
    return left


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A child whose parent is gone waits for whoever reaps it; it runs no more.
    status = Path(f"/proc/{pid}/stat")
    return not (status.exists() and status.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z")


BENCHES = (
    Bench(name="http", serve=over_http),
    Bench(name="async function", serve=as_async_function),
    Bench(name="function", serve=as_function),
    Bench(name="class", serve=as_class),
    Bench(name="command", serve=as_program("conversation")),
    Bench(name="command server", serve=as_program("server")),
)
