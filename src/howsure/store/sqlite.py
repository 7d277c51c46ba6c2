"""SQLite: one file, read and written in threads. One write at a time, from any number of processes."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from stat import S_ISREG
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError

from howsure.errors import ConfigInvalid, NotFound, StorageFault, Unreachable
from howsure.store.codecs import key_of, key_option
from howsure.store.database import CHECK_HINT, FULL_HINT, WAIT_SECONDS, WRITABLE_HINT, naming_damage
from howsure.store.private_files import make_private_file, make_private_folder, tighten_mode

THREADS = 4
P = ParamSpec("P")
T = TypeVar("T")

PAGE_BYTES = 8192
"""Results are some kilobytes each; SQLite's own 4096 splits most of them."""

PRAGMAS = (
    "foreign_keys = ON",
    "synchronous = NORMAL",
    # Two megabytes, SQLite's own: more made nothing faster here, and a run of many cases filled all of it.
    "cache_size = -2000",
    "temp_store = MEMORY",
    "wal_autocheckpoint = 8000",
)
MEANINGS = {
    "SQLITE_NOTADB": "is not a Howsure database",
    "SQLITE_CORRUPT": f"is damaged: {CHECK_HINT}, or move it away to begin a new one",
    "SQLITE_READONLY": f"cannot be written: the file or its folder is read-only; {WRITABLE_HINT}",
    "SQLITE_CANTOPEN": f"cannot be opened: its folder is read-only, or the path is not a file; {WRITABLE_HINT}",
    "SQLITE_PERM": f"may not be opened: permission denied; {WRITABLE_HINT}",
    "SQLITE_BUSY": "is locked by another program, which did not let go in time",
    "SQLITE_LOCKED": "is locked by another program, which did not let go in time",
    "SQLITE_FULL": f"cannot grow: no space left on the device. Nothing that was stored is lost; {FULL_HINT}",
    "SQLITE_IOERR": f"cannot be read or written: the file system reports an error. If it is full, {FULL_HINT}",
}
NOT_UTF8 = "Could not decode to UTF-8"
"""What the driver says of a text."""
LATER = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_FULL", "SQLITE_IOERR")
"""Errors that pass with time, or when the user acts."""


