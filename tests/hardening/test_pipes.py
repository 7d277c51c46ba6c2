"""A reader that goes away early, or was never there, is no error: the command ends with its own exit code, and says
nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from shlex import quote

import pytest

from dialect_rows import explain, write_rows

HOWSURE = f"{quote(sys.executable)} -m howsure"
CASES = 200


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("pipes")
    write_rows(
        place / "cases.jsonl",
        [explain(number, model_answer="word " * 200, explain_inputs=...) for number in range(CASES)],
    )
    write_rows(place / "bad.jsonl", [explain(number, phase=5) for number in range(CASES)])
    done = subprocess.run(
        [sys.executable, "-m", "howsure", "run", "cases.jsonl"], cwd=place, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return place


def shell(folder: Path, command: str) -> tuple[int, str]:
    """The exit code of the first program of the pipe, and what was said on standard error."""
    done = subprocess.run(
        ["bash", "-c", f"{command}; exit ${{PIPESTATUS[0]}}"], cwd=folder, capture_output=True, check=False, timeout=240
    )
    return done.returncode, done.stderr.decode()


@pytest.mark.parametrize(
    "words",
    ["results latest", "runs --json", "show latest", "--help",
     *(pytest.param(each, marks=pytest.mark.thorough) for each in (
         "results --ndjson", "results --canonical", "runs", "show --json", "triage latest", "schema legal",
         "validate cases.jsonl --json", "db check"))],
)  # fmt: skip
def test_results_into_head_exit_0(folder: Path, words: str) -> None:
    assert shell(folder, f"{HOWSURE} {words} | head -c 1 >/dev/null") == (0, "")


def test_nobody_reads_and_the_exit_code_still_counts(folder: Path) -> None:
    # `sleep 0` goes before the first byte is printed.
    assert shell(folder, f"{HOWSURE} validate bad.jsonl --json | sleep 0") == (2, "")
    assert shell(folder, f"{HOWSURE} gate latest --gate 'pass_rate>=0' --json | sleep 0") == (101, "")


def test_results_stop_when_nobody_reads(folder: Path) -> None:
    code, said = shell(folder, f"timeout 20 {HOWSURE} results --ndjson | head -1 >/dev/null")
    assert (code, said) == (0, "")


@pytest.mark.parametrize(
    "closed", [*(pytest.param(each, marks=pytest.mark.thorough) for each in (">&-", "2>&-", "<&-")), ">&- 2>&- <&-"]
)
@pytest.mark.parametrize(
    "words",
    [
        "runs --json",
        "--version",
        *(pytest.param(each, marks=pytest.mark.thorough) for each in ("runs", "results", "show latest")),
    ],
)
def test_streams_that_are_closed_at_the_start(folder: Path, words: str, closed: str) -> None:
    code, said = shell(folder, f"{HOWSURE} {words} {closed}")
    assert code == 0
    assert "Traceback" not in said
    assert (folder / ".howsure" / "howsure.db").read_bytes()[:15] == b"SQLite format 3"
