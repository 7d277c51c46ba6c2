"""Schemas: the one we make and the one migrations make are the same; older is upgraded, newer refused."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from msgspec.structs import replace
from sqlalchemy import Connection, create_engine

import postgres
from howsure.errors import ConfigInvalid
from howsure.model.simulation import Fault, Party
from howsure.store.schema import HEAD, runs
from howsure.store.store import Store
from howsure.store.upgrades import MIGRATIONS, is_behind, run_migrations
from store.making import RUN, a_result, a_run


def schema_of(path: Path) -> dict[str, object]:
    """Tables and indexes as SQLite describes them, whatever the words they were made with."""
    with closing(sqlite3.connect(path)) as connection:
        names = connection.execute("SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'").fetchall()
        described: dict[str, object] = {}
        for kind, name in names:
            if name == "alembic_version":
                continue
            if kind == "table":
                columns = connection.execute(f"PRAGMA table_info({name})").fetchall()
                keys = connection.execute(f"PRAGMA foreign_key_list({name})").fetchall()
                rowid = connection.execute("SELECT wr FROM pragma_table_list WHERE name = ?", (name,)).fetchone()
                described[name] = (columns, keys, rowid)
            else:
                unique = connection.execute('SELECT "unique" FROM pragma_index_list((SELECT tbl_name FROM sqlite_master'
                                            " WHERE name = ?)) WHERE name = ?", (name, name)).fetchone()  # fmt: skip
                described[name] = (unique, connection.execute(f"PRAGMA index_info({name})").fetchall())
        return described


def migrated(path: Path, migrations: Path = MIGRATIONS) -> None:
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        run_migrations(connection, migrations)
    engine.dispose()


async def test_migrations_make_the_schema_that_a_new_store_has(tmp_path: Path) -> None:
    migrated(tmp_path / "migrated.db")
    async with await Store.open(tmp_path / "new.db"):
        pass
    assert schema_of(tmp_path / "migrated.db") == schema_of(tmp_path / "new.db")
    assert set(schema_of(tmp_path / "new.db")) >= {"runs", "cases", "results", "scores"}


async def test_a_store_made_by_migrations_is_used_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "howsure.db"
    migrated(path)
    async with await Store.open(path) as store:
        await store.create_run(a_run())
        await store.save(RUN, [a_result()])
        assert await store.finished_positions(RUN) == {0}


def tell(location: str | Path, statement: str) -> list[tuple[object, ...]]:
    """What a statement finds or changes, past everything that a store would say about it."""
    if "://" in str(location):
        return postgres.execute(str(location), statement)
    with closing(sqlite3.connect(location)) as connection, connection:
        return connection.execute(statement).fetchall()


def revision_of(location: str | Path) -> list[tuple[object, ...]]:
    return tell(location, "SELECT version_num FROM alembic_version")


def set_revision(location: str | Path, revision: str) -> None:
    tell(location, f"UPDATE alembic_version SET version_num = '{revision}'")


async def test_a_new_store_has_the_newest_revision(nowhere: str) -> None:
    newest = max(file.name for file in (MIGRATIONS / "versions").glob("v*.py"))
    async with await Store.open(nowhere):
        pass
    assert revision_of(nowhere) == [(HEAD,)]
    assert newest.startswith(f"v{HEAD}_")


AFTER = f"{int(HEAD) + 1:04}"
NEXT = f"""
from alembic import op
import sqlalchemy as sa

revision = "{AFTER}"
down_revision = "{HEAD}"

def upgrade() -> None:
    with op.batch_alter_table("runs") as batch:
        batch.add_column(sa.Column("note", sa.Text(), nullable=False, server_default="none"))
"""


async def test_an_older_store_is_migrated_with_its_data(
    location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the next version will do it: a copy of our migrations, one more of them, and HEAD moved on."""
    async with await Store.open(location) as store:
        await store.create_run(a_run())
        await store.save(RUN, [a_result()])
    later = tmp_path / "100% migrations"
    shutil.copytree(MIGRATIONS, later, ignore=shutil.ignore_patterns("__pycache__"))
    (later / "versions" / f"v{AFTER}_note.py").write_text(NEXT)
    monkeypatch.setattr("howsure.store.upgrades.HEAD", AFTER)
    monkeypatch.setattr("howsure.store.upgrades.MIGRATIONS", later)
    monkeypatch.setattr(run_migrations, "__defaults__", (later,))
    with pytest.raises(ConfigInvalid, match="is from an older Howsure and cannot be upgraded while it is only read"):
        await Store.open(location, read_only=True)
    async with await Store.open(location) as store:
        assert (await store.run(RUN)).counts.passed == 1
        assert await store.results(RUN) == [a_result()]
    assert tell(location, "SELECT note FROM runs") == [("none",)]
    assert revision_of(location) == [(AFTER,)]


