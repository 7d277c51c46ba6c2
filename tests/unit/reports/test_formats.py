"""The files a run can be written to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from howsure.errors import UnknownName
from howsure.kit import Kit
from howsure.model.result import Result
from howsure.reports.formats import FORMATS, BuiltinFormat, find_format, format_endings, register
from unit.reports.northwind import refund_results, stream, summary_of

BEGINNINGS = {
    "html": b"<!doctype html>",
    "markdown": b"# support-v1 on refund policy\n\n**7 of 10 passed",
    "markdown-full": b"# support-v1 on refund policy\n\n**7 of 10 passed",
    "junit": b'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="support-v1 on refund policy" tests="12"',
    "csv": b"case_id,candidate,repeat,verdict,reasons,tool_usage_accuracy",
    "jsonl": b'{"result_id":',
    "json": b'{"run":{"run_id":',
    "canonical": b'{"candidate":"","case_id":"refund-01"',
    "parquet": b"PAR1",
    "every-eval-ever": b'{\n  "schema_version": "0.3.0"',
    "inspect": b"PK",
    "promptfoo": b'{"evalid":"howsure-3f2a9c1b-7d44-4e0a-9a53-0c9be1f6a7d2"',
    "openai-evals": b'{"spec":{"completion_fns":["',
    "langsmith": b'{"experiment_name":"support-v1 on refund policy"',
    "deepeval": b'[\n{"name":"refund-01"',
    "otlp": b'{"resourcespans":[',
}
EVERY = [(each, ending) for each in FORMATS if each.name != "pdf" for ending in each.endings]
KIT = Kit()
register(KIT)
IDS = [ending for _, ending in EVERY]


@pytest.mark.parametrize(("form", "ending"), EVERY, ids=IDS)
async def test_each_ending_writes_its_format(form: BuiltinFormat, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"a report, v1{ending}"
    results = refund_results()
    await find_format(KIT, path).write(summary_of(results), stream(results), path)
    assert path.read_bytes().lstrip().lower().startswith(BEGINNINGS[form.name].lower())
    beside = {"a report, v1.eee_samples.jsonl"} if form.name == "every-eval-ever" else set()
    assert {file.name for file in tmp_path.iterdir()} == {path.name, *beside}


def test_every_format_is_one_we_know_of() -> None:
    assert {each.name for each in FORMATS} - {"pdf"} == set(BEGINNINGS)
    assert len(set(format_endings(KIT))) == len(format_endings(KIT))


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("REPORT.HTML", "html"),
        ("a.md", "markdown"),
        ("a.full.md", "markdown-full"),
        ("results.junit.xml", "junit"),
        ("a.jsonl", "jsonl"),
        ("a.canonical.jsonl", "canonical"),
        ("run.eee.json", "every-eval-ever"),
        ("a.b.json", "json"),
    ],
)
def test_the_longest_ending_counts_whatever_its_case(name: str, form: str) -> None:
    assert find_format(KIT, Path(name)).name == form


def test_a_format_by_name_needs_no_ending() -> None:
    assert find_format(KIT, Path("summary"), "markdown").name == "markdown"
    assert find_format(KIT, Path("odd.html"), "JUnit").name == "junit"


@pytest.mark.parametrize("name", ["report.docx", "report", ".html"])
def test_an_unknown_ending_names_the_known_ones(name: str) -> None:
    with pytest.raises(
        UnknownName, match=r"unknown report file ending '.+'; known: \.canonical\.jsonl, \.csv, .*\.xml"
    ):
        find_format(KIT, Path(name))


def test_an_unknown_format_names_the_known_ones() -> None:
    with pytest.raises(
        UnknownName,
        match="unknown report format 'yaml'; known: canonical, csv, deepeval, every-eval-ever, html, inspect",
    ):
        find_format(KIT, Path("a.html"), "yaml")


@pytest.mark.parametrize(("form", "ending"), EVERY, ids=IDS)
async def test_a_report_that_breaks_half_way_leaves_the_old_one_in_place(
    form: BuiltinFormat, ending: str, tmp_path: Path
) -> None:
    path = tmp_path / f"report{ending}"
    path.write_text("the old one")

    async def breaking() -> Any:
        yield refund_results()[2]
        raise ConnectionError("the store went away")

    with pytest.raises(ConnectionError):
        await form.write(summary_of(refund_results()), breaking(), path)
    assert path.read_text() == "the old one"
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


async def test_a_link_is_followed_not_replaced(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("{}")
    link.symlink_to(real)
    no_results: list[Result] = []
    await find_format(KIT, link).write(summary_of(no_results), stream(no_results), link)
    assert link.is_symlink()
    assert json.loads(real.read_text())["results"] == []
