"""Commits that are cut off: the connection is lost, or the server crashes, before the answer to a COMMIT has come. What
is told to have been stored is stored, and nothing is done twice."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest
from sqlalchemy import Connection, text

import postgres
from databases import a_machine
from howsure.errors import Conflict
from howsure.model.document import DocumentKind
from howsure.store.database import not_idempotent
from howsure.store.documents import DocumentDraft
from howsure.store.store import Store
from store.making import OTHER, RUN, a_result, a_run, asked
from store.test_keys_and_logs import a_deed, a_key
from store.test_labels import a_label

UNFLUSHED = "-c fsync=off -c synchronous_commit=on -c wal_writer_delay=10000"
"""What was not committed is not in the server's log either, so that after a crash its number is given to another."""

pytestmark = pytest.mark.skipif("TEST_DATABASE_URL" in os.environ, reason="the server is not reached by a socket")


class Cut:
    """Stands between a store and its server, and cuts the connection at a COMMIT: before the server hears of it, after
    it has answered, or by a `crash` in which others are given the number of the transaction."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self.crash: Callable[[], None] = lambda: None
        self.when = ""
        self.cuts = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_unix_connection(self._socket)
        back = asyncio.create_task(self._pass(from_server, writer))
        try:
            while data := await reader.read(65536):
                when, self.when = (self.when, "") if b"COMMIT;" in data else ("", self.when)
                self.cuts += bool(when)
                if when == "crash":
                    back.cancel()
                    await asyncio.to_thread(self.crash)
                if when in ("before", "crash"):
                    break
                if when == "after":
                    # The server's answer is nobody's.
                    back.cancel()
                    to_server.write(data)
                    await asyncio.sleep(0.2)
                    break
                to_server.write(data)
        finally:
            back.cancel()
            for each in (to_server, writer):
                each.close()
                with suppress(ConnectionError):
                    await each.wait_closed()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()


@asynccontextmanager
async def cut_between(server: str, folder: Path) -> AsyncIterator[tuple[Cut, str]]:
    behind = Path(urlsplit(server).query.removeprefix("host="))
    cut = Cut(behind / ".s.PGSQL.5432")
    listening = await asyncio.start_unix_server(cut.serve, folder / ".s.PGSQL.5432")
    async with listening:
        yield cut, urlunsplit(urlsplit(server)._replace(query=f"host={folder}"))
    # What is still being served ends when its client has gone.
    await asyncio.sleep(0.05)


@pytest.fixture
def short_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The path of a socket may not be long."""
    yield tmp_path_factory.mktemp("s")


def is_added(connection: Connection, number: int, key: str) -> bool:
    return bool(connection.scalar(text("SELECT total FROM runs WHERE id = :key"), {"key": key}) == number)


@not_idempotent(is_added)
def add_one(connection: Connection, key: str) -> int:
    return int(
        connection.scalar(text("UPDATE runs SET total = total + 1 WHERE id = :key RETURNING total"), {"key": key}) or 0
    )


@pytest.mark.parametrize("when", ["before", "after"])
class TestACommitThatIsCutOff:
    async def test_is_stored_once(self, server: str, short_folder: Path, when: str) -> None:
        async with cut_between(server, short_folder) as (cut, address), await Store.open(address) as store:
            await store.create_run(a_run(total=5))
            cut.when = when
            assert await store._database.write(add_one, RUN) == 6
            assert cut.cuts == 1
            assert (await store.run(RUN)).counts.total == 6

    @pytest.mark.parametrize(
        ("do", "found"),
        [
            (lambda store: store.create_run(a_run(OTHER)), {RUN, OTHER}),
            (lambda store: store.delete_run(RUN), set()),
            (lambda store: store.save(RUN, [a_result()]), {RUN}),
        ],
        ids=["create", "delete", "save"],
    )
    async def test_ends_as_if_nothing_had_happened(
        self, server: str, short_folder: Path, when: str, do: Callable[[Store], Awaitable[None]], found: set[str]
    ) -> None:
        async with cut_between(server, short_folder) as (cut, address), await Store.open(address) as store:
            await store.create_run(a_run())
            cut.when = when
            await do(store)
            assert cut.cuts == 1
            assert {run.id for run in await store.runs()} == found

    async def test_does_not_hide_a_real_conflict(self, server: str, short_folder: Path, when: str) -> None:
        async with cut_between(server, short_folder) as (cut, address), await Store.open(address) as store:
            await store.create_run(a_run())
            cut.when = when
            with pytest.raises(Conflict, match=r"there is a run .* already"):
                await store.create_run(a_run())


