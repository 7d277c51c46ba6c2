"""Runs the sides of rows: in this process, or through the installed `howsure` (with `NET=installed`, the side that has
the option). A folder with the same files after the same commands is prepared once and copied; equal sides are run
once."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import traceback
from collections.abc import Mapping
from contextlib import chdir, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from msgspec import Struct

from howsure.config import DATABASE
from howsure.main import program
from net.rows import Row, Side, file_bytes
from net.worlds import WORLDS

INSTALLED = os.environ.get("NET") == "installed"
COMMAND = Path(sys.executable).with_name("howsure")
KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "PYTHONPATH", "VIRTUAL_ENV", "SYSTEMROOT")
TRUST = ("HOWSURE_TRUST", "HOWSURE_TRUST_FILE")


class Ended(Struct, frozen=True):
    """A command that has ended."""

    code: int
    out: str
    err: str


class Outcome(Struct, frozen=True, dict=True):
    """What one side left: how its command ended, what was seen, and its folder."""

    runner: Runner
    folder: Path
    env: Mapping[str, str]
    code: int
    out: str
    err: str

    @cached_property
    def json(self) -> Any:
        """The last JSON on stdout; None where there is none."""
        for start in (0, *(place + 1 for place, sign in enumerate(self.out) if sign == "\n")):
            if self.out[start : start + 1] in ("{", "["):
                with suppress(ValueError):
                    return json.loads(self.out[start:])
        return None

    @cached_property
    def results(self) -> dict[str, Any]:
        """The results of the latest run, if there is one, by case; by `case candidate` and `case #repeat` too."""
        done = self.runner.invoke("results latest --json", self.folder, self.env)
        found: dict[str, Any] = {}
        for each in json.loads(done.out) if done.code == 0 else ():
            case = each["test_case_id"]
            found[case] = found[f"{case} {each['candidate']}"] = found[f"{case} #{each['repeat']}"] = each
        return found


class Runner:
    """Runs commands in folders of their own below `home`. `places` are the addresses that rows write as `$NAME`."""

    def __init__(self, home: Path, places: Mapping[str, str]) -> None:
        self._home = home
        self._places = places
        self._outcomes: dict[tuple[Side, bool], Outcome] = {}
        self._prepared: dict[tuple[object, ...], Path] = {}
        self._count = 0

    def sides(self, row: Row) -> tuple[Outcome, Outcome]:
        """With the option, and on the other side."""
        with_it = self._outcome(row.side(row.given), installed=INSTALLED)
        return with_it, self._outcome(row.side(row.other), installed=INSTALLED and row.slow)

    def _outcome(self, side: Side, *, installed: bool) -> Outcome:
        if (side, installed) not in self._outcomes:
            self._outcomes[side, installed] = self._run(side, installed=installed)
        return self._outcomes[side, installed]

    def _run(self, side: Side, *, installed: bool) -> Outcome:
        env = json.loads(self._filled(side.env))
        folder = self._fresh()
        shutil.copytree(self._prepare(side, env), folder, dirs_exist_ok=True)
        run = self._invoke_installed if installed else self.invoke
        done = run(self._filled(side.command), folder, env, side.stdin)
        seen = self.invoke(self._filled(side.look), folder, env) if side.look and done.code != 1 else done
        return Outcome(self, folder, env, done.code, seen.out, done.err + (seen.err if side.look else ""))

    def _prepare(self, side: Side, env: Mapping[str, str]) -> Path:
        key = (side.world, side.files, side.before, side.env)
        if key not in self._prepared:
            folder = self._fresh()
            if side.before:
                shutil.copytree(self._prepare(Side(**{**_fields(side), "before": side.before[:-1]}), env), folder)
                done = self.invoke(self._filled(side.before[-1].removeprefix("! ")), folder, env)
                assert done.code == 0 or side.before[-1].startswith("! "), (side.before[-1], done)
            else:
                folder.mkdir()
                for name, content in {**WORLDS[side.world], **json.loads(self._filled(side.files))}.items():
                    path = folder / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(file_bytes(content))
                if WORLDS[side.world]:
                    (folder / DATABASE).parent.mkdir()
                    shutil.copy(self._empty_database, folder / DATABASE)
            self._prepared[key] = folder
        return self._prepared[key]

    @cached_property
    def _empty_database(self) -> Path:
        """Made once: making one takes as long as a small run."""
        folder = self._fresh()
        folder.mkdir()
        assert self.invoke("db upgrade", folder, {}).code == 0
        return folder / DATABASE

    def _fresh(self) -> Path:
        self._count += 1
        return self._home / str(self._count)

    def _filled(self, text: str) -> str:
        for name, place in self._places.items():
            text = text.replace(f"${name}", place)
        return text

    def _environ(self, env: Mapping[str, str]) -> dict[str, str]:
        environ = {name: os.environ[name] for name in (*KEPT, *TRUST) if name in os.environ}
        model = self._places.get("MODEL", "")
        return {**environ, "COLUMNS": "80", "OPENAI_COMPATIBLE_BASE_URL": f"{model}/v1", **env}

    def _invoke_installed(self, command: str, folder: Path, env: Mapping[str, str], stdin: str) -> Ended:
        words = [str(COMMAND), *shlex.split(command)]
        around: dict[str, Any] = {"cwd": folder, "env": self._environ(env), "input": stdin, "start_new_session": True}
        done = subprocess.run(words, capture_output=True, check=False, timeout=120, text=True, **around)
        return Ended(done.returncode, done.stdout, done.stderr)

    def invoke(self, command: str, folder: Path, env: Mapping[str, str], stdin: str = "") -> Ended:
        """In this process."""
        environ = self._environ(env)
        gone = {name: None for name in os.environ if name not in environ}
        paths = list(sys.path)
        with chdir(folder):
            here = CliRunner(env={**environ, **gone}).invoke(program, shlex.split(command), input=stdin)
        sys.path[:] = paths
        err = here.stderr
        if here.exception is not None and not isinstance(here.exception, SystemExit):
            err += "Traceback\n" + "".join(traceback.format_exception(here.exception))
        return Ended(here.exit_code, here.stdout_bytes.decode("utf-8", "replace"), err)


def _fields(side: Side) -> dict[str, Any]:
    return {name: getattr(side, name) for name in side.__struct_fields__}