async def test_a_store_of_the_first_schema_is_brought_to_the_newest(tmp_path: Path) -> None:
    """What older versions left behind: the first schema, made by its own migration, with a result in it."""
    new = tmp_path / "new.db"
    async with await Store.open(new) as store:
        await store.create_run(a_run())
        await store.save(RUN, [a_result()])
    engine = create_engine(f"sqlite:///{new}")
    with engine.begin() as begun:
        command.downgrade(settings(begun), "0001")
    engine.dispose()
    async with await Store.open(new) as store:
        assert await store.results(RUN) == [a_result()]
        assert (await store.run(RUN)).counts.passed == 1
        blamed = Fault(party=Party.SIMULATOR, reason="it made up an order number")
        await store.save(RUN, [replace(a_result(), fault=blamed)])
        assert (await store.summary(RUN)).faults == {"simulator": 1}
        assert (await store.results(RUN))[0].fault == blamed
    assert revision_of(new) == [(HEAD,)]
    fresh = tmp_path / "fresh.db"
    async with await Store.open(fresh):
        pass
    assert schema_of(new) == schema_of(fresh)


async def test_a_migration_that_breaks_changes_nothing(
    location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await Store.open(location) as store:
        await store.create_run(a_run())
    later = tmp_path / "migrations"
    shutil.copytree(MIGRATIONS, later, ignore=shutil.ignore_patterns("__pycache__"))
    (later / "versions" / f"v{AFTER}_note.py").write_text(NEXT + "    raise RuntimeError('half way')\n")
    monkeypatch.setattr("howsure.store.upgrades.HEAD", AFTER)
    monkeypatch.setattr(run_migrations, "__defaults__", (later,))
    with pytest.raises(RuntimeError, match="half way"):
        await Store.open(location)
    assert columns_of(location, "runs") == set(runs.columns.keys())
    assert revision_of(location) == [(HEAD,)]


def columns_of(location: str, table: str) -> set[object]:
    if "://" in location:
        found = tell(location, f"SELECT column_name FROM information_schema.columns WHERE table_name = '{table}'")
    else:
        found = tell(location, f"SELECT name FROM pragma_table_info('{table}')")
    return {name for (name,) in found}


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(
    ("revision", "message"),
    [
        ("0099", "is from a newer Howsure (schema 0099, this one knows " + HEAD + "): upgrade Howsure"),
        ("4fe3a1", "has the schema revision '4fe3a1', which is none of Howsure's"),
    ],
)
async def test_a_newer_or_foreign_schema_is_refused(
    location: str, revision: str, message: str, read_only: bool
) -> None:
    async with await Store.open(location) as store:
        where = store.where
    set_revision(location, revision)
    with pytest.raises(ConfigInvalid) as caught:
        await Store.open(location, read_only=read_only)
    assert str(caught.value) == f"{where} {message}"


def test_our_own_revision_is_not_behind() -> None:
    assert is_behind(HEAD, "x.db") is False
    assert is_behind("0000", "x.db") is True


def test_alembic_is_not_loaded_for_a_new_store(tmp_path: Path) -> None:
    code = """
import asyncio, sys
from howsure.store.store import Store

async def main() -> None:
    for _ in range(2):
        async with await Store.open(sys.argv[1]):
            pass
    print([name for name in sys.modules if name.split(".")[0] == "alembic"])

asyncio.run(main())
"""
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "x.db")], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "[]\n"


def test_going_back_to_the_beginning_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "howsure.db"
    migrated(path)
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        command.downgrade(settings(connection), "base")
    engine.dispose()
    assert schema_of(path) == {}


def settings(connection: Connection) -> Config:
    made = Config()
    made.set_main_option("script_location", str(MIGRATIONS))
    made.attributes["connection"] = connection
    return made
