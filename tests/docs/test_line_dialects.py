"""docs/dialects/legal.md and explain.md: what they show can be read, and every field and problem is explained."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from howsure.dialects.base import Dialect
from howsure.dialects.datasets import read_cases, validate
from howsure.dialects.explain import CATALOG_SCHEMA as CATALOG
from howsure.dialects.explain import ExplainDialect
from howsure.dialects.explain_rows import PAYLOADS, REPEATS
from howsure.dialects.explain_rows import SCHEMA as EXPLAIN
from howsure.dialects.legal import LegalDialect
from howsure.dialects.legal_rows import SCHEMA as LEGAL

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "dialects"
SHARED = ("strict_json", "lines", "datasets")
SOURCES = {
    "legal.md": (*SHARED, "legal", "legal_rows"),
    "explain.md": (*SHARED, "explain", "explain_rows"),
}
_CODE = re.compile(r"(?:problem|warning)\(\s*\"(?P<code>[a-z]+-[a-z-]+)\"|code=\"(?P<named>[a-z-]+)\"")
OF_TABLES = {"csv-delimiter", "csv-syntax", "duplicate-column", "wrong-columns"}
NOT_OF_A_FILE = {"skipped-file", "invalid-row", "invalid-case", "not-writable", *OF_TABLES}
"""Codes of folders, of plug-ins' rows, of tables, and of writing (told in the text)."""


def page(name: str) -> str:
    return (PAGES / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SOURCES)
def test_every_problem_code_is_explained(name: str) -> None:
    sources = [(ROOT / "src/howsure/dialects" / f"{source}.py").read_text(encoding="utf-8") for source in SOURCES[name]]
    found = {match["code"] or match["named"] for source in sources for match in _CODE.finditer(source)}
    assert len(found) > 10
    found |= {"bad-matcher"} if name == "explain.md" else set()  # found by reference_data.py
    assert sorted(code for code in found - NOT_OF_A_FILE if f"`{code}`" not in page(name)) == []


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("legal.md", LEGAL["properties"]),
        ("explain.md", [*EXPLAIN["properties"], *CATALOG["properties"], *PAYLOADS, *REPEATS]),
    ],
    ids=["legal", "explain"],
)
def test_every_field_is_explained(name: str, fields: list[str]) -> None:
    assert [field for field in fields if f"`{field}`" not in page(name)] == []


@pytest.mark.parametrize(
    ("name", "dialect", "count"),
    [("legal.md", LegalDialect(), 3), ("explain.md", ExplainDialect(), 1)],
    ids=["legal", "explain"],
)
def test_the_rows_that_a_page_shows_can_be_read(name: str, dialect: Dialect, count: int, tmp_path: Path) -> None:
    block = re.search(r"```jsonl\n(.*?)```", page(name), re.DOTALL)
    assert block is not None
    path = tmp_path / "shown.jsonl"
    path.write_text(block[1], encoding="utf-8")
    report = validate(path, dialect)
    assert (report.problems, report.warnings) == ((), ())
    assert len(list(read_cases(path, dialect, report))) == count
