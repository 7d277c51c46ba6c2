"""Opening a database: made where there is none, checked, brought to our schema, or refused with the reason."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from howsure.errors import ConfigInvalid, NotFound
from howsure.store.addresses import Server, place
from howsure.store.database import Database
from howsure.store.sqlite import SqliteDatabase, set_up_file
from howsure.store.upgrading import behind, bring_up, check_server, found_revision

DRIVER = ("asyncpg", "greenlet")
Step = Callable[[Database], Awaitable[None]]


async def open_database(location: str | Path, *, read_only: bool, wait: float) -> Database:
    return await _opened(connect(location, read_only=read_only, wait=wait), _inspect if read_only else _prepare)


async def bring_up_to_date(location: str | Path, *, wait: float) -> tuple[str, str | None, str]:
    """Where it is, its schema before, None where there was nothing, and its schema now."""
    database = connect(location, read_only=False, wait=wait)
    try:
        before = await database.read(found_revision, database.where)
        await _prepare(database)
        return database.where, before, await database.read(found_revision, database.where) or ""
    finally:
        await database.close()


def connect(location: str | Path, *, read_only: bool, wait: float) -> Database:
    """The way to a database, whatever its schema."""
    match place(location):
        case Path() as path:
            return SqliteDatabase.at(path, read_only=read_only, wait=wait)
        case Server() as server:
            return _postgres(server, read_only=read_only, wait=wait)


def _postgres(server: Server, *, read_only: bool, wait: float) -> Database:
    """Its driver is an extra, and loaded only for those who have a PostgreSQL."""
    if missing := [name for name in DRIVER if find_spec(name) is None]:
        raise ConfigInvalid(f"{server.where}: PostgreSQL needs {' and '.join(missing)}: pip install 'howsure[server]'")
    made: Database = import_module("howsure.store.postgres").PostgresDatabase.at(server, read_only=read_only, wait=wait)
    return made


async def _opened(database: Database, step: Step) -> Database:
    async with AsyncExitStack() as undone:
        undone.push_async_callback(database.close)
        await step(database)
        undone.pop_all()
    database.opened()
    return database


async def _prepare(database: Database) -> None:
    if database.path is None:
        await database.read(check_server, database.where)
    found = await database.read(found_revision, database.where)
    if found is None or behind(found, database.where):
        if database.path:
            await database.outside(set_up_file)
        await database.write(bring_up, database.where)


async def _inspect(database: Database) -> None:
    found = await database.read(found_revision, database.where)
    if found is None:
        raise NotFound(f"there are no runs in {database.where} yet; `howsure run` makes some")
    if behind(found, database.where):
        raise ConfigInvalid(
            f"{database.where} is from an older Howsure and cannot be upgraded while it is only read; "
            "`howsure db upgrade` does that"
        )
