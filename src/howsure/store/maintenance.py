"""`howsure db`: check a database, upgrade it, and back it up while it is in use."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

from msgspec import Struct
from sqlalchemy import Connection, func, select, text

from howsure.errors import ConfigInvalid, Conflict
from howsure.store.database import WAIT_SECONDS, Database, PostgresAddress, parse_address, split_password
from howsure.store.integrity import RowCheck, RowProblem, mark_damaged, seal_rows, seal_versions
from howsure.store.private_files import make_private_file
from howsure.store.schema import HEAD, metadata, runs
from howsure.store.sqlite import check_file
from howsure.store.upgrades import check_server, connect, is_behind, open_database, prepare, read_revision

MAX_PROBLEMS = 20


class DatabaseHealth(Struct, frozen=True, kw_only=True):
    """The result of a check. `schema` None: the database is empty. `rows` are those that are wrong; `unchecked` is the
    number of rows of older versions, which have no checksum."""

    where: str
    database: str
    schema: str | None
    newest_schema: str = HEAD
    bytes: int
    counts: dict[str, int]
    problems: tuple[str, ...]
    rows: tuple[RowProblem, ...] = ()
    unchecked: int = 0

    @property
    def healthy(self) -> bool:
        return not self.problems and not self.rows


class UpgradeReport(Struct, frozen=True):
    """The schema before, None where there was nothing, and after."""

    where: str
    before: str | None
    after: str


class BackupReport(Struct, frozen=True):
    """A backup, and how to restore it."""

    where: str
    file: str
    bytes: int
    restore: str


@asynccontextmanager
async def closing_database(database: Database) -> AsyncIterator[Database]:
    try:
        yield database
    finally:
        await database.close()


async def check(location: str | Path, *, wait: float = WAIT_SECONDS, integrity_key: str = "") -> DatabaseHealth:
    """Everything is read, nothing is changed."""
    found = connect(location, read_only=True, wait=wait, integrity_key=integrity_key)
    async with closing_database(found) as database:
        return await database.read(_health, database.where)


def _health(connection: Connection, where: str) -> DatabaseHealth:
    schema = read_revision(connection, where)
    late = schema is not None and is_behind(schema, where)
    problems = [f"its schema is {schema}, and {HEAD} is the newest: `howsure db upgrade`"] if late else []
    counts: dict[str, int] = {}
    rows, unchecked = list[RowProblem](), 0
    if schema is not None and not late:
        check = RowCheck(connection)
        rows, unchecked = list(check.problems()), check.unchecked
        tables = (table for table in metadata.tables.values() if table.name != "alembic_version")
        counts = {table.name: connection.scalar(select(func.count()).select_from(table)) or 0 for table in tables}
    server = connection.dialect.name == "postgresql"
    version, size, own_problems = (_server if server else _file)(connection, where)
    return DatabaseHealth(
        where=where,
        database=version,
        schema=schema,
        bytes=size,
        counts=counts,
        problems=(*problems, *own_problems),
        rows=tuple(rows),
        unchecked=unchecked,
    )


def _file(connection: Connection, _: str) -> tuple[str, int, list[str]]:
    findings = [str(each) for each in connection.scalars(text(f"PRAGMA integrity_check({MAX_PROBLEMS})"))]
    orphans = {str(each.table) for each in connection.execute(text("PRAGMA foreign_key_check"))}
    problems = [] if findings == ["ok"] else findings
    problems += [f"{table} has entries whose run is not there" for table in sorted(orphans)]
    pages, size = (connection.scalar(text(f"PRAGMA {name}")) or 0 for name in ("page_count", "page_size"))
    return f"SQLite {sqlite3.sqlite_version}", pages * size, problems


def _server(connection: Connection, where: str) -> tuple[str, int, list[str]]:
    version = connection.scalar(select(func.current_setting("server_version")))
    size = connection.scalar(select(func.pg_database_size(func.current_database()))) or 0
    broken = text("SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid ORDER BY 1")
    problems = [f"the index {name} is not valid: REINDEX INDEX {name}" for name in connection.scalars(broken)]
    try:
        check_server(connection, where)
    except ConfigInvalid as error:
        problems.append(str(error))
    return f"PostgreSQL {version}", size, problems


async def upgrade(location: str | Path, *, wait: float = WAIT_SECONDS) -> UpgradeReport:
    """Create the schema where there is none, and upgrade an older one."""
    async with closing_database(connect(location, read_only=False, wait=wait)) as database:
        before = await database.read(read_revision, database.where)
        await prepare(database)
        after = await database.read(read_revision, database.where)
    return UpgradeReport(database.where, before, after or "")


async def seal(location: str | Path, *, wait: float = WAIT_SECONDS, integrity_key: str = "") -> int:
    """Make the missing checksums of rows of older versions, run by run, and return their number."""
    opened = await open_database(location, read_only=False, wait=wait, integrity_key=integrity_key)
    async with closing_database(opened) as database:
        ids = await database.read(lambda connection: list(connection.scalars(select(runs.c.id).order_by(runs.c.id))))
        made = [await database.write(seal_rows, run_id) for run_id in ids]
        return sum(made) + await database.write(seal_versions)


async def mark(location: str | Path, problems: Sequence[RowProblem], *, integrity_key: str = "") -> dict[str, int]:
    """Make damaged results count as such, and return their number by run."""
    by_run: dict[str, list[RowProblem]] = {}
    for problem in problems:
        by_run.setdefault(problem.run_id, []).append(problem)
    opened = await open_database(location, read_only=False, wait=WAIT_SECONDS, integrity_key=integrity_key)
    async with closing_database(opened) as database:
        marked = {run_id: await database.write(mark_damaged, run_id, own) for run_id, own in by_run.items() if run_id}
    return {run_id: number for run_id, number in marked.items() if number}


async def backup(location: str | Path, file: Path, *, replace: bool = False) -> BackupReport:
    """A copy of everything at one moment, while the database is in use. All of it, or no file."""
    file = file.absolute()
    if file.exists() and not replace:
        raise Conflict(f"{file} exists already; --force replaces it")
    if not file.parent.is_dir():
        raise ConfigInvalid(f"{file.parent} is not a folder: make it first")
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    source = parse_address(location)
    try:
        make_private_file(unfinished)
        if isinstance(source, PostgresAddress):
            restore = await _dump(source, unfinished)
        else:
            restore = await asyncio.to_thread(_copy, source, unfinished, file)
        unfinished.replace(file)
    except OSError as error:
        raise ConfigInvalid(f"{file} cannot be written: {error.strerror}") from error
    finally:
        unfinished.unlink(missing_ok=True)
    where = source.where if isinstance(source, PostgresAddress) else str(source)
    return BackupReport(where, str(file), file.stat().st_size, restore.replace(str(unfinished), str(file)))


def _copy(source: Path, unfinished: Path, file: Path) -> str:
    check_file(source)
    if file.exists() and file.samefile(source):
        raise ConfigInvalid(f"{file} is the database itself")
    try:
        with (
            # Opened for writing, so that SQLite removes its own files on closing.
            closing(sqlite3.connect(f"{source.as_uri()}?mode=rw", uri=True)) as live,
            closing(sqlite3.connect(unfinished)) as copy,
        ):
            live.backup(copy)
            sound = copy.execute("PRAGMA integrity_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        raise ConfigInvalid(f"{source} cannot be copied: {error}") from error
    finally:
        for end in ("-wal", "-shm"):
            unfinished.with_name(unfinished.name + end).unlink(missing_ok=True)
    if sound != "ok":
        raise ConfigInvalid(f"{source} is damaged, and so would be its copy: {sound}")
    return f"stop what uses it, then: cp {shlex.quote(str(file))} {shlex.quote(str(source))}"


async def _dump(server: PostgresAddress, unfinished: Path) -> str:
    """By PostgreSQL's own program. The password is in its environment, never on the command line."""
    address, password = split_password(server)
    command = ["pg_dump", "--format=custom", "--no-owner", f"--file={unfinished}", f"--dbname={address}"]
    if shutil.which("pg_dump") is None:
        shown = shlex.join(command).replace(str(unfinished), "FILE")
        secret = "PGPASSWORD=… " if password else ""
        raise ConfigInvalid(
            f"{server.where} is backed up by pg_dump, which is not on the PATH; where it is: {secret}{shown}"
        )
    environment = {**os.environ, **({"PGPASSWORD": password} if password else {})}
    process = await asyncio.create_subprocess_exec(*command, env=environment, stderr=asyncio.subprocess.PIPE)
    try:
        _, errors = await process.communicate()
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        raise
    if process.returncode:
        raise ConfigInvalid(f"{server.where}: pg_dump: {errors.decode(errors='replace').strip()}")
    return f"createdb a new database, then: pg_restore --no-owner --dbname=ITS_ADDRESS {shlex.quote(str(unfinished))}"