Do = Callable[[Store], Awaitable[Any]]

RUBRIC = DocumentKind.RUBRIC
WRITES: dict[str, tuple[Do, str, list[tuple[Any, ...]]]] = {
    "create": (
        lambda store: store.documents.create(RUBRIC, "new", DocumentDraft(body=b"1")),
        "SELECT id, version FROM document_versions ORDER BY id",
        [("new", 1), ("old", 1)],
    ),
    "revise": (
        lambda store: store.documents.revise(RUBRIC, "old", DocumentDraft(body=b"2")),
        "SELECT id, version FROM document_versions ORDER BY version",
        [("old", 1), ("old", 2)],
    ),
    "queue": (lambda store: store.queue.add(a_run(OTHER)), "SELECT count(*) FROM jobs", [(2,)]),
    "claim": (
        lambda store: store.queue.claim("me", per_agent=9, overall=9),
        "SELECT owner, tries FROM jobs JOIN runs ON runs.id = run_id",
        [("me", 1)],
    ),
    "take back": (
        lambda store: store.labels.take_back(RUN, a_label().labeler),
        "SELECT position FROM labels",
        [(0,)],
    ),
    "begin": (
        lambda store: store.answers.begin("", "key", "request"),
        "SELECT key, sha256 FROM answered",
        [("key", "request")],
    ),
    "note": (lambda store: store.audit.add(a_deed(1)), "SELECT count(*) FROM audit", [(1,)]),
    "key": (lambda store: store.keys.add(a_key(), "secret"), "SELECT id FROM api_keys", [("k1",)]),
}


async def filled(store: Store) -> None:
    await store.queue.add(a_run())
    await store.documents.create(RUBRIC, "old", DocumentDraft(body=b"1"))
    for position in range(2):
        await store.labels.put(a_label(position))


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("do", "statement", "found"), WRITES.values(), ids=WRITES.keys())
async def test_what_the_service_writes_is_written_once(
    server: str, short_folder: Path, when: str, do: Do, statement: str, found: list[tuple[Any, ...]]
) -> None:
    async with cut_between(server, short_folder) as (cut, address), await Store.open(address) as store:
        await filled(store)
        cut.when = when
        await do(store)
        assert cut.cuts == 1
        assert await asked(store, statement) == found


@pytest.fixture
def machine() -> Iterator[postgres.Server]:
    with a_machine(UNFLUSHED) as server:
        yield server


async def test_a_crash_after_which_another_has_the_number_loses_nothing(
    machine: postgres.Server, short_folder: Path
) -> None:
    """PostgreSQL says of the number that it was committed: that of somebody else's transaction was."""
    taken: list[str] = []

    def crash() -> None:
        machine.restart("immediate")
        numbers = ("SELECT pg_current_xact_id()::text",) * 50
        taken.append(postgres.execute(machine.address, *numbers)[0][0])

    async with cut_between(machine.address, short_folder) as (cut, address), await Store.open(address) as store:
        await filled(store)
        before = postgres.execute(machine.address, "SELECT pg_current_xact_id()::text")[0][0]
        cut.crash = crash
        for name in WRITES:
            do, _, _ = WRITES[name]
            cut.when = "crash"
            await do(store)
        assert cut.cuts == len(WRITES) == len(taken)
        assert int(before) < int(taken[0])
        for name in ("queue", "begin", "note", "key"):
            _, statement, found = WRITES[name]
            assert await asked(store, statement) == found
        assert await asked(store, "SELECT id, version FROM document_versions ORDER BY id, version") == [
            ("new", 1),
            ("old", 1),
            ("old", 2),
        ]
        assert await asked(store, "SELECT position FROM labels") == [(0,)]
        assert await asked(store, "SELECT owner, tries FROM jobs JOIN runs ON runs.id = run_id WHERE tries > 0") == [
            ("me", 1)
        ]
