"""A place for a store, on a real file and on a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import postgres


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path / "assay.db")
        return
    try:
        url = postgres.new_store()
    except postgres.Unavailable as reason:
        pytest.skip(str(reason))
    yield url
    postgres.drop_database(url)
