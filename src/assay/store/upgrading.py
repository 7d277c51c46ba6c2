"""Bringing a database to the schema of this version. A new one is made from the tables directly; Alembic is loaded only
for one that is behind."""

from __future__ import annotations

import importlib
from pathlib import Path

from sqlalchemy import Connection, insert, inspect, select

from assay.errors import ConfigInvalid
from assay.store.schema import HEAD, metadata, revision

MIGRATIONS = Path(__file__).parent / "migrations"


def found_revision(connection: Connection, path: Path) -> str | None:
    """The revision of the schema; None for an empty database."""
    tables = inspect(connection).get_table_names()
    if revision.name in tables:
        return connection.scalar(select(revision.c.version_num)) or "none"
    if tables:
        raise ConfigInvalid(f"{path} is a database of another program (it holds {', '.join(sorted(tables)[:5])})")
    return None


def bring_up(connection: Connection, path: Path) -> None:
    """Make or upgrade the schema, inside the transaction of `connection`."""
    found = found_revision(connection, path)
    if found is None:
        metadata.create_all(connection)
        connection.execute(insert(revision).values(version_num=HEAD))
    elif behind(found, path):
        upgrade(connection)


def behind(found: str, path: Path) -> bool:
    """Whether a schema is older than ours. A newer one is refused: we do not know what it means."""
    if not found.isdecimal():
        raise ConfigInvalid(f"{path} has the schema revision {found!r}, which is none of Assay's")
    if int(found) > int(HEAD):
        raise ConfigInvalid(f"{path} is from a newer Assay (schema {found}, this one knows {HEAD}): upgrade Assay")
    return int(found) < int(HEAD)


def upgrade(connection: Connection, migrations: Path = MIGRATIONS) -> None:
    """Run the migrations that are missing, on this connection."""
    command = importlib.import_module("alembic.command")
    config = importlib.import_module("alembic.config").Config()
    config.set_main_option("script_location", str(migrations).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
