"""Where the public data lies that acceptance tests read; absent, they are skipped aloud."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def shared_data() -> Callable[..., Path]:
    """`shared_data("bfcl", "questions.jsonl")` is that file, or the test is skipped with the path it looked for."""
    base = Path(os.environ.get("HOWSURE_SHARED", ROOT.parent / "shared")) / "data"

    def find(*parts: str) -> Path:
        path = base.joinpath(*parts)
        if not path.exists():
            pytest.skip(f"public data not found: {path} (set HOWSURE_SHARED)")
        return path

    return find
