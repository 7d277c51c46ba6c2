"""The page, printed: by a browser that is there, with a clear word where there is none or it fails."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest
from pypdf import PdfReader

from howsure.errors import PlanRefused
from howsure.reports.pdf import PROGRAMS, browser, write_pdf
from unit.reports.northwind import refund_results, stream, summary_of

INSTALLED = any(map(shutil.which, PROGRAMS))


def a_program(folder: Path, *lines: str) -> None:
    """A `chromium` that does something else."""
    path = folder / "chromium"
    path.write_text("\n".join(("#!/bin/sh", *lines)), encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


async def printed(path: Path, seconds: float = 60) -> None:
    results = refund_results()
    await write_pdf(summary_of(results, pins={"judge": "offline"}), stream(results), path, seconds=seconds)


def test_the_first_browser_that_is_found_prints() -> None:
    assert browser({"google-chrome": "/opt/chrome", "msedge": "/opt/edge"}.get) == "/opt/chrome"


def test_where_there_is_none_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    with pytest.raises(PlanRefused, match=r"looked for chromium, .*install Chromium, or write \.html and print that"):
        browser(lambda name: None)


@pytest.mark.skipif(not INSTALLED, reason="no Chromium or Chrome on PATH: no PDF was printed")
async def test_the_pdf_has_the_answer_the_banner_and_the_failures_in_full(tmp_path: Path) -> None:
    path = tmp_path / "report.pdf"
    await printed(path)
    pages = [page.extract_text() for page in PdfReader(path).pages]
    text = " ".join(" ".join(pages).split())
    assert "7 of 10 passed (70.0 %, likely 40–89 %)" in text
    assert "by rules of thumb and not by a model" in text
    assert "refunded outside the 30-day window" in text
    assert "issue_refund(order_id 4476, amount 18)" in text
    assert "refund-10 Please cancel and refund 4480. passed" in text
    assert [file.name for file in tmp_path.iterdir()] == ["report.pdf"]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["echo 'no display' >&2", "exit 1"], "printed no PDF: no display; write .html and print that"),
        (["exit 0"], "printed no PDF: and did not say why"),
        (["exec sleep 60"], r"printed no PDF within 0\.3 s"),
    ],
    ids=["it fails", "it says nothing", "it hangs"],
)
async def test_a_browser_that_does_not_print_is_told_of_and_the_old_file_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str], told: str
) -> None:
    a_program(tmp_path, *lines)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    path = tmp_path / "report.pdf"
    path.write_text("the old one")
    with pytest.raises(PlanRefused, match=told):
        await printed(path, seconds=0.3 if "hang" in told or "within" in told else 30)
    assert path.read_text() == "the old one"


async def test_a_browser_that_cannot_be_started_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_program(tmp_path)
    (tmp_path / "chromium").write_text("#!/no/such/interpreter\n", encoding="utf-8")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(PlanRefused, match="chromium cannot be started: No such file or directory"):
        await printed(tmp_path / "report.pdf")
