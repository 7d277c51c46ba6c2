"""The cache of model replies: a file beside the database, shared by all runs. Most misses are known without a lookup; a
lookup is one index read in this thread; writes go in batches."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterable
from contextlib import ExitStack, closing
from pathlib import Path
from time import time
from typing import Self

from msgspec import Struct

from howsure.errors import ConfigInvalid
from howsure.store.private_files import make_private_file, make_private_folder

BATCH = 200
"""Replies that wait to be written. A crash loses at most these; they are then requested again."""
MAX_KNOWN_KEYS = 100_000
"""Keys whose beginnings are held in memory. A larger cache is searched for every reply."""
KEY_PREFIX_BYTES = 8

# Replies lie in the order they came, and their keys in an index beside them: keys are random, and a table in their
# order would have a page to write for every reply.
TABLE = "CREATE TABLE IF NOT EXISTS replies (key BLOB PRIMARY KEY, value BLOB NOT NULL, made_at REAL NOT NULL)"


class CacheSize(Struct, frozen=True):
    """What the cache holds."""

    replies: int
    bytes: int


class KnownKeys:
    """The keys in the file as of the last read: any other key is not there, or was written by another process since.
    `keys` None: there are too many to hold."""

    def __init__(self, reader: sqlite3.Connection) -> None:
        self._reader = reader
        self._last = 0
        self.keys: set[bytes] | None = set() if _is_small(reader) else None
        self.learn()

    def learn(self, own: Iterable[bytes] = ()) -> None:
        """Read the keys that were added since the last time; `own` were added by this process."""
        if self.keys is None:
            return
        self.keys.update(key[:KEY_PREFIX_BYTES] for key in own)
        for place, key in self._reader.execute("SELECT rowid, key FROM replies WHERE rowid > ?", (self._last,)):
            self._last = max(self._last, place)
            self.keys.add(key[:KEY_PREFIX_BYTES])
        if len(self.keys) > MAX_KNOWN_KEYS:
            self.keys = None


def _is_small(reader: sqlite3.Connection) -> bool:
    try:
        return (reader.execute("SELECT max(rowid) FROM replies").fetchone()[0] or 0) <= MAX_KNOWN_KEYS
    except sqlite3.OperationalError:
        # An earlier version made the table, in the order of its keys.
        return False


class ReplyCache:
    """A `Cache` (llm/base.py) in a SQLite file. `async with ReplyCache.open(path) as cache:`"""

    def __init__(self, reading: sqlite3.Connection, writing: sqlite3.Connection) -> None:
        # Two connections, because a lookup must not wait for a batch that is being written.
        self._reader = reading
        self._writer = writing
        self._waiting: dict[bytes, bytes] = {}
        self._writing = asyncio.Lock()
        self._known = KnownKeys(reading)

    @classmethod
    def open(cls, path: Path) -> Self:
        try:
            make_private_folder(path.parent)
            make_private_file(path)
            with ExitStack() as undone:
                writer, reader = (undone.enter_context(closing(_connected(path))) for _ in range(2))
                writer.execute(TABLE)
                made = cls(reader, writer)
                undone.pop_all()
        except (OSError, sqlite3.Error) as error:
            raise ConfigInvalid(
                f"{path}: the cache of replies cannot be used: {error}; --no-cache does without"
            ) from error
        return made

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._flush()
        self.close()

    def close(self) -> None:
        self._reader.close()
        self._writer.close()

    async def get(self, key: bytes) -> bytes | None:
        if (waiting := self._waiting.get(key)) is not None:
            return waiting
        known = self._known.keys
        if known is not None and key[:KEY_PREFIX_BYTES] not in known:
            return None
        found = self._reader.execute("SELECT value FROM replies WHERE key = ?", (key,)).fetchone()
        return found[0] if found else None

    async def put(self, key: bytes, value: bytes) -> None:
        self._waiting[key] = value
        if len(self._waiting) >= BATCH and not self._writing.locked():
            await self._flush()

    async def _flush(self) -> None:
        async with self._writing:
            batch = list(self._waiting.items())
            await asyncio.to_thread(self._write, batch)
            self._known.learn(key for key, _ in batch)
            for key, value in batch:
                # Another value may have been put under the key meanwhile.
                if self._waiting.get(key) is value:
                    del self._waiting[key]

    def _write(self, batch: list[tuple[bytes, bytes]]) -> None:
        now = time()
        self._writer.execute("BEGIN IMMEDIATE")
        with self._writer:
            self._writer.executemany("REPLACE INTO replies VALUES (?, ?, ?)", [(*pair, now) for pair in batch])

    def size(self) -> CacheSize:
        count, size = self._reader.execute("SELECT count(*), total(length(value)) FROM replies").fetchone()
        return CacheSize(int(count), int(size))

    def clear(self, *, older_than_days: float = 0.0) -> int:
        """Forget replies, all or those of a certain age; how many there were."""
        before = time() - older_than_days * 86_400
        gone = self._writer.execute("DELETE FROM replies WHERE made_at <= ?", (before,)).rowcount
        self._writer.execute("VACUUM")
        return gone


def _connected(path: Path) -> sqlite3.Connection:
    with ExitStack() as undone:
        connection = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
        undone.callback(connection.close)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA cache_size = -1000")
        undone.pop_all()
    return connection
