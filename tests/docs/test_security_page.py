"""docs/security.md and tests/hardening/README.md: every test that they name is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
BREAKS = (ROOT / "tests" / "hardening" / "README.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


def functions_in(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize("text", [PAGE, BREAKS], ids=["docs/security.md", "tests/hardening/README.md"])
def test_every_named_test_exists(text: str) -> None:
    named = set(NAMED.findall(text))
    assert named
    missing = [file for file, _ in named if not (ROOT / file).is_file()]
    missing += [
        f"{file}::{name}"
        for file, name in named
        if name and file not in missing and name not in functions_in(ROOT / file)
    ]
    assert not missing


def test_every_promise_names_a_test() -> None:
    promises = PAGE.partition("## Promises")[2].partition("\n## ")[0]
    rows = [line for line in promises.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 20
    untested = [row for row in rows if not NAMED.search(row.split(" | ")[-1]) and not set(row) <= set("|- ")]
    assert not untested


def test_every_break_has_a_test() -> None:
    numbers = [int(number) for number in re.findall(r"^\| (\d+) \|", BREAKS, re.MULTILINE)]
    assert numbers == list(range(1, 20))
    rows = [line for line in BREAKS.splitlines() if line.startswith("| ") and not line.startswith(("| ---", "| break"))]
    assert not [row for row in rows if not NAMED.search(row)]
