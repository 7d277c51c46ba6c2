"""The contract of a database, and the addresses that name one. Transactions are functions of a Connection, the same for
SQLite and PostgreSQL; what differs is in `sqlite.py`, `postgres.py` and `insert`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from msgspec import DecodeError, Struct
from sqlalchemy import URL, ColumnElement, Connection, RowMapping, Select, Table, func, make_url, select, type_coerce
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError
from sqlalchemy.types import NullType

from howsure.errors import ConfigInvalid, DamagedRow

WAIT_SECONDS = 30.0
"""How long a transaction waits for others, or for a server to come back."""

CHUNK = 500
"""Rows that are read ahead, and values that one statement is given."""

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., object])

Insert = sqlite.Insert | postgresql.Insert

INSERTS: dict[str, Callable[[Table], Insert]] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
"""The dialects whose `insert` knows ON CONFLICT."""

LOCK_BASE = int.from_bytes(b"HOWSURE\0")
"""The first of our advisory locks on a server; the last byte is the number of the lock."""

CHECK_HINT = "`howsure db check` says what is damaged; restore a backup"
FULL_HINT = "free some space, then go on: `howsure resume latest`"
WRITABLE_HINT = "set HOWSURE_DATABASE_URL to a place that can be written"


def insert(dialect: str, table: Table) -> Insert:
    """An insert that can say what to do on conflict."""
    return INSERTS[dialect](table)


def not_idempotent(stored: Callable[..., bool]) -> Callable[[F], F]:
    """Marks a transaction that must not be done twice. `stored` checks by its traces whether it was done: it is given
    the transaction's arguments, and what that gave. The others are idempotent: where a connection is lost while one is
    being committed, it is done again rather than looked for."""

    def mark(do: F) -> F:
        do.stored = stored  # type: ignore[attr-defined]
        return do

    return mark


def stored_check(do: Callable[..., object]) -> Callable[..., bool] | None:
    """The check whether a transaction was done; None: it is idempotent."""
    return getattr(do, "stored", None)


def inserted_into(table: Table) -> Callable[..., bool]:
    """A check for `not_idempotent`: whether the record that a transaction inserts is in the table."""

    def is_inserted(connection: Connection, _: None, record: Any, *rest: object) -> bool:
        return connection.execute(select(table.c.id).where(table.c.id == record.id)).first() is not None

    return is_inserted


def chunks(values: Sequence[T], size: int = CHUNK) -> Iterator[Sequence[T]]:
    """All of them, in chunks that fit into one statement."""
    return (values[start : start + size] for start in range(0, len(values), size))


def fetch_rows(connection: Connection, statement: Select[Any]) -> list[Any]:
    """All rows of a statement. With `Database.read` this is a transaction of one statement."""
    return list(connection.execute(statement))


@contextmanager
def naming_damage(where: str) -> Iterator[None]:
    """Around a transaction: what was stored and cannot be decoded is damaged."""
    try:
        yield
    except (DecodeError, UnicodeDecodeError) as error:
        raise DamagedRow(f"{where} holds a row that cannot be read ({error}): {CHECK_HINT}") from error


def take_lock(connection: Connection, number: int) -> None:
    """Let one transaction at a time pass, until it ends. SQLite allows only one write at a time anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(LOCK_BASE + number)))


class Database(Protocol):
    """One database. A transaction's function may be run again where the first try was rolled back, so it works on
    nothing but its connection."""

    @property
    def where(self) -> str:
        """The location as it may be shown: a path, or an address without its password."""

    @property
    def path(self) -> Path | None:
        """The file; None where there is none."""

    @property
    def integrity_key(self) -> bytes:
        """What checksums are made with."""

    async def read(self, do: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """A transaction that sees one state of the database throughout, and cannot write."""

    async def write(self, do: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """A transaction: all of it is stored, or nothing."""

    async def outside(self, do: Callable[[Connection], T]) -> T:
        """Outside any transaction, for settings of the database."""

    def opened(self) -> None:
        """Called when the schema was checked: from now on the database is in use."""

    async def close(self) -> None: ...


class StorePart:
    """One subject of a `Store`: the queries on its tables."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock


EXPECTED = "expected sqlite:///path/file.db or postgresql://user@host/database"
POSTGRES = ("postgresql", "postgres")
SECRETS = ("password", "sslpassword")


class PostgresAddress(Struct, frozen=True):
    """A PostgreSQL: the address its driver is given, and the one that may be shown."""

    address: str
    where: str


def parse_address(location: str | Path) -> Path | PostgresAddress:
    """What a path, a `sqlite:///` or a `postgresql://` address means."""
    if isinstance(location, Path) or "://" not in location:
        return Path(location).expanduser().absolute()
    try:
        url = make_url(location)
    except (ArgumentError, ValueError):
        # A password may be anywhere in it, so it is not shown.
        scheme = location.partition("://")[0]
        raise ConfigInvalid(f"{scheme}://… is not a database address; {EXPECTED}") from None
    if url.get_backend_name() in POSTGRES:
        if url.drivername.partition("+")[2] not in ("", "asyncpg"):
            raise ConfigInvalid(
                f"{display_address(url)}: Howsure speaks to PostgreSQL by asyncpg; begin the address with postgresql://"
            )
        plain = url.set(drivername="postgresql")
        return PostgresAddress(address=plain.render_as_string(hide_password=False), where=display_address(plain))
    if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:":
        raise ConfigInvalid(f"{display_address(url)}: not a database that Howsure can use; {EXPECTED}")
    return Path(url.database).expanduser().absolute()


def display_address(url: URL) -> str:
    """An address as it may be shown."""
    hidden = {name: "***" if name in SECRETS else value for name, value in url.query.items()}
    text = url.set(query=hidden).render_as_string(hide_password=True)
    # Socket folders and our stars are easier to read unescaped.
    return text.replace("%2F", "/").replace("%2A", "*")


def split_password(server: PostgresAddress) -> tuple[str, str]:
    """The address for another program's command line, and the password for its environment."""
    url = make_url(server.address)
    in_query = url.query.get("password", "")
    public = URL.create(url.drivername, url.username, None, url.host, url.port, url.database, url.query)
    public = public.difference_update_query(["password"])
    return public.render_as_string(), url.password or (in_query if isinstance(in_query, str) else in_query[-1])


def raw_rows(connection: Connection, table: Table, *where: ColumnElement[bool], order: str) -> Iterator[RowMapping]:
    """The rows of a table, one after the other, with the values that the driver gives: times are text, and what is
    damaged is as it is."""
    raw = (type_coerce(column, NullType()).label(column.name) for column in table.c)
    ordered = select(*raw).where(*where).order_by(*(table.c[name] for name in order.split()))
    yield from connection.execute(ordered.execution_options(yield_per=CHUNK)).mappings()


def read_tuples(connection: Connection, statement: Select[Any]) -> list[tuple[Any, ...]]:
    """As the driver gives them: for hundreds of thousands, making SQLAlchemy's own of them costs more than reading."""
    with connection.execute(statement) as found:
        assert found.cursor is not None
        return list(found.cursor.fetchall())
