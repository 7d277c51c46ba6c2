"""What docs/html-report.md shows can be typed, and the numbers it gives are those of the code."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from house import lines, mcq
from howsure.main import program
from howsure.reports.html.case_data import MAX_TEXT
from howsure.reports.html.matrix import COLUMNS
from howsure.reports.html.page import MAX_FILE_BYTES, MAX_LISTED, MAX_PLAIN_BYTES, STATIC_ENTRIES, TEMPLATES

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "html-report.md").read_text(encoding="utf-8")
PICTURES = re.findall(r"\]\((pictures/[^)]+)\)", PAGE)


def typed() -> list[tuple[str, str]]:
    """Every command of the page with what it prints."""
    (block,) = re.findall(r"```console\n(.+?)```", PAGE, re.DOTALL)
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(command, said) for command, _, said in (part.partition("\n") for part in parts)]


def test_every_command_writes_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines(tmp_path / "cases.jsonl", *(mcq(number) for number in range(1, 11)))
    for name, wrong in (("before", (3,)), ("after", (4, 5))):
        said = ({"case_id": f"q{each}", "response_text": "B" if each in wrong else "A"} for each in range(1, 11))
        lines(tmp_path / f"{name}.jsonl", *said)
    for command, told in typed():
        done = CliRunner().invoke(program, shlex.split(command)[1:])
        assert done.exit_code == 0, done.output
        assert told in done.stderr
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Against the baseline: main" in page
    assert re.search(r"2 cases got worse.*1 case got better", page, re.DOTALL)


def test_the_pictures_are_there_and_small() -> None:
    assert len(PICTURES) == 3
    assert {name: (DOCS / name).stat().st_size < 150_000 for name in PICTURES} == dict.fromkeys(PICTURES, True)


@pytest.mark.parametrize(
    ("words", "figure"),
    [
        (r"The columns are the (\d+) results that went worst", COLUMNS),
        (r"the (\d+) results that went worst are listed", STATIC_ENTRIES),
        (r"Single texts are cut after ([\d,]+)\s", MAX_TEXT),
        (r"A list of more than ([\d,]+) results", MAX_LISTED),
    ],
)
def test_the_page_gives_the_figures_of_the_code(words: str, figure: int) -> None:
    (found,) = re.findall(words, PAGE)
    assert int(found.replace(",", "")) == figure


def test_the_limits_of_the_page_are_those_of_the_code() -> None:
    assert MAX_FILE_BYTES < 20_000_000
    assert "The file stays below 20 MB, always." in PAGE
    assert f"From {MAX_PLAIN_BYTES / 1e6:g} MB of data on" in PAGE
    program_of_the_page = (TEMPLATES / "start.js").read_text("utf-8")
    assert "const PRINTED = 1000;" in program_of_the_page
    assert "up to 1,000 cases as a list" in PAGE
    assert "const PRINTED_OPEN = 40;" in program_of_the_page
    assert "The first 40 failures" in PAGE
