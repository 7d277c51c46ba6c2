"""Opening a store: wherever it is put, and with a clear word where it cannot be."""

from __future__ import annotations

import asyncio
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from howsure.errors import ConfigInvalid, InputError, NotFound
from howsure.store.store import Store
from store.making import RUN, a_result, a_run


@pytest.mark.parametrize(
    "name",
    [".howsure/howsure.db", "a b/c d.db", "ünïcode/案例 🎉.db", "odd?mode=ro#x%20&'\".db", "deep/er/still/x.db"],
)
async def test_a_store_is_made_wherever_it_is_asked_for(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    async with await Store.open(path) as store:
        await store.create_run(a_run())
        await store.save(RUN, [a_result()])
    assert path.is_file()
    async with await Store.open(str(path)) as store:
        assert (await store.run(RUN)).counts.passed == 1
    assert [file.name for file in path.parent.iterdir()] == [path.name]


async def test_a_path_is_seen_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with await Store.open("here.db") as store:
        assert store.path == tmp_path / "here.db"
    async with await Store.open("sqlite:///there.db") as store:
        assert store.path == tmp_path / "there.db"
    async with await Store.open(f"sqlite:///{tmp_path}/absolute.db") as store:
        assert store.path == tmp_path / "absolute.db"


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (
            "sqlite://",
            "sqlite://: not a database that Howsure can use; expected sqlite:///path/file.db or postgresql://",
        ),
        ("sqlite:///:memory:", "not a database that Howsure can use; expected sqlite:///path/file.db"),
        ("mysql://me:secret@db/howsure", "mysql://me:***@db/howsure: not a database that Howsure can use"),
        ("postgresql+psycopg2://me:secret@db/x", "postgresql+psycopg2://me:***@db/x: Howsure speaks to PostgreSQL by"),
        ("postgresql+psycopg2://db/x?password=secret", "postgresql+psycopg2://db/x?password=***: Howsure speaks"),
        ("postgresql://me:secret@db:port/x", "postgresql://… is not a database address; expected sqlite:///"),
        ("://", "://… is not a database address"),
    ],
)
async def test_an_address_we_cannot_use_is_refused_without_its_password(address: str, message: str) -> None:
    with pytest.raises(ConfigInvalid, match=re.escape(message)) as caught:
        await Store.open(address)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("content", [b"hello", b"not a database at all " * 100], ids=["short", "long"])
async def test_a_file_of_another_kind_is_refused_and_left_alone(
    tmp_path: Path, content: bytes, read_only: bool
) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(ConfigInvalid, match=r"notes\.txt is not a Howsure database"):
        await Store.open(path, read_only=read_only)
    assert path.read_bytes() == content


async def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE notes (text TEXT)")
    with pytest.raises(ConfigInvalid, match=r"is a database of another program \(it holds notes\)"):
        await Store.open(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("notes",)]
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


async def test_a_damaged_database_is_called_damaged(tmp_path: Path) -> None:
    path = tmp_path / "howsure.db"
    async with await Store.open(path) as store:
        await store.create_run(a_run())
    path.write_bytes(path.read_bytes()[:100] + b"\xff" * 20_000)
    with pytest.raises(ConfigInvalid, match=r"is damaged|is not a Howsure database"):
        await Store.open(path)


async def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "howsure.db"
    path.touch()
    async with await Store.open(path) as store:
        assert await store.runs() == []


async def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="cannot be read: it is not a file"):
        await Store.open(tmp_path)


async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigInvalid, match=r"the folder .*file/deeper cannot be made: Not a directory"):
        await Store.open(tmp_path / "file" / "deeper" / "howsure.db")


async def test_reading_what_is_not_there_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"there is no database at .* yet; `howsure run` makes it"):
        await Store.open(tmp_path / ".howsure" / "howsure.db", read_only=True)
    assert list(tmp_path.iterdir()) == []


async def test_a_store_opened_to_read_refuses_to_write(location: str) -> None:
    async with await Store.open(location) as store:
        await store.create_run(a_run())
    async with await Store.open(location, read_only=True) as store:
        assert (await store.run(RUN)).id == RUN
        with pytest.raises(ConfigInvalid, match="cannot be written"):
            await store.save(RUN, [a_result()])
        assert await store.finished_positions(RUN) == set()


async def test_a_database_that_stays_locked_is_given_up_with_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "howsure.db"
    async with await Store.open(path, wait=0.1) as store:
        await store.create_run(a_run())
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(ConfigInvalid, match="is locked by another program"):
                await store.save(RUN, [a_result()])
            assert (await store.run(RUN)).id == RUN
            other.execute("ROLLBACK")
        await store.save(RUN, [a_result()])
        assert await store.finished_positions(RUN) == {0}


async def test_a_lock_that_is_let_go_in_time_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "howsure.db"
    async with await Store.open(path) as store:
        await store.create_run(a_run())
        with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
            other.execute("BEGIN IMMEDIATE")
            saving = asyncio.create_task(store.save(RUN, [a_result()]))
            await asyncio.sleep(0.05)
            assert not saving.done()
            other.execute("ROLLBACK")
            await saving
        assert await store.finished_positions(RUN) == {0}


