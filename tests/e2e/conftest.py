"""The `howsure` program as a user starts it, in a folder of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec import Struct

from howsure.main import program

ROOT = Path(__file__).parents[2]


class Ended(Struct, frozen=True):
    """A program that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Howsure = Callable[..., Ended]


@pytest.fixture
def howsure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Howsure:
    """`howsure("run", "file", env={…}, cwd=…)`, in a fresh folder.

    The program runs in this process, which is quicker; in one of its own where that is what is tested: another locale
    (`env` with LC_ALL or PYTHON…), a pipe (`stdin`), or `alone=True`.
    """

    def run(
        *words: str | Path,
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
        stdin: bytes = b"",
        alone: bool = False,
    ) -> Ended:
        given = {
            name: value for name, value in os.environ.items() if not name.startswith("HOWSURE_") or "TRUST" in name
        } | (env or {})
        place = cwd or tmp_path
        if alone or stdin or any(name == "LC_ALL" or name.startswith("PYTHON") for name in env or ()):
            return in_a_process(words, place, given, stdin)
        with monkeypatch.context() as here:
            here.chdir(place)
            return in_this_process(words, given)

    return run


def in_a_process(words: Sequence[str | Path], cwd: Path, environ: dict[str, str], stdin: bytes) -> Ended:
    command = [sys.executable, "-m", "howsure", *map(str, words)]
    done = subprocess.run(command, cwd=cwd, env=environ, input=stdin, capture_output=True, check=False, timeout=300)
    return Ended(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def in_this_process(words: Sequence[str | Path], environ: dict[str, str]) -> Ended:
    gone = {name: None for name in os.environ if name not in environ}
    done = CliRunner(env={**environ, **gone}).invoke(program, [str(word) for word in words])
    err = done.stderr
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        err += "Traceback\n" + "".join(traceback.format_exception(done.exception))
    return Ended(done.exit_code, done.stdout_bytes.decode("utf-8", "replace"), err)
