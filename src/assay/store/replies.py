"""The cache of model replies: a file of its own beside the database, shared by all runs. Looking one up is a read of
one index in this thread, cheaper than handing it to another; what is put is written in batches."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from time import time
from typing import Self

from msgspec import Struct

from assay.errors import ConfigInvalid

BATCH = 200
"""Replies that wait to be written. A crash loses at most these, and they are asked for again."""


class CacheSize(Struct, frozen=True):
    """What the cache holds."""

    replies: int
    bytes: int


class ReplyCache:
    """A `Cache` (llm/base.py) in a SQLite file. `async with ReplyCache.open(path) as cache:`"""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._waiting: dict[bytes, bytes] = {}
        self._writing = asyncio.Lock()

    @classmethod
    def open(cls, path: Path) -> Self:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS replies (key BLOB PRIMARY KEY, value BLOB NOT NULL, made_at REAL NOT NULL)"
                " WITHOUT ROWID"
            )
        except (OSError, sqlite3.Error) as error:
            raise ConfigInvalid(
                f"{path}: the cache of replies cannot be used: {error}; --no-cache does without"
            ) from error
        return cls(connection)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._flush()
        self.close()

    def close(self) -> None:
        self._connection.close()

    async def get(self, key: bytes) -> bytes | None:
        if (waiting := self._waiting.get(key)) is not None:
            return waiting
        found = self._connection.execute("SELECT value FROM replies WHERE key = ?", (key,)).fetchone()
        return found[0] if found else None

    async def put(self, key: bytes, value: bytes) -> None:
        self._waiting[key] = value
        if len(self._waiting) >= BATCH and not self._writing.locked():
            await self._flush()

    async def _flush(self) -> None:
        async with self._writing:
            batch = list(self._waiting.items())
            await asyncio.to_thread(self._write, batch)
            for key, _ in batch:
                self._waiting.pop(key, None)

    def _write(self, batch: list[tuple[bytes, bytes]]) -> None:
        now = time()
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.executemany("REPLACE INTO replies VALUES (?, ?, ?)", [(*pair, now) for pair in batch])
        self._connection.execute("COMMIT")

    def size(self) -> CacheSize:
        count, size = self._connection.execute("SELECT count(*), total(length(value)) FROM replies").fetchone()
        return CacheSize(int(count), int(size))

    def clear(self, *, older_than_days: float = 0.0) -> int:
        """Forget replies, all or those of a certain age; how many there were."""
        before = time() - older_than_days * 86_400
        gone = self._connection.execute("DELETE FROM replies WHERE made_at <= ?", (before,)).rowcount
        self._connection.execute("VACUUM")
        return gone
