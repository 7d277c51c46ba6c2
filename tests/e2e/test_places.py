"""Where Howsure is run from: read-only folders, paths with spaces, terminals without Unicode, pipes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from howsure.services.demo import DEMOS, Demo, demo_folder

Howsure = Callable[..., Any]

each_demo = pytest.mark.parametrize(
    "demo",
    [pytest.param(demo, marks=pytest.mark.thorough if place else ()) for place, demo in enumerate(DEMOS)],
    ids=[demo.dialect for demo in DEMOS],
)
"""One of them in `make test`, all in `make test-thorough`."""


def words(demo: Demo, base: Path) -> list[str | Path]:
    """The `howsure run` of one demo dataset that lies under `base`."""
    said: list[str | Path] = ["run", base / demo.dataset]
    for option, value in (("responses", demo.responses), ("rubric", demo.rubric), ("agent", demo.agent)):
        if value:
            said += [f"--{option}", base / value]
    return [*said, "--judge", f"recorded:{base / demo.judge}"] if demo.judge else said


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    base = tmp_path / "my data, über alles"
    shutil.copytree(demo_folder(), base)
    return base


@each_demo
def test_a_path_with_spaces_and_beyond_ascii_works(howsure: Howsure, copied: Path, demo: Demo) -> None:
    done = howsure(*words(demo, copied), "--json")
    assert done.code == 3, done.err
    assert done.json["passed"] > 0


@each_demo
def test_a_terminal_without_unicode_works(howsure: Howsure, copied: Path, demo: Demo) -> None:
    plain = {"PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = howsure(*words(demo, copied), env=plain)
    assert done.code == 3, done.err
    assert "Traceback" not in done.err
    assert done.out.isascii()
    assert howsure("results", "--json", env=plain).json[0]["run_id"]


@each_demo
def test_a_dataset_that_cannot_be_written_to_works(howsure: Howsure, copied: Path, demo: Demo) -> None:
    for path in (*copied.rglob("*"), copied):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert howsure(*words(demo, copied), "--json").code == 3
    finally:
        for path in (copied, *copied.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)


def test_a_place_that_cannot_be_written_to_explains_itself(howsure: Howsure, tmp_path: Path) -> None:
    """A folder under a file can never be made, whoever asks: root ignores permissions."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    demo = DEMOS[-1]
    done = howsure(*words(demo, demo_folder()), "--database", tmp_path / "file" / "howsure.db")
    assert done.code == 2
    assert "Traceback" not in done.err
    assert "file" in done.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_explains_itself(howsure: Howsure, tmp_path: Path) -> None:
    place = tmp_path / "locked"
    place.mkdir(mode=0o555)
    done = howsure(*words(DEMOS[-1], demo_folder()), cwd=place)
    assert done.code == 2
    assert "Traceback" not in done.err


def test_a_dataset_through_a_pipe_is_kept_and_can_be_retried(howsure: Howsure) -> None:
    demo = next(each for each in DEMOS if each.dialect == "explain")
    text = (demo_folder() / demo.dataset).read_bytes()
    done = howsure("run", "-", "--judge", f"recorded:{demo_folder() / demo.judge}", "--json", stdin=text)
    assert done.code == 3, done.err
    assert done.json["total"] == 20
    assert howsure("retry", "latest", "--errors", "--json").json["total"] == 20


def test_validate_reads_a_pipe(howsure: Howsure) -> None:
    done = howsure("validate", "-", "--json", stdin=(demo_folder() / DEMOS[-1].dataset).read_bytes())
    assert done.code == 0, done.err
    assert done.json["files"][0]["dialect"] == "legal"


def test_the_demo_ends_with_a_table_and_the_path_of_a_page(howsure: Howsure, tmp_path: Path) -> None:
    done = howsure("demo")
    assert done.code == 0, done.err
    assert all(demo.dialect in done.out for demo in DEMOS)
    pages = sorted(path.name for path in (tmp_path / ".howsure" / "demo").glob("*.html"))
    assert pages == sorted(f"{demo.dialect}.html" for demo in DEMOS)
    assert str(tmp_path / ".howsure" / "demo" / "legal.html") in done.out
    assert [run["total"] for run in howsure("demo", "--json").json] == [20, 16, 13, 12, 72]


def test_a_folder_stands_for_the_files_in_it(howsure: Howsure, copied: Path) -> None:
    done = howsure("validate", copied / "test-set", "--json")
    assert done.code == 0, done.err
    assert "test-set" in [file["dialect"] for file in done.json["files"]]


@pytest.mark.parametrize("demo", [demo for demo in DEMOS if demo.judge], ids=lambda demo: demo.dialect)
def test_a_recorded_judge_replays_to_the_same_export(howsure: Howsure, tmp_path: Path, demo: Demo) -> None:
    first = howsure(
        *words(demo, demo_folder()), "--record-judge", tmp_path / "replies.jsonl", "--name", "first", "--quiet"
    )
    assert first.code == 3, first.err
    without_judge = words(demo, demo_folder())[:-2]
    again = howsure(*without_judge, "--judge", f"recorded:{tmp_path / 'replies.jsonl'}", "--name", "again", "--quiet")
    assert again.code == 3, again.err
    exports = [howsure("results", name, "--canonical").out for name in ("first", "again")]
    assert exports[0] == exports[1]
    assert len(exports[0]) > 1000


def test_without_a_judge_nothing_is_guessed(howsure: Howsure) -> None:
    demo = next(each for each in DEMOS if each.dialect == "explain")
    done = howsure("run", demo_folder() / demo.dataset, "--judge", "none", "--json")
    counts = {name: done.json[name] for name in ("passed", "errored", "total")}
    assert counts["passed"] == 0
    assert done.json["failed"] + done.json["skipped"] == counts["total"]
    skipped = [each for each in howsure("results").json if each["verdict"] == "skipped"]
    assert all("needs a judge" in " ".join(each["reasons"]) for each in skipped)
    assert skipped
