"""Bringing a database to the schema of this version. A new one is made from the tables directly; Alembic is loaded only
for one that is behind."""

from __future__ import annotations

import importlib
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, DateTime, func, insert, inspect, select

from howsure.errors import ConfigInvalid
from howsure.store.database import alone
from howsure.store.lease import LEASE
from howsure.store.schema import HEAD, revision
from howsure.store.service_schema import every_table

MIGRATIONS = Path(__file__).parent / "migrations"
SCHEMA_LOCK = 0
CLOCKS_APART = LEASE / 2
"""Leases are judged by each machine's own clock."""


def found_revision(connection: Connection, where: str) -> str | None:
    """The revision of the schema; None for an empty database."""
    tables = inspect(connection).get_table_names()
    if revision.name in tables:
        return connection.scalar(select(revision.c.version_num)) or "none"
    if tables:
        raise ConfigInvalid(f"{where} is a database of another program (it holds {', '.join(sorted(tables)[:5])})")
    return None


def bring_up(connection: Connection, where: str) -> None:
    """Make or upgrade the schema, inside the transaction of `connection`."""
    # Several may open it at once: the first makes the tables, and the others find them made.
    alone(connection, SCHEMA_LOCK)
    found = found_revision(connection, where)
    if found is None:
        every_table().create_all(connection)
        connection.execute(insert(revision).values(version_num=HEAD))
    elif behind(found, where):
        upgrade(connection)


def check_server(connection: Connection, where: str) -> None:
    """Refuse a server on which texts or leases would go wrong."""
    encoding, now = connection.execute(
        select(func.current_setting("server_encoding"), func.clock_timestamp(type_=DateTime(timezone=True)))
    ).one()
    if encoding != "UTF8":
        raise ConfigInvalid(f"{where} has the encoding {encoding}; expected UTF8: `createdb -E UTF8 -T template0 NAME`")
    apart = abs(datetime.now(UTC) - now)
    if apart > CLOCKS_APART:
        raise ConfigInvalid(
            f"{where}: the clocks of this machine and of the server are {apart.total_seconds():.0f} s apart, "
            "and who runs a run is told by them; set them right"
        )


def behind(found: str, where: str) -> bool:
    """Whether a schema is older than ours. A newer one is refused: we do not know what it means."""
    if not found.isdecimal():
        raise ConfigInvalid(f"{where} has the schema revision {found!r}, which is none of Howsure's")
    if int(found) > int(HEAD):
        raise ConfigInvalid(f"{where} is from a newer Howsure (schema {found}, this one knows {HEAD}): upgrade Howsure")
    return int(found) < int(HEAD)


def upgrade(connection: Connection, migrations: Path = MIGRATIONS) -> None:
    """Run the migrations that are missing, on this connection."""
    command = importlib.import_module("alembic.command")
    config = importlib.import_module("alembic.config").Config()
    config.set_main_option("script_location", str(migrations).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
