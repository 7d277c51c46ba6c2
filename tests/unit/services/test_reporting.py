"""Writing a run: every ending, and refused before anything is written where it cannot be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from howsure.errors import NotFound, PlanRefused, UnknownName
from howsure.services.reporting import check_outputs, default_output, write_reports
from howsure.services.runs import start
from howsure.services.workspace import Workspace
from two_runs import AFTER, BEFORE, keep, verdicts
from unit.services.places import Counting, asking, house, unwatched, workplace


async def with_a_run(folder: Path) -> Workspace:
    work = workplace(folder, Counting())
    await start(work, asking(house(folder, 2), name="first"), unwatched)
    return work


@pytest.mark.parametrize(
    ("ending", "beginning"),
    [
        (".html", "<!doctype html>"),
        (".HTML", "<!doctype html>"),
        (".md", "# first"),
        (".full.md", "# first"),
        (".xml", '<?xml version="1.0" encoding="utf-8"?>'),
        (".csv", "case_id,candidate,repeat,verdict,"),
        (".jsonl", '{"'),
        (".canonical.jsonl", '{"candidate":'),
        (".json", "{"),
        (".eee.json", '{\n  "schema_version": "0.2.2"'),
    ],
)
async def test_every_ending_is_written_in_its_format(tmp_path: Path, ending: str, beginning: str) -> None:
    work = await with_a_run(tmp_path)
    path = tmp_path / f"report{ending}"
    assert await write_reports(work, "first", [str(path)]) == [path]
    text = path.read_text(encoding="utf-8-sig")
    assert text.lower().startswith(beginning)
    assert ("q1" in text and "q2" in text) or ending.endswith(".md") or ending == ".eee.json"


async def test_several_files_are_written_and_an_old_one_is_replaced(tmp_path: Path) -> None:
    work = await with_a_run(tmp_path)
    paths = [tmp_path / "a.jsonl", tmp_path / "b.csv"]
    paths[0].write_text("old\n" * 1000, encoding="utf-8")
    assert await write_reports(work, "latest", [str(path) for path in paths]) == paths
    assert len(paths[0].read_text(encoding="utf-8").splitlines()) == 2
    assert paths[1].is_file()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "report.docx",
            r"the ending must be one of \.html, .*\.parquet, \.eee\.json; or say --format html\|pdf\|markdown\|",
        ),
        ("report", "the ending must be one of"),
        (".html", "the ending must be one of"),
        ("no/where.html", "there is no folder"),
    ],
)
async def test_what_cannot_be_written_is_refused_before_anything_is(tmp_path: Path, name: str, told: str) -> None:
    work = await with_a_run(tmp_path)
    good = tmp_path / "good.md"
    with pytest.raises(PlanRefused, match=told):
        await write_reports(work, "first", [str(good), str(tmp_path / name)])
    assert not good.exists()
    with pytest.raises(PlanRefused, match=told):
        check_outputs([str(tmp_path / name)])


@pytest.mark.parametrize("ending", [".html", ".md", ".xml", ".csv", ".jsonl", ".json", ".parquet"])
async def test_a_folder_in_the_way_is_told_of_without_a_traceback(tmp_path: Path, ending: str) -> None:
    work = await with_a_run(tmp_path)
    (tmp_path / f"taken{ending}").mkdir()
    with pytest.raises(PlanRefused, match=rf"--output .*taken\{ending}: cannot be written: Is a directory"):
        await write_reports(work, "first", [str(tmp_path / f"taken{ending}")])


async def test_a_run_that_is_not_there_writes_nothing(tmp_path: Path) -> None:
    work = await with_a_run(tmp_path)
    with pytest.raises(NotFound):
        await write_reports(work, "nobody", [str(tmp_path / "r.html")])
    assert not (tmp_path / "r.html").exists()
    empty = workplace(tmp_path / "elsewhere")
    with pytest.raises(NotFound):
        await write_reports(empty, "latest", [str(tmp_path / "r.html")])
    assert not (tmp_path / "elsewhere").exists()


def test_nothing_asked_for_is_nothing_to_refuse() -> None:
    check_outputs([])


async def test_a_format_by_name_is_for_every_file_whatever_its_ending(tmp_path: Path) -> None:
    work = await with_a_run(tmp_path)
    paths = [tmp_path / "summary", tmp_path / "odd.html"]
    assert await write_reports(work, "first", [str(path) for path in paths], form="junit") == paths
    assert {path.read_text("utf-8")[:5] for path in paths} == {"<?xml"}
    with pytest.raises(UnknownName, match="unknown report format 'word'; known: canonical, csv"):
        await write_reports(work, "first", [str(tmp_path / "a.html")], form="word")


@pytest.mark.parametrize(("form", "name"), [("", "report.html"), ("junit", "report.xml"), ("markdown", "report.md")])
def test_where_nobody_says_the_file_is_named_by_its_format(form: str, name: str) -> None:
    assert default_output(form) == name


async def two_runs(folder: Path) -> Workspace:
    work = workplace(folder)
    async with await work.store() as store:
        await keep(store, BEFORE, verdicts("++-+"), name="nightly")
        await keep(store, AFTER, verdicts("+--+"), name="nightly")
    return work


async def test_a_baseline_puts_what_flipped_first(tmp_path: Path) -> None:
    work = await two_runs(tmp_path)
    path = tmp_path / "pr.md"
    await write_reports(work, AFTER, [str(path)], baseline=BEFORE)
    text = path.read_text("utf-8")
    assert text.index("## 1 case got worse") < text.index("2 of 4 passed")
    assert "| q2 | passed | failed |" in text
    await write_reports(work, AFTER, [str(path)])
    assert "got worse" not in path.read_text("utf-8")


async def test_a_baseline_by_name_is_the_run_before_this_one(tmp_path: Path) -> None:
    work = workplace(tmp_path, Counting(lambda case: "A" if case.id != "q2" else "B"))
    dataset = house(tmp_path, 3)
    for answer in ("A", "B"):
        work.kit.targets["counting"].answer = lambda case, said=answer: "A" if case.id != "q2" else said  # type: ignore[attr-defined]
        await start(work, asking(dataset, name="nightly"), unwatched)
    path = tmp_path / "pr.md"
    await write_reports(work, "latest", [str(path)], baseline="nightly")
    assert "| q2 | passed | failed |" in path.read_text("utf-8")


async def test_a_baseline_nothing_would_show_is_refused(tmp_path: Path) -> None:
    work = await two_runs(tmp_path)
    with pytest.raises(
        PlanRefused, match=r"--baseline: none of the files shows a comparison; those that do end in \.html, \.pdf, \.md"
    ):
        await write_reports(work, AFTER, [str(tmp_path / "a.csv")], baseline=BEFORE)
    with pytest.raises(NotFound):
        await write_reports(work, AFTER, [str(tmp_path / "a.md")], baseline="nobody")
    assert not list(tmp_path.glob("a.*"))


def test_a_report_without_a_baseline_needs_no_numpy() -> None:
    code = (
        "import sys, howsure.cli.report; print([name for name in ('numpy', 'scipy', 'pyarrow') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"
