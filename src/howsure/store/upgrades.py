"""Opens a database: creates, checks and upgrades its schema, or refuses with the reason. A new schema is made from the
tables directly; Alembic is loaded only for a database that is behind."""

from __future__ import annotations

from contextlib import AsyncExitStack
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from sqlalchemy import Connection, DateTime, func, insert, inspect, select

from howsure.errors import ConfigInvalid, NotFound
from howsure.store.database import Database, PostgresAddress, parse_address, take_lock
from howsure.store.leases import LEASE
from howsure.store.schema import HEAD, metadata, revision
from howsure.store.sqlite import SqliteDatabase, set_up_file

MIGRATIONS = Path(__file__).parent / "migrations"
SCHEMA_LOCK = 0
MAX_CLOCK_SKEW = LEASE / 2
"""Leases are judged by each machine's own clock."""


def read_revision(connection: Connection, where: str) -> str | None:
    """The revision of the schema; None for an empty database."""
    tables = inspect(connection).get_table_names()
    if revision.name in tables:
        return connection.scalar(select(revision.c.version_num)) or "none"
    if tables:
        raise ConfigInvalid(f"{where} is a database of another program (it holds {', '.join(sorted(tables)[:5])})")
    return None


def upgrade_schema(connection: Connection, where: str) -> None:
    """Make or upgrade the schema, inside the transaction of `connection`."""
    # Several processes may open it at once: the first creates the tables, the others find them.
    take_lock(connection, SCHEMA_LOCK)
    found = read_revision(connection, where)
    if found is None:
        metadata.create_all(connection)
        connection.execute(insert(revision).values(version_num=HEAD))
    elif is_behind(found, where):
        run_migrations(connection)


def check_server(connection: Connection, where: str) -> None:
    """Refuse a server on which texts or leases would go wrong."""
    encoding, now = connection.execute(
        select(func.current_setting("server_encoding"), func.clock_timestamp(type_=DateTime(timezone=True)))
    ).one()
    if encoding != "UTF8":
        raise ConfigInvalid(f"{where} has the encoding {encoding}; expected UTF8: `createdb -E UTF8 -T template0 NAME`")
    apart = abs(datetime.now(UTC) - now)
    if apart > MAX_CLOCK_SKEW:
        raise ConfigInvalid(
            f"{where}: the clocks of this machine and of the server are {apart.total_seconds():.0f} s apart, "
            "and who runs a run is told by them; set them right"
        )


def is_behind(found: str, where: str) -> bool:
    """Whether a schema is older than ours. A newer one is refused: its meaning is unknown."""
    if not found.isdecimal():
        raise ConfigInvalid(f"{where} has the schema revision {found!r}, which is none of Howsure's")
    if int(found) > int(HEAD):
        raise ConfigInvalid(f"{where} is from a newer Howsure (schema {found}, this one knows {HEAD}): upgrade Howsure")
    return int(found) < int(HEAD)


def run_migrations(connection: Connection, migrations: Path = MIGRATIONS) -> None:
    """Run the migrations that are missing, on this connection."""
    command = import_module("alembic.command")
    config = import_module("alembic.config").Config()
    config.set_main_option("script_location", str(migrations).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


DRIVER = ("asyncpg", "greenlet")


async def open_database(location: str | Path, *, read_only: bool, wait: float, integrity_key: str = "") -> Database:
    database = connect(location, read_only=read_only, wait=wait, integrity_key=integrity_key)
    async with AsyncExitStack() as undone:
        undone.push_async_callback(database.close)
        await (_inspect(database) if read_only else prepare(database))
        undone.pop_all()
    database.opened()
    return database


def connect(location: str | Path, *, read_only: bool, wait: float, integrity_key: str = "") -> Database:
    """The database at a location, whatever its schema."""
    address = parse_address(location)
    if not isinstance(address, PostgresAddress):
        return SqliteDatabase.at(address, read_only=read_only, wait=wait, integrity_key=integrity_key)
    # The driver is an extra, and loaded only for those who have a PostgreSQL.
    if missing := [name for name in DRIVER if find_spec(name) is None]:
        raise ConfigInvalid(f"{address.where}: PostgreSQL needs {' and '.join(missing)}: pip install 'howsure[server]'")
    postgres = import_module("howsure.store.postgres").PostgresDatabase
    opened: Database = postgres.at(address, read_only=read_only, wait=wait, integrity_key=integrity_key)
    return opened


async def prepare(database: Database) -> None:
    """Create the schema where there is none, and upgrade an older one."""
    if database.path is None:
        await database.read(check_server, database.where)
    found = await database.read(read_revision, database.where)
    if found is None or is_behind(found, database.where):
        if database.path:
            await database.outside(set_up_file)
        await database.write(upgrade_schema, database.where)


async def _inspect(database: Database) -> None:
    found = await database.read(read_revision, database.where)
    if found is None:
        raise NotFound(f"there are no runs in {database.where} yet; `howsure run` makes some")
    if is_behind(found, database.where):
        raise ConfigInvalid(
            f"{database.where} is from an older Howsure and cannot be upgraded while it is only read; "
            "`howsure db upgrade` does that"
        )
