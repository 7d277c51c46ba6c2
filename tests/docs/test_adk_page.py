"""docs/adk.md: every worked block is run, in the order of the page, and prints what it shows; its tables name every
criterion of ADK, each a grader, and only commands that there are."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from howsure.kit.plugins import builtin_kit
from howsure.main import program
from howsure.model.adk_criteria import NAMES

PAGE = (Path(__file__).parents[2] / "docs" / "adk.md").read_text(encoding="utf-8")
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
            printed = [" ".join(line.split()) for line in done.stdout.splitlines()]
            assert [line for line in shown if line and " ".join(line.split()) not in printed] == [], done.output
            ran += 1
    assert ran == 7


def test_every_criterion_of_adk_is_in_the_table_and_is_a_grader() -> None:
    table = PAGE.split("## Criteria")[1].split("\n\n")[2]
    assert [name for name in NAMES if f"`{name}`" not in table] == []
    assert [name for name in NAMES if name not in builtin_kit([]).graders.names()] == []


def test_every_command_of_the_table_is_one_of_ours() -> None:
    table = PAGE.split("## Commands")[1].split("## Criteria")[0]
    named = {match[1]: match[0] for match in re.finditer(r"howsure (\w+)([^`]*)", table)}
    assert set(named) == {"convert", "run", "show", "import", "serve"}
    for match in re.finditer(r"`howsure (\w+)([^`]*)`", table):
        help_text = CliRunner().invoke(program, [match[1], "--help"]).stdout
        options = re.findall(r"--[\w-]+", match[2])
        assert [option for option in options if option not in help_text] == []
