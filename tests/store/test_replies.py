"""The cache of replies: what was put is found, by this process and the next, and a crash loses a batch at most."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import ConfigInvalid
from assay.store.replies import BATCH, CacheSize, ReplyCache


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
