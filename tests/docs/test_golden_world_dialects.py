"""docs/dialects: what the pages of these dialects show can be read, and every problem they can report is explained."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from howsure.dialects.base import Dialect
from howsure.dialects.datasets import read_cases, validate
from howsure.dialects.golden import GoldenDialect
from howsure.dialects.simulation_columns import JSON_COLUMNS, NUMBERED, PLAIN
from howsure.dialects.test_set import TestSetDialect

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "dialects"
SOURCES = {
    "golden.md": ["golden", "reference_data", "documents"],
    "test-set.md": ["test_set", "agent_files", "documents"],
    "simulation.md": [path.stem for path in (ROOT / "src/howsure/dialects").glob("simulation*.py")],
}
_CODE = re.compile(r"\.(?:problem|warning)\(\s*\"(?P<code>[a-z-]+)\"|code=\"(?P<named>[a-z-]+)\"")


def codes(page: str) -> Iterator[str]:
    for name in SOURCES[page]:
        for found in _CODE.finditer((ROOT / "src/howsure/dialects" / f"{name}.py").read_text(encoding="utf-8")):
            yield found["code"] or found["named"]


@pytest.mark.parametrize("page", SOURCES)
def test_every_problem_code_is_explained(page: str) -> None:
    text = (PAGES / page).read_text(encoding="utf-8")
    told = sorted(set(codes(page)))
    assert told
    assert [code for code in told if f"`{code}`" not in text] == []


@pytest.mark.parametrize(("page", "dialect"), [("golden.md", GoldenDialect()), ("test-set.md", TestSetDialect())])
def test_the_file_that_a_page_shows_can_be_read(tmp_path: Path, page: str, dialect: Dialect) -> None:
    block = re.search(r"```json\n(.*?)```", (PAGES / page).read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    path = tmp_path / "shown.json"
    path.write_text(block[1], encoding="utf-8")
    report = validate(path, dialect)
    assert (report.problems, report.warnings) == ((), ())
    assert len(list(read_cases(path, dialect, report))) == 1


def test_every_column_of_simulation_files_is_explained() -> None:
    text = (PAGES / "simulation.md").read_text(encoding="utf-8")
    names = [*JSON_COLUMNS, *PLAIN, *(f"{family}…" for family in NUMBERED)]
    assert [name for name in names if f"`{name}" not in text] == []
