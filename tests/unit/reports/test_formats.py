"""The files a run can be written to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.errors import UnknownName
from assay.model.result import Result
from assay.reports.formats import FORMATS, writer_for
from assay.reports.html import write_html
from unit.reports.northwind import refund_results, stream, summary_of

BEGINNINGS = {
    ".html": "<!doctype html>",
    ".md": "# support-v1 on refund policy",
    ".csv": "case_id,candidate,repeat,verdict,reasons,tool_usage_accuracy",
    ".jsonl": '{"result_id":',
    ".json": '{"run":{"run_id":',
}


@pytest.mark.parametrize("ending", FORMATS)
async def test_each_ending_writes_its_format(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"a report, v1{ending}"
    results = refund_results()
    await writer_for(path)(summary_of(results), stream(results), path)
    text = path.read_text("utf-8")
    assert text.lstrip().startswith(BEGINNINGS[ending])
    assert "Rückversand" in text or ending in (".md", ".csv")
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_the_ending_counts_whatever_its_case() -> None:
    assert writer_for(Path("REPORT.HTML")) is write_html


@pytest.mark.parametrize("name", ["report.pdf", "report"])
def test_an_unknown_ending_names_the_known_ones(name: str) -> None:
    with pytest.raises(UnknownName, match=r"known: \.csv, \.html, \.json, \.jsonl, \.md"):
        writer_for(Path(name))


@pytest.mark.parametrize("ending", FORMATS)
async def test_a_report_that_breaks_half_way_leaves_the_old_one_in_place(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"report{ending}"
    path.write_text("the old one")

    async def breaking() -> Any:
        yield refund_results()[2]
        raise ConnectionError("the store went away")

    with pytest.raises(ConnectionError):
        await writer_for(path)(summary_of(refund_results()), breaking(), path)
    assert path.read_text() == "the old one"
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


async def test_a_link_is_followed_not_replaced(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("{}")
    link.symlink_to(real)
    no_results: list[Result] = []
    await writer_for(link)(summary_of(no_results), stream(no_results), link)
    assert link.is_symlink()
    assert json.loads(real.read_text())["results"] == []
