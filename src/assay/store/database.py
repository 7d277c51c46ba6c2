"""The way to a database: where it is, how it is opened, transactions, and what its errors mean to a person. Everything
that differs between databases is here and in `insert`; the statements elsewhere are the same for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, make_url
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import ArgumentError, DBAPIError

from assay.errors import ConfigInvalid, NotFound

WAIT_SECONDS = 30.0
"""How long a write waits for another process's write."""

THREADS = 4
P = ParamSpec("P")
T = TypeVar("T")

MAGIC = b"SQLite format 3\x00"
PRAGMAS = (
    "foreign_keys = ON",
    "synchronous = NORMAL",
    # Two megabytes, SQLite's own: more made nothing faster here, and a run of many cases filled all of it.
    "cache_size = -2000",
    "temp_store = MEMORY",
    "wal_autocheckpoint = 8000",
)
INSERTS = {"sqlite": sqlite.insert}
"""The dialects whose `insert` knows ON CONFLICT."""

ELSEWHERE = "set ASSAY_DATABASE_URL to a place that can be written"
MEANINGS = {
    "SQLITE_NOTADB": "is not an Assay database",
    "SQLITE_CORRUPT": "is damaged; restore a copy, or move it away to begin a new one",
    "SQLITE_READONLY": f"cannot be written: the file or its folder is read-only; {ELSEWHERE}",
    "SQLITE_CANTOPEN": f"cannot be opened: its folder is read-only, or the path is not a file; {ELSEWHERE}",
    "SQLITE_PERM": f"may not be opened: permission denied; {ELSEWHERE}",
    "SQLITE_BUSY": "is locked by another program, which did not let go in time",
    "SQLITE_LOCKED": "is locked by another program, which did not let go in time",
    "SQLITE_FULL": "cannot grow: the disk is full",
    "SQLITE_IOERR": "cannot be read or written: the disk or its file system reports an error",
}


def insert(dialect: str, table: Table) -> sqlite.Insert:
    """An insert that can say what to do on conflict."""
    return INSERTS[dialect](table)


def place(location: str | Path) -> Path:
    """The file meant by a path or a `sqlite:///` address."""
    if isinstance(location, Path) or "://" not in location:
        return Path(location).expanduser().absolute()
    try:
        url = make_url(location)
    except ArgumentError:
        raise ConfigInvalid(f"{location!r} is not a database address; expected sqlite:///path/to/file.db") from None
    if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:":
        shown = url.render_as_string(hide_password=True)
        raise ConfigInvalid(f"{shown}: this version stores runs in SQLite files only; expected sqlite:///path/file.db")
    return Path(url.database).expanduser().absolute()


class Database:
    """One database. What is to be done in it is a function of a Connection, run as one transaction in a thread: a call
    costs one change of threads, not one for each statement, and the functions would do for any other driver too."""

    def __init__(self, path: Path, engine: Engine) -> None:
        self.path = path
        self._engine = engine
        self._threads = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="assay-store")
        self._writing = asyncio.Lock()
        self._file: tuple[int, int] | None = None

    @classmethod
    def at(cls, path: Path, *, mode: str, wait: float = WAIT_SECONDS) -> Database:
        """`rwc` makes the file where it is missing, `ro` only reads, `immutable` reads a file that nobody can write."""
        # `ro` opens for writing and then forbids it: so SQLite tidies up its own files when we leave.
        how = {"immutable": "1"} if mode == "immutable" else {"mode": "rw" if mode == "ro" else mode}
        url = URL.create("sqlite", database=path.as_uri(), query={"uri": "true", **how})
        # Transactions are begun by `_begin` below: the driver's own would begin late and upgrade reads to writes.
        # What is stored may be private: errors show statements, never values.
        settings = {"timeout": wait, "isolation_level": None}
        engine = create_engine(url, connect_args=settings, hide_parameters=True)
        pragmas = PRAGMAS if mode == "rwc" else (*PRAGMAS, "query_only = ON")
        event.listen(engine, "connect", partial(_connected, pragmas))
        event.listen(engine, "begin", _begin)
        return cls(path, engine)

    async def read(self, do: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """A transaction that sees one state of the database throughout."""
        return await self._in_thread("BEGIN", lambda connection: do(connection, *args, **kwargs))

    async def write(self, do: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """A transaction that holds the write lock from its beginning: all of it is stored, or nothing."""
        async with self._writing:
            return await self._in_thread("BEGIN IMMEDIATE", lambda connection: do(connection, *args, **kwargs))

    async def outside(self, do: Callable[[Connection], T]) -> T:
        """Outside any transaction, for settings of the file."""
        return await self._in_thread("", do)

    def opened(self) -> None:
        """Remember which file this is."""
        self._file = _identity(self.path)

    async def close(self) -> None:
        await asyncio.to_thread(self._close)

    async def _in_thread(self, begin: str, do: Callable[[Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._transaction, begin, do)

    def _transaction(self, begin: str, do: Callable[[Connection], T]) -> T:
        self._still_there()
        with self._explaining(), self._engine.connect() as connection:
            connection.execution_options(begin=begin)
            with connection.begin():
                return do(connection)

    def _close(self) -> None:
        self._threads.shutdown(wait=True)
        self._engine.dispose()

    def _still_there(self) -> None:
        # SQLite goes on writing to a file that was deleted, and everything written would be lost.
        if self._file is not None and _identity(self.path) != self._file:
            raise ConfigInvalid(f"{self.path} was deleted or replaced while it was in use; nothing more was stored")

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        """Turn what the user can fix into an InputError; anything else stays what it is."""
        try:
            yield
        except DBAPIError as error:
            code = getattr(error.orig, "sqlite_errorname", "")
            meaning = next((text for name, text in MEANINGS.items() if code.startswith(name)), None)
            if meaning is None:
                raise
            raise ConfigInvalid(f"{self.path} {meaning} ({error.orig})") from error


def check_file(path: Path) -> None:
    """Refuse what is plainly not a database before SQLite is asked to open it."""
    try:
        with path.open("rb") as file:
            head = file.read(len(MAGIC))
    except FileNotFoundError:
        raise NotFound(f"there is no database at {path} yet; `assay run` makes it") from None
    except OSError as error:
        raise ConfigInvalid(f"{path} cannot be read: {error.strerror}") from error
    if head and head != MAGIC:
        raise ConfigInvalid(f"{path} is not an Assay database (it does not begin like a SQLite file)")


def make_folder(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigInvalid(f"the folder {path.parent} cannot be made: {error.strerror}; {ELSEWHERE}") from error


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def _connected(pragmas: Sequence[str], connection: Any, _: object) -> None:
    with ExitStack() as undone:
        undone.callback(connection.close)
        with closing(connection.cursor()) as cursor:
            for pragma in pragmas:
                cursor.execute(f"PRAGMA {pragma}")
        undone.pop_all()


def _begin(connection: Connection) -> None:
    if begin := connection.get_execution_options().get("begin", "BEGIN"):
        connection.exec_driver_sql(begin)
