"""The `assay` program as a user starts it: a process of its own, in a folder of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

ROOT = Path(__file__).parents[2]


class Ended(Struct, frozen=True):
    """A program that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Assay = Callable[..., Ended]


@pytest.fixture
def assay(tmp_path: Path) -> Assay:
    """`assay("run", "file", env={…}, cwd=…)`; the current folder is a fresh one."""

    def run(
        *words: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None, stdin: bytes = b""
    ) -> Ended:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
        done = subprocess.run(
            [sys.executable, "-m", "assay", *map(str, words)],
            cwd=cwd or tmp_path,
            env={**environ, **(env or {})},
            input=stdin,
            capture_output=True,
            check=False,
            timeout=300,
        )
        return Ended(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))

    return run
