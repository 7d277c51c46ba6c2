"""docs/dialects/plain.md: its table is run as it says, and every name and problem stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from howsure.dialects.plain_columns import ROLES, plain_name
from howsure.main import program

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "dialects" / "plain.md").read_text(encoding="utf-8")
CODE = re.compile(r"(?:problem\(|CellFault\([^,]+, )\"(?P<code>[a-z]+[a-z-]*)\"")
SOURCES = ("plain", "plain_columns", "plain_rows", "tables")


def test_every_name_of_a_column_is_listed() -> None:
    for role, names in ROLES.items():
        (line,) = re.findall(rf"^\| `{role}` \|.*$", PAGE, re.MULTILINE)
        listed = {plain_name(name) for name in re.findall(r"`([^`]+)`", line.split("|")[2])}
        assert {name for name in names if name not in listed} <= {"retrievedcontext"}, role


def test_every_problem_code_is_explained() -> None:
    texts = [(ROOT / "src/howsure/dialects" / f"{name}.py").read_text(encoding="utf-8") for name in SOURCES]
    found = {match["code"] for text in texts for match in CODE.finditer(text)}
    assert len(found) > 12
    assert sorted(code for code in found if f"`{code}`" not in PAGE) == []


def test_the_table_of_the_page_is_run_as_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, command, said = re.findall(r"^```(?:csv|bash|)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[:3]
    (tmp_path / "my.csv").write_text(table, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(program, command.split()[1:])
    assert done.exit_code == 0, done.output
    assert said.strip() in done.output
    assert "1 of 2 passed" in done.output
