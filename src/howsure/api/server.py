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
from howsure.api.connections import BACKLOG, TimedConnection, connection_limit
from howsure.errors import ConfigInvalid
from howsure.services.host.audit import record_settings
from howsure.services.host.retention import purging_daily
from howsure.services.host.webhooks import sending_webhooks
from howsure.services.host.worker import tune_garbage_collection
from howsure.services.processes import end_process, raise_file_limit
from howsure.services.run.execute import check_budgets, check_engine
from howsure.services.workspace import Host, Workspace
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
    check_budgets(work.settings.service)
    check_engine(work.settings.engine.value)
    async with await work.store() as store:
        access = await access_for(work, store, serving)
        await record_settings(store, work.settings)
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
            # It believes any proxy on this machine: RequestMiddleware believes those that `service.proxies` lists.
            proxy_headers=False,
            timeout_graceful_shutdown=10,
            lifespan="off",
            http=TimedConnection,
            backlog=BACKLOG,
            limit_concurrency=connection_limit(work.settings.service.connections, raise_file_limit()),
        )
        # uvicorn sends itself the signal again after it has stopped; our workers are still stopping then.
        for number in (signal.SIGTERM, signal.SIGINT):
            with suppress(NotImplementedError):
                asyncio.get_running_loop().add_signal_handler(number, lambda: None)
        tune_garbage_collection()
        async with workers(serving.workers, serving.flags), purging_daily(work, store), sending_webhooks(host):
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
    if serving.keys and local and not rules.proxies:
        log.warning("service.proxies lists no reverse proxy: behind one, everybody seems to come from its address")
    if not local and rules.oidc is None and not await store.keys.any():
        raise ConfigInvalid(
            f"--host {serving.host} is open to others, and there is no key yet: make one with "
            "`howsure keys create --name me --role admin`"
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
            # One that does not stop is killed, and others take over its runs.
            await end_process(process, STOP_SECONDS, process.kill)
        log.error("a worker ended by itself (exit %s): another is started", process.returncode)
        await asyncio.sleep(RESTART_SECONDS)
