"""Looking after a database, by the command that does it: `howsure db check | upgrade | backup`, on both kinds."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import postgres
from howsure.main import program
from howsure.store.database import PostgresAddress, parse_address, split_password
from howsure.store.maintenance import backup
from howsure.store.schema import HEAD
from howsure.store.store import Store
from store.making import RUN, a_result, a_run
from store.test_upgrades import set_revision, tell

STORES = Path(__file__).parent.parent / "fixtures" / "stores"
Told = Callable[..., Result]


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Told:
    """`db("check")` in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOWSURE_DATABASE_URL", raising=False)

    def told(*words: str) -> Result:
        return CliRunner().invoke(program, ["db", *words])

    return told


async def _fill(location: str) -> None:
    async with await Store.open(location) as store:
        await store.create_run(a_run())
        await store.save(RUN, [a_result(0), a_result(1)])


async def _runs(location: str | Path) -> dict[str, int]:
    async with await Store.open(location) as store:
        return {run.name: run.counts.completed for run in await store.runs()}


def filled(location: str) -> str:
    asyncio.run(_fill(location))
    return location


def answer(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_a_sound_database_is_called_so_with_what_is_in_it(db: Told, location: str) -> None:
    found = db("check", "--database", filled(location), "--json")
    told = answer(found)
    assert found.exit_code == 0
    assert (told["healthy"], told["schema"], told["newest_schema"], told["problems"]) == (True, HEAD, HEAD, [])
    counts = {name: told["counts"][name] for name in ("runs", "cases", "results", "scores", "documents", "jobs")}
    assert counts == {"runs": 1, "cases": 2, "results": 2, "scores": 2, "documents": 0, "jobs": 0}
    assert told["database"].startswith("PostgreSQL 1" if "://" in location else "SQLite 3.")
    assert told["bytes"] > 50_000
    said = db("check", "--database", location).stdout
    assert "1 runs, 2 cases, 2 results, 2 scores\nok\n" in said


def test_a_database_with_nothing_in_it_is_no_trouble_on_a_server(db: Told, server: str) -> None:
    told = answer(db("check", "--database", server, "--json"))
    assert (told["healthy"], told["schema"], told["counts"]) == (True, None, {})


def test_a_file_that_is_not_there_is_not_made(db: Told, tmp_path: Path) -> None:
    found = db("check", "--json")
    assert found.exit_code == 2
    assert answer(found)["error"] == "NotFound"
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_is_found_out(db: Told, tmp_path: Path) -> None:
    path = tmp_path / "howsure.db"
    filled(str(path))
    tell(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    tell(path, "DELETE FROM alembic_version")
    set_revision(path, HEAD)
    tell(path, f"INSERT INTO alembic_version VALUES ('{HEAD}')")
    tell(path, "PRAGMA foreign_keys = OFF")
    tell(path, "DELETE FROM runs")
    found = db("check", "--database", str(path), "--json")
    assert found.exit_code == 2
    problems = answer(found)["problems"]
    assert problems == ["cases has entries whose run is not there", "results has entries whose run is not there"]
    assert "BAD  cases has entries" in db("check", "--database", str(path)).stdout


def test_an_older_file_is_called_older_and_upgraded_when_that_is_asked(db: Told, tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    path.write_bytes(gzip.decompress((STORES / "schema_0001.db.gz").read_bytes()))
    told = answer(db("check", "--database", str(path), "--json"))
    assert told["problems"] == [f"its schema is 0001, and {HEAD} is the newest: `howsure db upgrade`"]
    assert db("upgrade", "--database", str(path)).stdout == f"{path}: upgraded from schema 0001 to {HEAD}\n"
    assert db("upgrade", "--database", str(path)).stdout == f"{path}: schema {HEAD} is the newest; nothing to do\n"
    assert answer(db("check", "--database", str(path), "--json"))["healthy"] is True
    assert asyncio.run(_runs(path)) == {"nightly": 3, "interrupted": 1}


def test_a_new_database_is_made_when_that_is_asked(db: Told, nowhere: str) -> None:
    told = answer(db("upgrade", "--database", nowhere, "--json"))
    assert told == {"where": nowhere, "before": None, "after": HEAD}
    assert answer(db("upgrade", "--database", nowhere, "--json"))["before"] == HEAD


def test_the_database_of_the_environment_is_meant(db: Told, nowhere: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOWSURE_DATABASE_URL", nowhere)
    assert answer(db("upgrade", "--json"))["where"] == nowhere


def test_a_copy_of_a_file_is_a_store_with_everything_in_it(db: Told, tmp_path: Path) -> None:
    path = filled(str(tmp_path / "howsure.db"))
    made = db("backup", str(tmp_path / "copy.db"), "--database", path)
    assert made.exit_code == 0
    assert made.stdout.endswith(f"then: cp {tmp_path}/copy.db {path}\n")
    assert asyncio.run(_runs(tmp_path / "copy.db")) == {"first": 2}
    assert sorted(each.name for each in tmp_path.iterdir()) == ["copy.db", "howsure.db"]


def test_a_file_that_is_there_is_replaced_only_when_asked(db: Told, tmp_path: Path) -> None:
    path = filled(str(tmp_path / "howsure.db"))
    (tmp_path / "copy.db").write_text("mine")
    refused = db("backup", "copy.db", "--database", path)
    assert refused.exit_code == 2
    assert "copy.db exists already; --force replaces it" in refused.output
    assert (tmp_path / "copy.db").read_text() == "mine"
    assert db("backup", "copy.db", "--database", path, "--force").exit_code == 0
    assert asyncio.run(_runs(tmp_path / "copy.db")) == {"first": 2}


@pytest.mark.parametrize(
    ("file", "words"),
    [("howsure.db", "is the database itself"), ("no/folder/copy.db", "no/folder is not a folder: make it first")],
)
def test_a_place_that_will_not_do_is_refused(db: Told, tmp_path: Path, file: str, words: str) -> None:
    path = filled(str(tmp_path / "howsure.db"))
    refused = db("backup", file, "--force", "--database", path)
    assert (refused.exit_code, words in refused.output) == (2, True)
    assert asyncio.run(_runs(path)) == {"first": 2}


async def test_a_copy_made_while_others_write_is_of_one_moment(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "howsure.db") as store:
        await store.create_run(a_run(total=2000))
        going = asyncio.Event()

        async def write() -> None:
            for first in range(0, 2000, 50):
                await store.save(RUN, [a_result(position) for position in range(first, first + 50)])
                going.set()

        writing = asyncio.create_task(write())
        await going.wait()
        await backup(tmp_path / "howsure.db", tmp_path / "copy.db")
        await writing
    async with await Store.open(tmp_path / "copy.db") as copy:
        found = await copy.finished_positions(RUN)
        assert found == set(range(len(found)))
        assert 50 <= len(found) < 2000
        assert (await copy.run(RUN)).counts.passed == len(found)


@pytest.fixture
def dumping(monkeypatch: pytest.MonkeyPatch) -> Path:
    """PostgreSQL's own programs on the PATH."""
    programs = postgres.programs()
    if not (programs / "pg_dump").exists():
        pytest.skip("no pg_dump beside the server's programs")
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    return programs


def test_a_server_is_copied_by_its_own_program(db: Told, server: str, dumping: Path, tmp_path: Path) -> None:
    made = answer(db("backup", "copy.dump", "--database", filled(server), "--json"))
    assert made["file"] == str(tmp_path / "copy.dump")
    assert made["bytes"] == (tmp_path / "copy.dump").stat().st_size > 1000
    assert made["restore"].endswith(f"pg_restore --no-owner --dbname=ITS_ADDRESS {tmp_path}/copy.dump")
    other = postgres.new_database()
    subprocess.run([dumping / "pg_restore", "--no-owner", f"--dbname={other}", made["file"]], check=True)
    assert asyncio.run(_runs(other)) == {"first": 2}
    postgres.drop_database(other)


def test_what_that_program_says_is_told(db: Told, server: str, dumping: Path, tmp_path: Path) -> None:
    refused = db("backup", "copy.dump", "--database", server.replace("postgres@", "stranger:secret@"))
    assert refused.exit_code == 2
    assert 'role "stranger" does not exist' in refused.output
    assert "secret" not in refused.output
    assert list(tmp_path.iterdir()) == []


def test_where_that_program_is_missing_its_command_is_told(db: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    refused = db("backup", "copy.dump", "--database", "postgresql://me:secret@db/x")
    command = "PGPASSWORD=… pg_dump --format=custom --no-owner --file=FILE --dbname=postgresql://me@db/x"
    assert command in refused.output
    assert "secret" not in refused.output


@pytest.mark.parametrize(
    ("address", "shown", "password"),
    [
        ("postgresql://me:p%40ss@db/x", "postgresql://me@db/x", "p@ss"),
        ("postgresql://db/x?password=p&sslmode=require", "postgresql://db/x?sslmode=require", "p"),
        ("postgresql://me@/x?host=/run/pg", "postgresql://me@/x?host=%2Frun%2Fpg", ""),
    ],
)
def test_a_password_leaves_the_address(address: str, shown: str, password: str) -> None:
    server = parse_address(address)
    assert isinstance(server, PostgresAddress)
    assert split_password(server) == (shown, password)
