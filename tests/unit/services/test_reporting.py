"""Writing a run: every ending, and refused before anything is written where it cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import NotFound, PlanRefused
from assay.services.reporting import check_outputs, write_reports
from assay.services.runs import start
from assay.services.workplace import Workplace
from unit.services.places import Counting, asking, house, unwatched, workplace


async def with_a_run(folder: Path) -> Workplace:
    work = workplace(folder, Counting())
    await start(work, asking(house(folder, 2), name="first"), unwatched)
    return work


@pytest.mark.parametrize(
    ("ending", "beginning"),
    [
        (".html", "<!doctype html>"),
        (".HTML", "<!doctype html>"),
        (".md", "# first"),
        (".csv", "case_id,candidate,repeat,verdict,"),
        (".jsonl", '{"'),
        (".json", "{"),
    ],
)
async def test_every_ending_is_written_in_its_format(tmp_path: Path, ending: str, beginning: str) -> None:
    work = await with_a_run(tmp_path)
    path = tmp_path / f"report{ending}"
    assert await write_reports(work, "first", [str(path)]) == [path]
    text = path.read_text(encoding="utf-8-sig")
    assert text.lower().startswith(beginning)
    assert ("q1" in text and "q2" in text) or ending == ".md"


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
        ("report.docx", "the ending must be one of .html, .md, .csv, .jsonl, .json"),
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


@pytest.mark.parametrize("ending", [".html", ".md", ".csv", ".jsonl", ".json"])
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
