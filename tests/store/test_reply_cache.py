"""The cache of replies: what was put is found, by this process and the next, and a crash loses a batch at most."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from howsure.errors import ConfigInvalid
from howsure.store import reply_cache
from howsure.store.reply_cache import BATCH, CacheSize, ReplyCache

EARLIER_TABLE = "CREATE TABLE replies (key BLOB PRIMARY KEY, value BLOB NOT NULL, made_at REAL NOT NULL) WITHOUT ROWID"


def numbered(number: int) -> bytes:
    return number.to_bytes(32)


async def test_what_was_put_is_found_at_once_and_by_the_next_process(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "replies.db"
    async with ReplyCache.open(path) as cache:
        await cache.put(b"a", b"one")
        assert await cache.get(b"a") == b"one"
        assert await cache.get(b"b") is None
    async with ReplyCache.open(path) as again:
        assert await again.get(b"a") == b"one"


async def test_a_full_batch_is_written_while_the_cache_is_open(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    async with ReplyCache.open(path) as cache:
        for number in range(BATCH):
            await cache.put(number.to_bytes(4), b"x")
        async with ReplyCache.open(path) as other:
            assert await other.get((7).to_bytes(4)) == b"x"


async def test_a_reply_can_be_replaced(tmp_path: Path) -> None:
    async with ReplyCache.open(tmp_path / "replies.db") as cache:
        await cache.put(b"a", b"one")
        await cache.put(b"a", b"two")
        assert await cache.get(b"a") == b"two"


async def test_the_cache_tells_its_size_and_can_be_cleared(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    async with ReplyCache.open(path) as cache:
        await cache.put(b"a", b"one")
        await cache.put(b"b", b"three")
    async with ReplyCache.open(path) as cache:
        assert cache.size() == CacheSize(replies=2, bytes=8)
        assert cache.clear(older_than_days=1) == 0
        assert cache.clear() == 2
        assert cache.size() == CacheSize(replies=0, bytes=0)


def test_a_file_that_is_no_cache_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    path.write_text("not a database, and quite long enough to be seen as something else" * 20, encoding="utf-8")
    with pytest.raises(ConfigInvalid, match="--no-cache"):
        ReplyCache.open(path)


async def test_replies_of_another_process_are_found_after_the_next_batch(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    async with ReplyCache.open(path) as ours:
        async with ReplyCache.open(path) as theirs:
            await theirs.put(b"theirs, and long enough", b"x")
        assert await ours.get(b"theirs, and long enough") is None
        for number in range(BATCH):
            await ours.put(b"%08d" % number, b"y")
        assert await ours.get(b"theirs, and long enough") == b"x"


@pytest.mark.parametrize("most", [0, 3, 10_000], ids=["none", "some", "all"])
async def test_a_cache_of_any_size_finds_what_it_holds(
    tmp_path: Path, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reply_cache, "MAX_KNOWN_KEYS", most)
    path = tmp_path / "replies.db"
    async with ReplyCache.open(path) as cache:
        for number in range(BATCH + 5):
            await cache.put(numbered(number), b"%d" % number)
        assert [await cache.get(numbered(number)) for number in (0, BATCH + 4)] == [b"0", b"%d" % (BATCH + 4)]
        assert await cache.get(numbered(BATCH + 5)) is None
    async with ReplyCache.open(path) as again:
        assert [await again.get(numbered(number)) for number in (0, BATCH + 4)] == [b"0", b"%d" % (BATCH + 4)]
        assert await again.get(numbered(BATCH + 5)) is None


async def test_keys_that_begin_alike_are_told_apart(tmp_path: Path) -> None:
    async with ReplyCache.open(tmp_path / "replies.db") as cache:
        await cache.put(b"12345678 one", b"1")
    async with ReplyCache.open(tmp_path / "replies.db") as cache:
        assert await cache.get(b"12345678 one") == b"1"
        assert await cache.get(b"12345678 two") is None


async def test_a_cache_that_an_earlier_version_made_is_used_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    with closing(sqlite3.connect(path)) as earlier, earlier:
        earlier.execute(EARLIER_TABLE)
        earlier.execute("INSERT INTO replies VALUES (?, ?, 1.0)", (b"a", b"one"))
    async with ReplyCache.open(path) as cache:
        assert await cache.get(b"a") == b"one"
        await cache.put(b"b", b"two")
    async with ReplyCache.open(path) as cache:
        assert [await cache.get(b"a"), await cache.get(b"b"), await cache.get(b"c")] == [b"one", b"two", None]
        assert cache.size() == CacheSize(replies=2, bytes=6)


async def test_a_value_put_while_the_batch_is_written_is_the_one_that_stays(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    async with ReplyCache.open(path) as cache:
        first = asyncio.gather(*(cache.put(numbered(number), b"old") for number in range(BATCH)))
        await asyncio.sleep(0)
        await cache.put(numbered(3), b"new")
        await first
        assert await cache.get(numbered(3)) == b"new"
    async with ReplyCache.open(path) as cache:
        assert await cache.get(numbered(3)) == b"new"
