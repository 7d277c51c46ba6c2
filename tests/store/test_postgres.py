"""What is said of PostgreSQL alone: addresses, order, errors that a person can fix, clashes, and lost connections."""

from __future__ import annotations

import asyncio
import re
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from sqlalchemy import Connection, text

import postgres
from howsure.errors import ConfigInvalid, NotFound
from howsure.store import upgrades
from howsure.store.database import PostgresAddress, parse_address, take_lock
from howsure.store.postgres import PostgresDatabase
from howsure.store.store import Store
from store.making import OTHER, RUN, a_result, a_run, asked, numbered


@pytest.mark.parametrize(
    ("address", "driver", "seen"),
    [
        ("postgresql://me:pass@db/x", "postgresql://me:pass@db/x", "postgresql://me:***@db/x"),
        ("postgres://me@db:5433/x", "postgresql://me@db:5433/x", "postgresql://me@db:5433/x"),
        ("postgresql+asyncpg://db/x", "postgresql://db/x", "postgresql://db/x"),
        ("postgresql://me@/x?host=/run/pg", "postgresql://me@/x?host=%2Frun%2Fpg", "postgresql://me@/x?host=/run/pg"),
        ("postgresql://db/x?a=b&password=p", "postgresql://db/x?a=b&password=p", "postgresql://db/x?a=b&password=***"),
        ("postgresql://m%40e:p%3A%2F@db/x", "postgresql://m%40e:p%3A%2F@db/x", "postgresql://m%40e:***@db/x"),
    ],
)
def test_an_address_is_read_in_every_form_people_write(address: str, driver: str, seen: str) -> None:
    assert parse_address(address) == PostgresAddress(driver, seen)


async def test_a_store_on_a_server_has_no_path_and_shows_its_address(server: str) -> None:
    async with await Store.open(server.replace("postgresql://", "postgresql+asyncpg://")) as store:
        assert store.path is None
        assert store.where == server


async def test_every_text_is_ordered_by_its_code_points(server: str) -> None:
    """Also on a server whose own order is that of a language."""
    async with await Store.open(server):
        pass
    other = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
    texts = f"{other} AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'"
    assert postgres.execute(server, texts) == []


async def test_reading_a_database_with_nothing_in_it_makes_nothing(server: str) -> None:
    with pytest.raises(NotFound, match=r"there are no runs in postgresql://.* yet; `howsure run` makes some"):
        await Store.open(server, read_only=True)
    assert postgres.execute(server, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == []


async def test_a_database_of_another_program_is_refused_and_left_alone(server: str) -> None:
    postgres.execute(server, "CREATE TABLE notes (words text)")
    with pytest.raises(ConfigInvalid, match=r"is a database of another program \(it holds notes\)"):
        await Store.open(server)
    assert postgres.execute(server, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == [("notes",)]


def elsewhere(server: str, **parts: str) -> str:
    return urlsplit(server)._replace(**parts).geturl()


async def test_a_server_that_is_not_there_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigInvalid, match=r"^postgresql://me:\*\*\*@/x\?host=.* cannot be reached: is the server run"
    ):
        await Store.open(f"postgresql://me:secret@/x?host={tmp_path}")
    with pytest.raises(ConfigInvalid, match=r"^postgresql://127\.0\.0\.1:1/x cannot be reached: is the server running"):
        await Store.open("postgresql://127.0.0.1:1/x")
    with pytest.raises(ConfigInvalid, match="cannot be reached: its host name means nothing here"):
        await Store.open("postgresql://no-such-host.invalid/x")


async def test_a_database_that_is_not_there_is_named_with_what_makes_it(server: str) -> None:
    with pytest.raises(ConfigInvalid, match=r"/nothing\?host=.* has no such database: `createdb NAME` makes one"):
        await Store.open(elsewhere(server, path="/nothing"))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("&sslmode=bogus", "is not an address that can be used: `sslmode` parameter must be one of: disable, allow"),
        ("&port=abc", "is not an address that can be used: invalid literal for int"),
        ("&colour=red", 'is not set up as Howsure expects (unrecognized configuration parameter "colour")'),
        ("&search_path=nowhere", "has no schema to make tables in: see `search_path` in the address"),
    ],
)
async def test_what_is_wrong_with_an_address_is_said(server: str, more: str, words: str) -> None:
    with pytest.raises(ConfigInvalid, match=re.escape(words)):
        await Store.open(server + more)


async def test_the_first_of_several_servers_that_is_there_is_used(server: str, tmp_path: Path) -> None:
    async with await Store.open(server.replace("host=", f"host={tmp_path},")) as store:
        assert await store.runs() == []


async def test_a_user_who_is_not_known_is_not_let_in(server: str) -> None:
    with pytest.raises(ConfigInvalid, match="did not let us in: check the user and the password"):
        await Store.open(server.replace("postgres@", "stranger@"))


async def test_a_user_who_may_not_make_tables_is_told_what_to_grant(server: str) -> None:
    postgres.execute(server, "DROP ROLE IF EXISTS guest", "CREATE ROLE guest LOGIN")
    with pytest.raises(ConfigInvalid, match="does not allow it: GRANT CREATE, USAGE ON SCHEMA public"):
        await Store.open(server.replace("postgres@", "guest@"))


