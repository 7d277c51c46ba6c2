"""Files and folders that whoever runs Howsure may not enter, read or write: told as theirs to open, never as a bug."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from dialect_rows import mcq, write_rows
from howsure.config import load
from howsure.errors import ConfigInvalid
from howsure.services.workspace import current_folder
from strangers import python_as_stranger, why_no_stranger


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that everybody may enter, with one in it that is closed; pytest's own are closed to others."""
    with TemporaryDirectory() as folder:
        base = Path(folder)
        base.chmod(0o777)
        write_rows(base / "cases.jsonl", [mcq("q1")]).chmod(0o644)
        for name in ("closed", "readable"):
            (base / name).mkdir()
        (base / "closed").chmod(0o700 if os.geteuid() == 0 else 0o000)
        (base / "readable").chmod(0o555)
        if reason := why_no_stranger():
            pytest.skip(reason)
        yield base
        (base / "closed").chmod(0o700)
        (base / "readable").chmod(0o700)


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """The one line of an error that the user can act on."""
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "Howsure broke" not in done.stderr
    return done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize("command", ["runs", "run ../cases.jsonl", "serve"])
def test_a_closed_folder_is_named(place: Path, command: str) -> None:
    told = refused(python_as_stranger("-m", "howsure", *command.split(), cwd=place / "closed"))
    why = "cannot be looked into (Permission denied): work in a folder that you may read and enter"
    assert told == f"error: {place / 'closed'} {why}"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("demo", "cannot be written: Permission denied; run the demo in a folder of yours"),
        ("init", "howsure.yaml: cannot be written: Permission denied"),
    ],
)
def test_a_folder_that_cannot_be_written_is_named(place: Path, command: str, told: str) -> None:
    assert told in refused(python_as_stranger("-m", "howsure", command, cwd=place / "readable"))


@pytest.mark.parametrize("option", ["--responses", "--agent", "--plugin", "--judge recorded:", "--config"])
def test_a_file_that_may_not_be_read_is_named(place: Path, option: str) -> None:
    name = f"{place / 'closed' / 'x.json'}"
    words = option.split(" ") if option.endswith(":") else [option, ""]
    done = python_as_stranger("-m", "howsure", "run", "cases.jsonl", words[0], words[1] + name, cwd=place)
    told = refused(done)
    assert "Permission denied" in told
    assert str(place / "closed") in told


def test_a_file_that_may_not_be_written_is_named(place: Path) -> None:
    out = place / "closed" / "golden.json"
    told = refused(
        python_as_stranger("-m", "howsure", "convert", "cases.jsonl", "--to", "golden", "-o", str(out), cwd=place)
    )
    assert "Permission denied" in told


def test_it_is_said_in_json_too(place: Path) -> None:
    done = python_as_stranger("-m", "howsure", "runs", "--json", cwd=place / "closed")
    assert done.returncode == 2
    assert "cannot be looked into" in done.stdout + done.stderr


def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    program = (
        "import os, sys; from howsure.main import main; gone = sys.argv.pop(); os.chdir(gone); os.rmdir(gone); main()"
    )
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", program, "runs", str(gone)], capture_output=True, text=True, timeout=240, check=False
    )
    assert (done.returncode, done.stderr.strip()) == (
        2,
        "error: the current folder cannot be found (No such file or directory): go to one that is there",
    )


def test_what_can_be_read_is_read_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert current_folder() == tmp_path
    assert load(tmp_path, {}).judge == ""
    with pytest.raises(ConfigInvalid, match="no such configuration file"):
        load(tmp_path, {}, tmp_path / "other.yaml")
