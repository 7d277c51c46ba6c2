"""docs/coming-from.md: every worked block is run, in the order of the page, and prints what it shows; the page names
every dialect of another tool."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from howsure.dialects.tool_datasets import tool_dialects
from howsure.main import program

PAGE = (Path(__file__).parents[2] / "docs" / "coming-from.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"(?:^`(?P<file>[^`\n]+)`:\n\n)?^```(?P<kind>\w+)\n(?P<body>.*?)^```", re.DOTALL | re.MULTILINE)


def test_the_page_does_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = 0
    for block in BLOCK.finditer(PAGE):
        if block["file"]:
            (tmp_path / block["file"]).write_text(block["body"], encoding="utf-8")
            continue
        for command in block["body"].split("$ howsure ")[1:]:
            words, *shown = command.splitlines()
            done = CliRunner().invoke(program, shlex.split(words))
            assert done.exit_code == 0, done.output
            printed = [line.rstrip() for line in done.stdout.splitlines()]
            assert [line for line in shown if line and line not in printed] == [], done.output
            ran += 1
    assert ran == 18


def test_every_dialect_of_another_tool_is_on_the_page() -> None:
    assert [each.name for each in tool_dialects() if f"`{each.name}`" not in PAGE] == []
