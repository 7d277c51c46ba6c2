"""Shell completion: the scripts that are printed, and what a shell is told when it asks."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.conftest import Assay
from house import lines, mcq


def completed(assay: Assay, *words: str) -> list[tuple[str, str]]:
    """What bash is told: the kind and the word, for a line that ends in the last of the words."""
    told = assay(
        env={
            "_ASSAY_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join(["assay", *words]),
            "COMP_CWORD": str(len(words)),
        },
        alone=True,
    )
    assert told.code == 0, told.err
    return [(kind, word) for kind, _, word in (line.partition(",") for line in told.out.splitlines() if line)]


@pytest.mark.parametrize(
    ("shell", "words"),
    [("bash", "complete -o nosort -F"), ("zsh", "#compdef assay"), ("fish", "complete --no-files --command assay")],
)
def test_each_shell_has_its_script(assay: Assay, shell: str, words: str) -> None:
    done = assay("completion", shell)
    assert done.code == 0, done.err
    assert words in done.out
    assert "_ASSAY_COMPLETE" in done.out


def test_another_shell_is_refused(assay: Assay) -> None:
    done = assay("completion", "powershell")
    assert done.code == 2
    assert "'bash', 'zsh', 'fish'" in done.err


def test_commands_and_options_are_completed(assay: Assay) -> None:
    assert ("plain", "compare") in completed(assay, "co")
    assert ("plain", "--target") in completed(assay, "run", "--ta")


def test_runs_are_completed_by_name_and_id(assay: Assay, tmp_path: Path) -> None:
    assert completed(assay, "show", "") == []
    lines(tmp_path / "cases.jsonl", mcq(1))
    lines(tmp_path / "answers.jsonl", {"case_id": "q1", "response_text": "A"})
    for name in ("before", "after", "with a space"):
        done = assay("run", "cases.jsonl", "--responses", "answers.jsonl", "--name", name, "--quiet")
        assert done.code == 0, done.err
    offered = [word for _, word in completed(assay, "show", "")]
    assert offered[:3] == ["latest", "after", "before"]
    assert len(offered) == 6
    assert [word for _, word in completed(assay, "compare", "before", "af")] == ["after"]
    assert completed(assay, "report", offered[3][:6]) == [("plain", offered[3])]
    assert completed(assay, "show", "--database", "nothing.db", "") == []


@pytest.mark.parametrize(
    "words",
    [("run", ""), ("validate", "ca"), ("run", "cases.jsonl", "--responses", ""), ("ci", "")],
    ids=["datasets", "paths", "answers", "ci"],
)
def test_files_are_left_to_the_shell(assay: Assay, words: tuple[str, ...]) -> None:
    assert ("file", words[-1]) in completed(assay, *words)


def test_a_run_that_is_no_completion_knows_nothing_of_it() -> None:
    script = "import sys, assay.main, assay.cli.run; sys.exit('assay.cli.completing' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_accepts_the_script(assay: Assay) -> None:
    script = assay("completion", "bash").out
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
