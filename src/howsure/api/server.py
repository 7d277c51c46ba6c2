"""`howsure serve`: the service as a process, with its workers."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from socket import socket
from subprocess import PIPE
from typing import Protocol

import uvicorn
from msgspec import Struct
from starlette.types import ASGIApp

from howsure.api.app import ServiceAccess, create_service
from howsure.errors import ConfigInvalid
from howsure.services.host.context import Host
from howsure.services.host.worker import tune_garbage_collection
from howsure.services.workspace import Workspace
from howsure.store.store import Store

log = logging.getLogger("howsure.serve")

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
RESTART_SECONDS = 1.0
STOP_SECONDS = 20.0


class ServerOptions(Struct, frozen=True, kw_only=True):
    """Where and how to serve. `flags` are passed on to the workers."""

    host: str = "127.0.0.1"
    port: int = 8002
    workers: int = 1
    keys: bool = False
    flags: tuple[str, ...] = ()


class PagesFactory(Protocol):
    """Makes the pages that are served beside the API."""

    def __call__(self, host: Host, *, keys_needed: bool) -> ASGIApp: ...


def is_loopback(host: str) -> bool:
    if host in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def serve(work: Workspace, serving: ServerOptions, pages: PagesFactory | None = None) -> None:
    """Serve until stopped, with the pages where there are any. Beyond this machine, everything needs a key."""
    async with await work.store() as store:
        access = await access_for(work, store, serving)
        host = Host(work, store)
        shown = None if pages is None else pages(host, keys_needed=access.keys_needed)
        app = create_service(host, access, shown)
        settings = uvicorn.Config(
            app,
            host=serving.host,
            port=serving.port,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=10,
            lifespan="off",
        )
        # uvicorn sends itself the signal again after it has stopped; our workers are still stopping then.
        for number in (signal.SIGTERM, signal.SIGINT):
            with suppress(NotImplementedError):
                asyncio.get_running_loop().add_signal_handler(number, lambda: None)
        tune_garbage_collection()
        async with workers(serving.workers, serving.flags):
            await AnnouncingServer(settings).serve()


class AnnouncingServer(uvicorn.Server):
    """A server that logs where it listens; ConfigInvalid where it cannot."""

    async def startup(self, sockets: list[socket] | None = None) -> None:
        host, port = self.config.host, self.config.port
        try:
            await super().startup(sockets)
        except SystemExit:
            raise ConfigInvalid(f"port {port} of {host} cannot be used: something else may have it") from None
        port = self.servers[0].sockets[0].getsockname()[1]
        log.info("serving http://%s:%s/api/v1", f"[{host}]" if ":" in host else host, port)


async def access_for(work: Workspace, store: Store, serving: ServerOptions) -> ServiceAccess:
    rules = work.settings.service
    local = is_loopback(serving.host)
    if not local and not await store.keys.any():
        raise ConfigInvalid(
            f"--host {serving.host} is open to others, and there is no key yet: make one with "
            "`howsure keys create --name me --scope admin`"
        )
    names = (*LOOPBACK_NAMES, *rules.host_names) if local else rules.host_names
    return ServiceAccess(keys_needed=serving.keys or not local, host_names=names)


@asynccontextmanager
async def workers(number: int, flags: Sequence[str]) -> AsyncIterator[None]:
    """Worker processes, each restarted when it dies; they stop when this process ends, however it ends."""
    keeping = [asyncio.create_task(_keep(flags)) for _ in range(number)]
    try:
        yield
    finally:
        for each in keeping:
            each.cancel()
        await asyncio.gather(*keeping, return_exceptions=True)


async def _keep(flags: Sequence[str]) -> None:
    command = (sys.executable, "-m", "howsure", "worker", "--while-open", *flags)
    while True:
        process = await asyncio.create_subprocess_exec(*command, stdin=PIPE)
        try:
            await process.wait()
        finally:
            await _end(process)
        log.error("a worker ended by itself (exit %s): another is started", process.returncode)
        await asyncio.sleep(RESTART_SECONDS)


async def _end(process: asyncio.subprocess.Process) -> None:
    """A worker stops when its stdin is closed; one that does not is killed, and others take over its runs."""
    if process.returncode is not None:
        return
    if process.stdin is not None:
        process.stdin.close()
    with suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), STOP_SECONDS)
    if process.returncode is None:
        process.kill()
        await process.wait()
