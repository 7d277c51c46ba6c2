"""The contract of a database: transactions are functions of a Connection, the same for every kind. What differs between
the kinds is in `sqlite.py`, `postgres.py` and `insert`; the statements elsewhere are the same for all of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from msgspec import Struct
from sqlalchemy import URL, Connection, Table, func, make_url, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError

from howsure.errors import ConfigInvalid

WAIT_SECONDS = 30.0
"""How long a transaction waits for others, or for a server to come back."""

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., object])

Insert = sqlite.Insert | postgresql.Insert

INSERTS: dict[str, Callable[[Table], Insert]] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
"""The dialects whose `insert` knows ON CONFLICT."""

LOCK_BASE = 0x41_53_53_41_59 << 8
"""Ours among a server's advisory locks: HOWSURE in ASCII, and a number."""

WRITABLE_HINT = "set HOWSURE_DATABASE_URL to a place that can be written"


def insert(dialect: str, table: Table) -> Insert:
    """An insert that can say what to do on conflict."""
    return INSERTS[dialect](table)


def not_idempotent(stored: Callable[..., bool]) -> Callable[[F], F]:
    """Marks a transaction that must not be done twice; `stored` sees whether it was done, by what it left: it is given
    the transaction's arguments, and what that gave. The others are idempotent: where a connection is lost while one is
    being committed, it is done again rather than looked for."""

    def mark(do: F) -> F:
        do.stored = stored  # type: ignore[attr-defined]
        return do

    return mark


def stored_check(do: Callable[..., object]) -> Callable[..., bool] | None:
    """How to see whether a transaction was done; None: it is idempotent."""
    return getattr(do, "stored", None)


def take_lock(connection: Connection, number: int) -> None:
    """Let only one transaction at a time be here, until it ends. A write of SQLite is alone already."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(LOCK_BASE + number)))


class Database(Protocol):
    """One database. A transaction's function may be run again where the first try was rolled back, so it works on
    nothing but its connection."""

    @property
    def where(self) -> str:
        """The place as a person may see it: a path, or an address without its password."""

    @property
    def path(self) -> Path | None:
        """The file; None where there is none."""

    async def read(self, do: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """A transaction that sees one state of the database throughout, and cannot write."""

    async def write(self, do: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """A transaction: all of it is stored, or nothing."""

    async def outside(self, do: Callable[[Connection], T]) -> T:
        """Outside any transaction, for settings of the database."""

    def opened(self) -> None:
        """Its schema is ours: from now on it is in use."""

    async def close(self) -> None: ...


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
    url = _parsed(location)
    if url.get_backend_name() in POSTGRES:
        return _server(url)
    if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:":
        raise ConfigInvalid(f"{display_address(url)}: not a database that Howsure can use; {EXPECTED}")
    return Path(url.database).expanduser().absolute()


def display_address(url: URL) -> str:
    """An address as it may be seen."""
    hidden = {name: "***" if name in SECRETS else value for name, value in url.query.items()}
    text = url.set(query=hidden).render_as_string(hide_password=True)
    # Folders of sockets, and our own stars, are easier to read as they are.
    return text.replace("%2F", "/").replace("%2A", "*")


def split_password(server: PostgresAddress) -> tuple[str, str]:
    """The address for another program's command line, and the password for its environment."""
    url = make_url(server.address)
    asked = url.query.get("password", "")
    kept = URL.create(url.drivername, url.username, None, url.host, url.port, url.database, url.query)
    kept = kept.difference_update_query(["password"])
    return kept.render_as_string(), url.password or (asked if isinstance(asked, str) else asked[-1])


def _parsed(location: str) -> URL:
    try:
        return make_url(location)
    except (ArgumentError, ValueError):
        # It cannot be told where in it a password is, so it is not shown.
        scheme = location.partition("://")[0]
        raise ConfigInvalid(f"{scheme}://… is not a database address; {EXPECTED}") from None


def _server(url: URL) -> PostgresAddress:
    if url.drivername.partition("+")[2] not in ("", "asyncpg"):
        raise ConfigInvalid(
            f"{display_address(url)}: Howsure speaks to PostgreSQL by asyncpg; begin the address with postgresql://"
        )
    plain = url.set(drivername="postgresql")
    return PostgresAddress(address=plain.render_as_string(hide_password=False), where=display_address(plain))
