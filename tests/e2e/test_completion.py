"""Shell completion: the scripts that are printed, and what a shell is told when it asks."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.conftest import Howsure
from house import lines, mcq

pytestmark = pytest.mark.thorough


def completed(howsure: Howsure, *words: str) -> list[tuple[str, str]]:
    """What bash is told: the kind and the word, for a line that ends in the last of the words."""
    told = howsure(
        env={
            "_HOWSURE_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join(["howsure", *words]),
            "COMP_CWORD": str(len(words)),
        },
        alone=True,
    )
    assert told.code == 0, told.err
    return [(kind, word) for kind, _, word in (line.partition(",") for line in told.out.splitlines() if line)]


@pytest.mark.parametrize(
    ("shell", "words"),
    [("bash", "complete -o nosort -F"), ("zsh", "#compdef howsure"), ("fish", "complete --no-files --command howsure")],
)
def test_each_shell_has_its_script(howsure: Howsure, shell: str, words: str) -> None:
    done = howsure("completion", shell)
    assert done.code == 0, done.err
    assert words in done.out
    assert "_HOWSURE_COMPLETE" in done.out


def test_another_shell_is_refused(howsure: Howsure) -> None:
    done = howsure("completion", "powershell")
    assert done.code == 2
    assert "'bash', 'zsh', 'fish'" in done.err


def test_commands_and_options_are_completed(howsure: Howsure) -> None:
    assert ("plain", "compare") in completed(howsure, "co")
    assert ("plain", "--target") in completed(howsure, "run", "--ta")


def test_runs_are_completed_by_name_and_id(howsure: Howsure, tmp_path: Path) -> None:
    assert completed(howsure, "show", "") == []
    lines(tmp_path / "cases.jsonl", mcq(1))
    lines(tmp_path / "answers.jsonl", {"case_id": "q1", "response_text": "A"})
    for name in ("before", "after", "with a space"):
        done = howsure("run", "cases.jsonl", "--responses", "answers.jsonl", "--name", name, "--quiet")
        assert done.code == 0, done.err
    offered = [word for _, word in completed(howsure, "show", "")]
    assert offered[:3] == ["latest", "after", "before"]
    assert len(offered) == 6
    assert [word for _, word in completed(howsure, "compare", "before", "af")] == ["after"]
    assert completed(howsure, "report", offered[3][:6]) == [("plain", offered[3])]
    assert completed(howsure, "show", "--database", "nothing.db", "") == []


@pytest.mark.parametrize(
    "words",
    [("run", ""), ("validate", "ca"), ("run", "cases.jsonl", "--responses", ""), ("ci", "")],
    ids=["datasets", "paths", "answers", "ci"],
)
def test_files_are_left_to_the_shell(howsure: Howsure, words: tuple[str, ...]) -> None:
    assert ("file", words[-1]) in completed(howsure, *words)


def test_a_run_that_is_no_completion_knows_nothing_of_it() -> None:
    script = "import sys, howsure.main, howsure.cli.run; sys.exit('howsure.cli.completion' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_accepts_the_script(howsure: Howsure) -> None:
    script = howsure("completion", "bash").out
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
