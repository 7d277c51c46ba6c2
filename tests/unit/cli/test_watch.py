"""Waiting for files to change; the program itself is watched in tests/e2e/test_watch.py."""

from __future__ import annotations

import sys
from pathlib import Path
from threading import Timer

import pytest

from howsure.cli import watch
from howsure.errors import ConfigInvalid
from howsure.services.run.watched_files import Snapshot, WatchedFiles


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "POLL_SECONDS", 0.02)


def test_a_change_is_waited_for_until_nothing_more_changes(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text("one", encoding="utf-8")
    seen = Snapshot(frozenset({path}))
    timer = Timer(0.1, lambda: path.write_text("two", encoding="utf-8"))
    timer.start()
    assert watch._wait(seen) == {path}
    timer.join()


def test_what_changed_while_the_run_ran_is_not_missed(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text("one", encoding="utf-8")
    seen = Snapshot(frozenset({path}))
    path.write_text("other", encoding="utf-8")
    assert watch._wait(seen) == {path}


def test_results_are_taken_over_only_where_data_alone_changed_and_the_run_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, code = tmp_path / "cases.jsonl", tmp_path / "bot.py"
    changes = [{data}, {data}, {code}, {data, code}]
    codes = [0, 2, 100, 3, 0]
    carried: list[bool] = []

    def run(*, carry: bool) -> int:
        carried.append(carry)
        return codes[len(carried) - 1]

    def wait(_: Snapshot) -> frozenset[Path]:
        if not changes:
            raise KeyboardInterrupt
        return frozenset(changes.pop(0))

    monkeypatch.setattr(sys, "argv", ["howsure", "run", "cases.jsonl", "--watch"])
    monkeypatch.setattr(watch, "_run", run)
    monkeypatch.setattr(watch, "_wait", wait)
    with pytest.raises(KeyboardInterrupt):
        watch.watch_files(lambda: WatchedFiles(frozenset({data}), frozenset({code})))
    # After the first change (0); not after a refusal (2); not after code; not after code and data.
    assert carried == [False, True, False, False, False]


def test_settings_in_the_middle_of_being_written_do_not_end_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "cases.jsonl"
    carried: list[bool] = []
    told: list[WatchedFiles | BaseException] = [WatchedFiles(frozenset({data}), frozenset())]
    answers = iter([*told, ConfigInvalid("half a file"), KeyboardInterrupt()])

    def files() -> WatchedFiles:
        found = next(answers)
        if isinstance(found, BaseException):
            raise found
        return found

    def run(*, carry: bool) -> int:
        carried.append(carry)
        return 0

    monkeypatch.setattr(sys, "argv", ["howsure", "run", "cases.jsonl", "--watch"])
    monkeypatch.setattr(watch, "_run", run)
    monkeypatch.setattr(watch, "_wait", lambda _: frozenset({data}))
    with pytest.raises(KeyboardInterrupt):
        watch.watch_files(files)
    assert carried == [False, False]


def test_it_works_from_the_command_line_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["notebook"])
    with pytest.raises(ConfigInvalid, match="--watch works from the command line only"):
        watch.watch_files(lambda: WatchedFiles(frozenset(), frozenset()))