class SqliteDatabase:
    """A `Database` in a file. A transaction is run in a thread: a call costs one change of threads, not one for each
    statement."""

    def __init__(self, path: Path, engine: Engine) -> None:
        self.path = path
        self.where = str(path)
        self.integrity_key = key_of(engine)
        self._engine = engine
        self._threads = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="howsure-store")
        self._writing = asyncio.Lock()
        self._file: tuple[int, int] | None = None

    @classmethod
    def at(cls, path: Path, *, read_only: bool, wait: float = WAIT_SECONDS, integrity_key: str = "") -> SqliteDatabase:
        """The file at `path`: checked, and made with its folder unless it is only to be read."""
        if read_only:
            check_file(path)
        else:
            _make_file(path)
        query = {"uri": "true", **(_reading_mode(path) if read_only else {"mode": "rwc"})}
        url = URL.create("sqlite", database=path.as_uri(), query=query)
        # Transactions are begun by `_begin` below: the driver's own would begin late and upgrade reads to writes.
        # What is stored may be private: errors show statements, never values.
        settings, options = {"timeout": wait, "isolation_level": None}, key_option(integrity_key)
        engine = create_engine(url, connect_args=settings, execution_options=options, hide_parameters=True)
        pragmas = (*PRAGMAS, "query_only = ON") if read_only else PRAGMAS
        event.listen(engine, "connect", partial(_connected, pragmas))
        event.listen(engine, "begin", _begin)
        return cls(path, engine)

    async def read(self, do: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._in_thread("BEGIN", lambda connection: do(connection, *args, **kwargs))

    async def write(self, do: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Holds the write lock from its beginning."""
        async with self._writing:
            return await self._in_thread("BEGIN IMMEDIATE", lambda connection: do(connection, *args, **kwargs))

    async def outside(self, do: Callable[[Connection], T]) -> T:
        return await self._in_thread("", do)

    def opened(self) -> None:
        """Remember which file this is."""
        self._file = _identity(self.path)

    async def close(self) -> None:
        await asyncio.to_thread(self._close)

    async def _in_thread(self, begin: str, do: Callable[[Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._transaction, begin, do)

    def _transaction(self, begin: str, do: Callable[[Connection], T]) -> T:
        # SQLite goes on writing to a file that was deleted, and everything written would be lost.
        if self._file is not None and _identity(self.path) != self._file:
            raise StorageFault(f"{self.path} was deleted or replaced while it was in use; nothing more was stored")
        with naming_damage(self.where), self._explaining(), self._engine.connect() as connection:
            connection.execution_options(begin=begin)
            try:
                with connection.begin():
                    return do(connection)
            except (DBAPIError, sqlite3.OperationalError) as error:
                if NOT_UTF8 not in str(error):
                    raise
            return _with_any_text(connection, do)

    def _close(self) -> None:
        self._threads.shutdown(wait=True)
        self._engine.dispose()

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        """Turn what the user can fix into an InputError; anything else stays what it is."""
        try:
            yield
        except DBAPIError as error:
            code = getattr(error.orig, "sqlite_errorname", "")
            meaning = next((text for name, text in MEANINGS.items() if code.startswith(name)), None)
            if str(error.orig).startswith(("no such table", "no such column")):
                meaning = f"is damaged: a part of it is missing; {CHECK_HINT}"
            if meaning is None:
                raise
            kind = Unreachable if code.startswith(LATER) else StorageFault
            raise kind(f"{self.path} {meaning} ({error.orig})") from error


def _with_any_text(connection: Connection, do: Callable[[Connection], T]) -> T:
    """Once more, with text that is not UTF-8 shown with escapes: one damaged row must not hide those beside it."""
    raw: Any = connection.connection.dbapi_connection
    raw.text_factory = lambda text: text.decode("utf-8", "backslashreplace")
    try:
        with connection.begin():
            return do(connection)
    finally:
        raw.text_factory = str


def set_up_file(connection: Connection) -> None:
    """Settings that must be made before the first table."""
    connection.exec_driver_sql(f"PRAGMA page_size = {PAGE_BYTES}")
    connection.exec_driver_sql("PRAGMA journal_mode = WAL")


def check_file(path: Path) -> None:
    """Refuse what is plainly not a database before SQLite is asked to open it. The file itself is not opened here:
    closing it again would let go of every lock that this process has on it, and another would take the database for
    one that nobody uses."""
    try:
        found = path.stat()
    except FileNotFoundError:
        raise NotFound(f"there is no database at {path} yet; `howsure run` makes it") from None
    except OSError as error:
        raise ConfigInvalid(f"{path} cannot be read: {error.strerror}") from error
    if not S_ISREG(found.st_mode):
        raise ConfigInvalid(f"{path} cannot be read: it is not a file")


def _make_file(path: Path) -> None:
    """The file and its folder, where they are missing; a file that is there is checked. SQLite gives its own files
    beside the database the mode of the database."""
    try:
        make_private_folder(path.parent)
    except OSError as error:
        raise ConfigInvalid(f"the folder {path.parent} cannot be made: {error.strerror}; {WRITABLE_HINT}") from error
    if path.exists():
        check_file(path)
    with suppress(OSError):  # SQLite itself says best why it cannot be made
        make_private_file(path)
    for end in ("-wal", "-shm"):
        tighten_mode(path.with_name(path.name + end))


def _reading_mode(path: Path) -> dict[str, str]:
    """A WAL database needs files beside it even to be read. Where none can be created, no process can write it
    either, and it can be read as it is, unless a writer left such files behind. Elsewhere it is opened for writing,
    which is then forbidden, so that SQLite removes its own files on closing."""
    left = path.with_name(path.name + "-wal")
    return {"mode": "rw"} if os.access(path.parent, os.W_OK) or left.exists() else {"immutable": "1"}


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
