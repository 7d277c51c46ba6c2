"""docs/converting.md: every worked block is run, in the order of the page, and prints what it shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from howsure.kit.plugins import builtin_kit
from howsure.main import program
from howsure.services.convert.convert import ENDINGS

PAGE = (Path(__file__).parents[2] / "docs" / "converting.md").read_text(encoding="utf-8")
BLOCK = re.compile(
    r"(?:^`(?P<file>[^`\n]+)`:\n\n)?^```(?P<kind>json|text|console)\n(?P<body>.*?)^```", re.DOTALL | re.MULTILINE
)


def test_the_page_does_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = 0
    for block in BLOCK.finditer(PAGE):
        if block["file"]:
            path = tmp_path / block["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block["body"], encoding="utf-8")
        else:
            ran += sum(run(command) for command in block["body"].split("$ howsure ")[1:])
    assert ran == 22


def run(text: str) -> int:
    """One command and the lines it should print, among others and in this order."""
    words, *shown = text.splitlines()
    done = CliRunner().invoke(program, shlex.split(words))
    assert done.exit_code == 0, done.output
    printed = iter(done.stdout.splitlines())
    for line in shown:
        assert any(one.startswith(line) for one in printed), f"{words}: {line!r} is not in {done.stdout}"
    return 1


def test_every_file_of_the_page_is_used() -> None:
    files = [block["file"] for block in BLOCK.finditer(PAGE) if block["file"]]
    assert len(files) == 16


def test_every_target_and_road_is_on_the_page() -> None:
    assert [kind for kind in ENDINGS if kind not in PAGE] == []
    table = PAGE.split("## What becomes what")[1].split("##")[0]
    assert [name for name in builtin_kit([]).importers.names() if f"`{name}`" not in table] == []


def test_every_importer_reads_a_worked_file() -> None:
    """Its name stands in what a command prints."""
    shown = re.findall(r"^read  .*\((?P<name>[\w-]+)\): ", PAGE, re.MULTILINE)
    unnamed = {"adk-session", "agent-session"}  # their commands show only what they wrote
    assert set(builtin_kit([]).importers.names()) - set(shown) == unnamed
