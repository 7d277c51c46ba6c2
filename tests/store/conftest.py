"""A store on a real file, closed after each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from assay.store.store import Store
from store.making import NOON


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with await Store.open(tmp_path / "assay.db", clock=lambda: NOON) as opened:
        yield opened