async def test_an_encoding_that_cannot_hold_every_text_is_refused(server: str) -> None:
    name = f"{postgres.database_of(server)}_latin"
    postgres.execute(server, f"CREATE DATABASE {name} TEMPLATE template0 ENCODING LATIN1 LOCALE 'C'")
    with pytest.raises(ConfigInvalid, match=r"has the encoding LATIN1; expected UTF8: `createdb -E UTF8"):
        await Store.open(elsewhere(server, path=f"/{name}"))
    postgres.drop_database(elsewhere(server, path=f"/{name}"))


async def test_clocks_that_are_apart_are_refused(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Ahead(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) + timedelta(seconds=75)  # type: ignore[arg-type]

    monkeypatch.setattr(upgrades, "datetime", Ahead)
    with pytest.raises(ConfigInvalid, match=r"the clocks of this machine and of the server are 7\d s apart"):
        await Store.open(server)


async def test_a_lock_that_stays_is_given_up_with_a_reason(server: str) -> None:
    async with await Store.open(server, wait=0.2) as store, await Store.open(server) as other:
        await store.create_run(a_run())
        held, free = asyncio.Event(), asyncio.Event()
        holding = asyncio.create_task(_hold(other, held, free))
        await held.wait()
        with pytest.raises(ConfigInvalid, match="is locked by another program, which did not let go in time"):
            await store.save(RUN, [a_result()])
        assert (await store.run(RUN)).id == RUN
        free.set()
        await holding
        await store.save(RUN, [a_result()])
        assert await store.finished_positions(RUN) == {0}


async def _hold(store: Store, held: asyncio.Event, free: asyncio.Event) -> None:
    """Hold the line of a run, as a transaction of somebody else's would."""
    database = store._database
    assert isinstance(database, PostgresDatabase)
    async with database._writing.connect() as connection:
        await connection.execute(text("SELECT id FROM runs FOR UPDATE"))
        held.set()
        await free.wait()
        await connection.rollback()


async def test_transactions_that_block_each_other_are_tried_again(server_store: Store) -> None:
    """Each takes its own line first and then the other's: PostgreSQL ends one of them, and we begin it again."""
    await server_store.create_run(a_run())
    await server_store.create_run(a_run(OTHER))
    tries = dict.fromkeys((RUN, OTHER), 0)

    def both(connection: Connection, first: str, second: str) -> None:
        tries[first] += 1
        for key in (first, second):
            connection.execute(text("UPDATE runs SET error = error || 'x' WHERE id = :key"), {"key": key})
            connection.execute(text("SELECT pg_sleep(0.3)")) if tries[first] == 1 else None

    write = server_store._database.write
    await asyncio.gather(write(both, RUN, OTHER), write(both, OTHER, RUN))
    assert sorted(tries.values()) == [1, 2]
    assert await asked(server_store, "SELECT error FROM runs") == [("xx",), ("xx",)]


async def test_only_one_is_alone_at_a_time(server_store: Store) -> None:
    def add(connection: Connection) -> int:
        take_lock(connection, 7)
        found = connection.scalar(text("SELECT count(*) FROM audit_of_the_test"))
        connection.execute(text("INSERT INTO audit_of_the_test VALUES (:number)"), {"number": found})
        return int(found or 0)

    await asked(server_store, "CREATE TABLE audit_of_the_test (number integer UNIQUE)")
    done = await asyncio.gather(*(server_store._database.write(add) for _ in range(20)))
    assert sorted(done) == list(range(20))


async def test_a_read_sees_one_state_throughout(server_store: Store) -> None:
    await server_store.create_run(a_run())

    def twice(connection: Connection) -> list[object]:
        count = "SELECT count(*) FROM runs"
        return [connection.scalar(text(each)) for each in (count, "SELECT pg_sleep(0.3)::text", count)]

    reading = asyncio.create_task(server_store._database.read(twice))
    await asyncio.sleep(0.1)
    await server_store.create_run(a_run(OTHER))
    assert await reading == [1, "", 1]


async def test_connections_that_the_server_ends_are_not_noticed(server_store: Store) -> None:
    await server_store.create_run(a_run())
    await asyncio.gather(*(server_store.run(RUN) for _ in range(20)))
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'howsure'"
    postgres.execute(server_store.where, end)
    assert {run.id for run in await asyncio.gather(*(server_store.run(RUN) for _ in range(20)))} == {RUN}
    postgres.execute(server_store.where, end)
    await asyncio.gather(*(server_store.save(RUN, [a_result(position)]) for position in range(20)))
    assert await server_store.finished_positions(RUN) == set(range(20))


async def test_more_at_once_than_connections_wait_their_turn(server_store: Store) -> None:
    await asyncio.gather(*(server_store.create_run(a_run(numbered(number))) for number in range(60)))
    assert len(await server_store.runs(limit=100)) == 60
    (connections,) = postgres.execute(
        server_store.where, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'howsure'"
    )
    assert connections[0] <= 15
