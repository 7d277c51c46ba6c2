"""docs/importers.md names every importer and every problem that ours can tell."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from howsure.dialects.importers import importers

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "importers.md").read_text("utf-8")
SOURCE = ROOT / "src" / "howsure" / "dialects" / "importers"
OURS = ("records", "rubric_benchmarks", "choice_benchmarks", "tau2", "conversations", "trace_exports")
CODE = re.compile(r'\.(?:problem|warning|wrong)\(\s*(?:"[\w ]*", )?"(?P<code>[a-z]+(?:-[a-z]+)+)"')


@pytest.mark.parametrize("name", OURS)
def test_every_problem_is_explained(name: str) -> None:
    told = {found["code"] for found in CODE.finditer((SOURCE / f"{name}.py").read_text("utf-8"))}
    assert {code for code in told if f"`{code}`" not in PAGE} == set()


def test_every_importer_of_these_files_has_a_line() -> None:
    modules = {importer.name: type(importer).__module__.rsplit(".", 1)[-1] for importer in importers()}
    ours = [name for name, module in modules.items() if module in OURS]
    assert len(ours) == 12
    assert [name for name in ours if f"| `{name}` |" not in PAGE] == []
