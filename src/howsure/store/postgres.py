"""PostgreSQL, by asyncpg: the same functions of a Connection, run as transactions that outlive a server's restart."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from importlib import import_module
from random import uniform
from typing import Concatenate, Generic, ParamSpec, TypeVar

from msgspec import Struct
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from howsure.errors import ConfigInvalid, InputError, Unreachable
from howsure.store.codecs import key_of, key_option
from howsure.store.database import WAIT_SECONDS, PostgresAddress, naming_damage, stored_check
from howsure.store.postgres_errors import DATABASE_ERRORS, connection_lost, explain, is_temporary

CONNECTIONS = 10
MORE_CONNECTIONS = 5
"""Further connections that a process may open when all are busy."""
RECYCLE_SECONDS = 1800
CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 900.0
"""How long a statement may take before its server is taken for dead; a schema upgrade can take minutes."""
FIRST_PAUSE, LONGEST_PAUSE = 0.02, 1.0

NUMBER = "SELECT pg_current_xact_id_if_assigned()::text"
ENDED = "SELECT pg_xact_status(CAST(CAST($1 AS text) AS xid8))"
P = ParamSpec("P")
T = TypeVar("T")
IsStored = Callable[[Connection, T], bool]


class PostgresDatabase:
    """A `Database` on a server. Reads see one state (REPEATABLE READ, read only); writes are READ COMMITTED. A clash
    with another transaction, and once it is in use a lost connection too, is tried again until `wait` has passed."""

    path = None

    def __init__(self, where: str, engine: AsyncEngine, wait: float) -> None:
        self.where = where
        self._writing = engine
        self._reading = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        self.integrity_key = key_of(engine.sync_engine)
        self._wait = wait
        self._in_use = False

    @classmethod
    def at(
        cls, server: PostgresAddress, *, read_only: bool, wait: float = WAIT_SECONDS, integrity_key: str = ""
    ) -> PostgresDatabase:
        asyncpg = import_module("asyncpg")
        settings = {
            "application_name": "howsure",
            # Limits how long a session waits for a lock, or holds one while idle.
            "lock_timeout": f"{int(wait * 1000)}",
            "idle_in_transaction_session_timeout": "60000",
            "jit": "off",
        }
        if read_only:
            settings["default_transaction_read_only"] = "on"
        # The driver reads the address as PostgreSQL's own programs do: sslmode, several hosts, PGPASSWORD, ~/.pgpass.
        arguments = {"timeout": CONNECT_SECONDS, "command_timeout": ANSWER_SECONDS, "server_settings": settings}
        engine = create_async_engine(
            "postgresql+asyncpg://",
            async_creator=partial(_connected, asyncpg.connect, server, arguments),
            isolation_level="READ COMMITTED",
            execution_options=key_option(integrity_key),
            # What is stored may be private: errors show statements, never values.
            hide_parameters=True,
            pool_size=CONNECTIONS,
            max_overflow=MORE_CONNECTIONS,
            pool_timeout=wait,
            pool_recycle=RECYCLE_SECONDS,
            pool_use_lifo=True,
            # No ping before each use: it costs three more turns, and a dead connection is tried again anyway.
            pool_pre_ping=False,
        )
        return cls(server.where, engine, wait)

    async def read(self, do: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._persist(lambda: self._once(self._reading, lambda it: do(it, *args, **kwargs)))

    async def write(self, do: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        stored = stored_check(do)

        def is_stored(connection: Connection, done: T) -> bool:
            return stored is not None and stored(connection, done, *args, **kwargs)

        return await self._write(lambda it: do(it, *args, **kwargs), is_stored if stored else None)

    async def outside(self, do: Callable[[Connection], T]) -> T:
        engine = self._writing.execution_options(isolation_level="AUTOCOMMIT")
        return await self._persist(lambda: self._once(engine, do))

    def opened(self) -> None:
        self._in_use = True

    async def close(self) -> None:
        await self._writing.dispose()

    async def _persist(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Try until it works, or the trouble is one that stays."""
        pauses = self._pauses()
        while True:
            try:
                return await attempt()
            except DATABASE_ERRORS as error:
                pause = next(pauses, None) if is_temporary(error, in_use=self._in_use) else None
                if pause is None:
                    raise explain(error, self.where) from error
                await asyncio.sleep(pause)

    def _pauses(self) -> Iterator[float]:
        """Growing pauses with jitter, until the whole wait is over."""
        clock, pause = asyncio.get_running_loop().time, FIRST_PAUSE
        end = clock() + self._wait
        while clock() < end:
            yield min(uniform(pause / 2, pause), max(end - clock(), 0.0))
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _once(self, engine: AsyncEngine, do: Callable[[Connection], T]) -> T:
        with naming_damage(self.where):
            async with engine.connect() as connection:
                done = await connection.run_sync(do)
                await connection.commit()
                return done

    async def _write(self, do: Callable[[Connection], T], is_stored: IsStored[T] | None) -> T:
        end = await self._persist(lambda: self._try_to_write(do))
        if isinstance(end, _UncertainCommit):
            return await self._settle(end, do, is_stored)
        return end

    async def _try_to_write(self, do: Callable[[Connection], T]) -> T | _UncertainCommit[T]:
        async with self._writing.connect() as connection:
            # The transaction's number is None where it has written nothing.
            with naming_damage(self.where):
                done, number = await connection.run_sync(lambda it: (do(it), it.exec_driver_sql(NUMBER).scalar()))
            error: Exception | None = None
            try:
                await connection.commit()
            except DATABASE_ERRORS as failure:
                error = failure
        if error is None:
            return done
        if number is None or not connection_lost(error):
            raise error
        return _UncertainCommit(done, number, error)

    async def _settle(
        self, unsure: _UncertainCommit[T], do: Callable[[Connection], T], is_stored: IsStored[T] | None
    ) -> T:
        """The connection was lost during a COMMIT: find out whether the transaction was committed. PostgreSQL knows
        that it is over, but not always how it ended: after a crash its number may have been given to another."""
        committed = await self._persist(lambda: self._was_committed(unsure.number))
        if committed is None:
            raise Unreachable(
                f"{self.where} was lost while something was being stored, and does not say whether it was; look, and "
                "do it again where it was not"
            ) from unsure.error
        if is_stored is not None:
            if await self.read(is_stored, unsure.done):
                return unsure.done
            return await self._write(do, is_stored)
        try:
            return await self._write(do, None)
        except InputError:
            if committed:
                return unsure.done
            raise

    async def _was_committed(self, number: str) -> bool | None:
        """None: it is still being committed after all that time."""
        for pause in self._pauses():
            async with self._reading.connect() as connection:
                try:
                    found = (await connection.exec_driver_sql(ENDED, (number,))).scalar()
                except DBAPIError as error:
                    if getattr(error.orig, "sqlstate", "") == "22023":
                        # The server that took over does not know the transaction.
                        return False
                    raise
            if found != "in progress":
                return bool(found == "committed")
            await asyncio.sleep(pause)
        return None


async def _connected(
    connect: Callable[..., Awaitable[object]], server: PostgresAddress, arguments: dict[str, object]
) -> object:
    try:
        return await connect(server.address, **arguments)
    except ValueError as error:
        # An unknown part of the address, or a certificate that is missing.
        raise ConfigInvalid(f"{server.where} is not an address that can be used: {error}") from error


class _UncertainCommit(Struct, Generic[T]):
    """What a transaction gave, its number, and what came in place of an answer to its COMMIT."""

    done: T
    number: str
    error: Exception
