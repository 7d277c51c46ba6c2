"""docs/databases.md: every command it shows prints what it shows, and what it says of numbers is what the code says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from howsure.main import program
from howsure.store.database import WAIT_SECONDS
from howsure.store.leases import LEASE
from howsure.store.postgres import CONNECTIONS, MORE_CONNECTIONS
from howsure.store.upgrades import MAX_CLOCK_SKEW

PAGE = (Path(__file__).parents[2] / "docs" / "databases.md").read_text(encoding="utf-8")
(CONSOLE,) = re.findall(r"```console\n(.+?)```", PAGE, re.DOTALL)


def alike(text: str, folder: Path) -> str:
    """But for the folder, and for what depends on the machine and on the schema of the day."""
    text = text.replace(f"{folder}/", "")
    return re.sub(r"\d+\.\d+ MB|SQLite [\d.]+|schema \d{4}", "…", text)


def test_every_command_prints_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOWSURE_DATABASE_URL", raising=False)
    said = ""
    for line in CONSOLE.splitlines():
        if line.startswith("$ howsure "):
            said += f"{line}\n{CliRunner().invoke(program, shlex.split(line)[2:]).output}"
    assert alike(said, tmp_path) == alike(CONSOLE, tmp_path)


def test_the_numbers_are_those_of_the_code() -> None:
    assert f"wait up to {WAIT_SECONDS:.0f} s" in PAGE
    assert f"After {WAIT_SECONDS:.0f} seconds the command ends" in PAGE
    assert f"opens up to {CONNECTIONS + MORE_CONNECTIONS} connections" in PAGE
    assert f"given up {LEASE.total_seconds():.0f} seconds after" in PAGE
    assert f"more than {MAX_CLOCK_SKEW.total_seconds():.0f} seconds from the server's" in PAGE
