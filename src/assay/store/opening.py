"""Opening a database: made where there is none, checked, brought to our schema, or refused with the reason."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

from sqlalchemy import Connection

from assay.errors import ConfigInvalid
from assay.store.database import Database, check_file, make_folder, place
from assay.store.upgrading import behind, bring_up, found_revision

PAGE_BYTES = 8192
"""Results are some kilobytes each; SQLite's own 4096 splits most of them."""

Step = Callable[[Database], Awaitable[None]]


async def open_database(location: str | Path, *, read_only: bool, wait: float) -> Database:
    path = place(location)
    if read_only:
        check_file(path)
        return await _opened(Database.at(path, mode=_reading_mode(path), wait=wait), _inspect)
    make_folder(path)
    if path.exists():
        check_file(path)
    return await _opened(Database.at(path, mode="rwc", wait=wait), _prepare)


def _reading_mode(path: Path) -> str:
    """A WAL database needs files beside it even to be read. Where none can be made nobody is writing it either, and it
    can be read as it is, unless a writer left some behind."""
    left = path.with_name(path.name + "-wal")
    return "ro" if os.access(path.parent, os.W_OK) or left.exists() else "immutable"


async def _opened(database: Database, step: Step) -> Database:
    async with AsyncExitStack() as undone:
        undone.push_async_callback(database.close)
        await step(database)
        undone.pop_all()
    database.opened()
    return database


async def _prepare(database: Database) -> None:
    if not await _current(database):
        await database.outside(_set_up_file)
        await database.write(bring_up, database.path)


def _set_up_file(connection: Connection) -> None:
    connection.exec_driver_sql(f"PRAGMA page_size = {PAGE_BYTES}")
    connection.exec_driver_sql("PRAGMA journal_mode = WAL")


async def _inspect(database: Database) -> None:
    if not await _current(database):
        raise ConfigInvalid(f"{database.path} is from an older Assay and cannot be upgraded while it is only read")


async def _current(database: Database) -> bool:
    """Whether the schema is ours; False: it is missing or behind."""
    found = await database.read(found_revision, database.path)
    return found is not None and not behind(found, database.path)
