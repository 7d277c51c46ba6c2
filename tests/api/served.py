"""A service on an ephemeral port, with a worker beside it, for as long as a test lasts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from aiohttp import ClientSession
from msgspec import Struct

from howsure.api.app import ServiceAccess, create_service
from howsure.config import ServiceSettings, Settings
from howsure.kit.plugins import builtin_kit
from howsure.policies.verdicts import builtin_profiles
from howsure.services.host.worker import Worker, WorkerPace
from howsure.services.workspace import Host, Workspace

BOT = """
def answer(text: str) -> str:
    if "break" in text:
        raise RuntimeError("the bot broke")
    return f"You said {text}"
"""
QUICK = WorkerPace(look=0.05, beat=0.05)


class Reply(Struct, frozen=True):
    """What was answered."""

    status: int
    body: Any
    headers: dict[str, str]
    raw: bytes


class Caller:
    """Asks the service, with or without a key."""

    def __init__(self, session: ClientSession, base: str, host: Host) -> None:
        self._session = session
        self.base = base
        self.host = host
        self.key = ""

    async def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.key:
            sent.setdefault("Authorization", f"Bearer {self.key}")
        wanted: dict[str, Any] = {"data": body} if isinstance(body, bytes) else {} if body is None else {"json": body}
        async with self._session.request(method, self.base + path, headers=sent, **wanted) as response:
            raw = await response.read()
            is_json = response.content_type == "application/json"
            parsed = await response.json() if is_json and raw else None
            return Reply(response.status, parsed, {k.lower(): v for k, v in response.headers.items()}, raw)

    async def finished(self, run_id: str, seconds: float = 90.0) -> dict[str, Any]:
        async with asyncio.timeout(seconds):
            while True:
                run: dict[str, Any] = (await self("GET", f"/runs/{run_id}")).body
                if run["status"] in ("completed", "failed"):
                    return run
                await asyncio.sleep(0.05)


@asynccontextmanager
async def serving(
    folder: Path, access: ServiceAccess | None = None, database: str = "", pace: WorkerPace = QUICK, **rules: Any
) -> AsyncIterator[Caller]:
    (folder / "api_bot.py").write_text(BOT)
    chosen = ServiceSettings(**{"target": "bot", "unknown_bots": True, **rules})
    blocks = {"bot": {"kind": "function", "function": "api_bot:answer"}}
    settings = Settings(database=database or str(folder / "howsure.db"), targets=blocks, service=chosen)
    async with serving_workspace(Workspace(settings, builtin_kit(builtin_profiles()), folder), access, pace) as caller:
        yield caller


@asynccontextmanager
async def serving_workspace(
    work: Workspace, access: ServiceAccess | None = None, pace: WorkerPace = QUICK
) -> AsyncIterator[Caller]:
    async with await work.store() as store:
        host = Host(work, store)
        app = create_service(host, access or ServiceAccess())
        # Kept open longer than whoever asks keeps it: a request must not go into a connection that is being closed.
        around = {"log_config": None, "lifespan": "off", "server_header": False, "timeout_keep_alive": 300}
        server = uvicorn.Server(uvicorn.Config(app, port=0, **around))  # type: ignore[arg-type]
        stop = asyncio.Event()
        tasks = [asyncio.create_task(server.serve()), asyncio.create_task(Worker(host, pace).run(stop))]
        try:
            while not server.started:
                await asyncio.sleep(0.01)
            port = server.servers[0].sockets[0].getsockname()[1]
            async with ClientSession() as session:
                yield Caller(session, f"http://127.0.0.1:{port}/api/v1", host)
        finally:
            stop.set()
            server.should_exit = True
            await asyncio.gather(*tasks)
