"""docs/exporting.md: every command it shows prints what it shows, and every format for other tools is told."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from demo_runs import demo_runs
from howsure.main import program
from howsure.reports.formats import FORMATS

PAGE = (Path(__file__).parents[2] / "docs" / "exporting.md").read_text(encoding="utf-8")
(BLOCK,) = re.findall(r"```console\n(.+?)```", PAGE, re.DOTALL)
STEP = re.compile(r"^\$ howsure (.+?)(?:\s+# exits (\d+))?$")


def test_each_command_prints_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    demo_runs(tmp_path, "test-set", "legal")
    monkeypatch.chdir(tmp_path)
    printed, steps = "", 0
    for line in BLOCK.splitlines():
        if step := STEP.match(line):
            done = CliRunner(env={"COLUMNS": "120"}).invoke(program, shlex.split(step[1]))
            assert done.exit_code == int(step[2] or 0), done.output
            printed, steps = done.output, steps + 1
        else:
            assert line in printed
    assert steps == 5


def test_every_format_for_other_tools_is_in_the_table() -> None:
    ours = [each.name for each in FORMATS if each.writer.startswith("tool_files.")]
    assert len(ours) == 6
    assert [name for name in (*ours, "every-eval-ever", "junit") if f"| `{name}` |" not in PAGE] == []