@pytest.mark.parametrize("how", ["deleted", "replaced"])
async def test_a_file_that_goes_away_under_us_is_noticed(tmp_path: Path, how: str) -> None:
    path = tmp_path / "howsure.db"
    async with await Store.open(path) as store:
        await store.create_run(a_run())
        path.unlink()
        if how == "replaced":
            # The old file is still open, so the new one cannot have its number.
            path.touch()
        for call in (store.save(RUN, [a_result()]), store.runs()):
            with pytest.raises(ConfigInvalid, match="was deleted or replaced while it was in use"):
                await call
    assert not path.exists() or path.stat().st_size == 0


async def test_many_can_open_a_new_store_at_once(nowhere: str) -> None:
    code = """
import asyncio, sys
from howsure.store.store import Store

async def main() -> None:
    async with await Store.open(sys.argv[1]) as store:
        print(len(await store.runs()))

asyncio.run(main())
"""
    started = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", code, nowhere, stdout=asyncio.subprocess.PIPE)
        for _ in range(5)
    ]
    assert [(await process.communicate())[0] for process in started] == [b"0\n"] * 5


async def test_a_cancelled_save_is_whole_or_nothing_and_the_store_goes_on(store: Store) -> None:
    await store.create_run(a_run(total=300))
    for wait in (0.0, 0.001, 0.005):
        saving = asyncio.create_task(store.save(RUN, [a_result(position) for position in range(200)]))
        await asyncio.sleep(wait)
        saving.cancel()
        await asyncio.gather(saving, return_exceptions=True)
        assert len(await store.finished_positions(RUN)) in (0, 200)
    await store.save(RUN, [a_result(250)])
    assert 250 in await store.finished_positions(RUN)


async def test_readers_and_writers_go_on_together(store: Store) -> None:
    await store.create_run(a_run(total=400))

    async def write(start: int) -> None:
        await store.save(RUN, [a_result(position) for position in range(start, start + 20)])

    async def read() -> None:
        counts = (await store.run(RUN)).counts
        assert counts.completed + counts.pending == 400
        assert counts.completed % 20 == 0

    await asyncio.gather(*(write(start) for start in range(0, 400, 20)), *(read() for _ in range(40)))
    assert await store.finished_positions(RUN) == set(range(400))


UNPRIVILEGED = """
import asyncio, os, sys, tempfile
from howsure.errors import InputError
from howsure.store.store import Store

async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with await Store.open(folder + "/x.db"):
            pass
    if os.getuid() == 0:  # Root may write anywhere. By now everything is imported that root alone may read.
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    try:
        async with await Store.open(sys.argv[1], read_only=sys.argv[2] == "read") as store:
            print("runs:", len(await store.runs()))
    except InputError as error:
        print(type(error).__name__, error)

asyncio.run(main())
"""


@pytest.fixture
def locked_folder() -> Iterator[Path]:
    """A folder that everybody may read and, once a test has called chmod, nobody may write."""
    folder = Path(tempfile.mkdtemp(prefix="howsure read only "))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def as_nobody(path: Path, mode: str) -> str:
    """What somebody who is not root hears."""
    command = [sys.executable, "-c", UNPRIVILEGED, str(path), mode]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_read_only_folder_is_named_with_what_to_do(locked_folder: Path) -> None:
    locked_folder.chmod(stat.S_IRUSR | stat.S_IXUSR | stat.S_IROTH | stat.S_IXOTH)
    said = as_nobody(locked_folder / "howsure.db", "write")
    assert said.startswith(f"StorageFault {locked_folder}/howsure.db cannot be opened: its folder is read-only")
    assert "set HOWSURE_DATABASE_URL" in said
    said = as_nobody(locked_folder / ".howsure" / "howsure.db", "write")
    assert said.startswith(f"ConfigInvalid the folder {locked_folder}/.howsure cannot be made: Permission denied")


async def test_a_store_in_a_read_only_folder_can_be_read(locked_folder: Path) -> None:
    path = locked_folder / "howsure.db"
    async with await Store.open(path) as store:
        await store.create_run(a_run())
    path.chmod(0o444)
    locked_folder.chmod(0o555)
    assert as_nobody(path, "read") == "runs: 1\n"
    assert "StorageFault" in as_nobody(path, "write")


def test_every_refusal_is_the_users_to_fix() -> None:
    assert issubclass(ConfigInvalid, InputError)


def test_the_driver_of_a_server_is_loaded_only_for_a_server(tmp_path: Path) -> None:
    code = """
import asyncio, sys
from howsure.store.store import Store

async def main() -> None:
    async with await Store.open(sys.argv[1]):
        print([name for name in sys.modules if name in ("asyncpg", "sqlalchemy.ext.asyncio", "howsure.store.postgres")])

asyncio.run(main())
"""
    command = [sys.executable, "-c", code, str(tmp_path / "x.db")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"


async def test_a_driver_that_is_missing_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("howsure.store.upgrades.find_spec", lambda name: None if name == "asyncpg" else object())
    with pytest.raises(ConfigInvalid, match=r"@db/x: PostgreSQL needs asyncpg: pip install 'howsure\[server\]'"):
        await Store.open("postgresql://me@db/x")
