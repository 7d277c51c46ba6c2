"""The contract of a database: transactions are functions of a Connection, the same for every kind. What differs between
the kinds is in `sqlite.py`, `postgres.py` and `insert`; the statements elsewhere are the same for all of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from sqlalchemy import Connection, Table, func, select
from sqlalchemy.dialects import postgresql, sqlite

WAIT_SECONDS = 30.0
"""How long a transaction waits for others, or for a server to come back."""

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., object])

Insert = sqlite.Insert | postgresql.Insert

INSERTS: dict[str, Callable[[Table], Insert]] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
"""The dialects whose `insert` knows ON CONFLICT."""

LOCKS = 0x41_53_53_41_59 << 8
"""Ours among a server's advisory locks: HOWSURE in ASCII, and a number."""

ELSEWHERE = "set HOWSURE_DATABASE_URL to a place that can be written"


def insert(dialect: str, table: Table) -> Insert:
    """An insert that can say what to do on conflict."""
    return INSERTS[dialect](table)


def once(stored: Callable[..., bool]) -> Callable[[F], F]:
    """Marks a transaction that must not be done twice; `stored` sees whether it was done, by what it left: it is given
    the transaction's arguments, and what that gave. The others are idempotent: where a connection is lost while one is
    being committed, it is done again rather than looked for."""

    def mark(do: F) -> F:
        do.stored = stored  # type: ignore[attr-defined]
        return do

    return mark


def seen_by(do: Callable[..., object]) -> Callable[..., bool] | None:
    """How to see whether a transaction was done; None: it is idempotent."""
    return getattr(do, "stored", None)


def alone(connection: Connection, number: int) -> None:
    """Let only one transaction at a time be here, until it ends. A write of SQLite is alone already."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(LOCKS + number)))


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
