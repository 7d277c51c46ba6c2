"""Which files a run is made of, and when they count as changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from howsure.config import Settings
from howsure.errors import PlanRefused
from howsure.model.run_request import RunRequest
from howsure.services.run.watched_files import Snapshot, WatchedFiles, watched_files
from unit.services.places import house, workplace


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(folder: Path, settings: Settings | None = None, **options: object) -> tuple[set[str], set[str]]:
    """The names of the data, and of everything else."""
    asked = RunRequest(**{"datasets": (house(folder),), **options})  # type: ignore[arg-type]
    found = watched_files(workplace(folder, settings=settings), asked)
    return _names(found.data, folder), _names(found.others, folder)


def _names(paths: frozenset[Path], folder: Path) -> set[str]:
    return {str(path.relative_to(folder.resolve())) for path in paths}


def test_everything_that_is_named_is_looked_at(here: Path) -> None:
    settings = Settings(plugins=("plug.py",), evals=("evals.yaml",), contracts={"a": "schema.json", "b": {}})
    data, others = files(
        here,
        settings,
        responses=("answers.jsonl", "run:main"),
        rubric="rubric.json",
        agent="agent.json",
        judge="recorded:judge.jsonl",
        evals=("more.yaml",),
    )
    assert data == {"house.jsonl"}
    assert others == {
        "howsure.yaml",
        "plug.py",
        "evals.yaml",
        "more.yaml",
        "schema.json",
        "answers.jsonl",
        "rubric.json",
        "agent.json",
        "judge.jsonl",
    }


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("function:shop/bot.py:answer", {"shop/bot.py", "shop/tools.py"}),
        ("function:shop.bot:answer", {"shop/bot.py", "shop/tools.py"}),
        ("command:python shop/bot.py", {"shop/bot.py"}),
        ("replay:function:shop/bot.py:answer", {"shop/bot.py", "shop/tools.py"}),
        ("agent", {"shop/bot.py", "shop/tools.py"}),
        ("http:http://127.0.0.1:1/chat", set()),
        ("", set()),
    ],
)
def test_the_code_of_the_agent_is_looked_at(here: Path, target: str, code: set[str]) -> None:
    (here / "shop" / ".hidden").mkdir(parents=True)
    for name in ("bot.py", "tools.py", ".hidden/old.py", "notes.txt"):
        (here / "shop" / name).write_text("", encoding="utf-8")
    settings = Settings(targets={"agent": {"kind": "function", "function": "shop.bot:answer"}})
    assert files(here, settings, target=target)[1] == {"howsure.yaml", *code}


def test_a_folder_stands_for_its_files_and_for_new_ones(here: Path) -> None:
    (here / "data").mkdir()
    house(here / "data", 1, "a.jsonl")
    found = watched_files(workplace(here), RunRequest(datasets=("data",)), [here / "data" / "out.jsonl"])
    assert _names(found.data, here) == {"data", "data/a.jsonl"}
    seen = Snapshot(found.data)
    house(here / "data", 2, "b.jsonl")
    assert {path.name for path in seen.changed()} == {"data"}


def test_what_the_run_writes_is_not_looked_at(here: Path) -> None:
    (here / "data").mkdir()
    house(here / "data", 1, "a.jsonl")
    house(here / "data", 1, "out.jsonl")
    found = watched_files(workplace(here), RunRequest(datasets=("data",)), [here / "data" / "out.jsonl"])
    assert _names(found.data, here) == {"data", "data/a.jsonl"}


@pytest.mark.parametrize("dataset", ["-", "run:main"])
def test_what_never_changes_cannot_be_watched(here: Path, dataset: str) -> None:
    with pytest.raises(PlanRefused, match="--watch needs datasets that are files"):
        watched_files(workplace(here), RunRequest(datasets=(dataset,)))


def test_a_file_has_changed_when_it_holds_something_else(here: Path) -> None:
    names = ("kept", "touched", "edited", "gone", "new")
    paths = {name: here / name for name in names}
    for name in names[:-1]:
        paths[name].write_text("before", encoding="utf-8")
    watched = WatchedFiles(frozenset(paths.values()), frozenset())
    seen = Snapshot(watched.data)
    assert seen.changed() == frozenset()
    os.utime(paths["touched"], (1, 1))
    paths["edited"].write_text("after!", encoding="utf-8")
    paths["gone"].unlink()
    paths["new"].write_text("", encoding="utf-8")
    assert {path.name for path in seen.changed()} == {"edited", "gone", "new"}
