"""A run that is killed again and again, at any moment, ends as if nothing had happened: byte for byte."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dialect_rows import Row, mcq
from house import asked_and_answered

Howsure = Callable[..., Any]

CASES = 20_000


def dataset(folder: Path) -> tuple[Path, Path]:
    """Multiple-choice questions and answers: right, wrong, ambiguous; and every hundredth conversation broke."""
    return asked_and_answered(folder, map(_question, range(CASES)), map(_answer, range(CASES)))


def _question(number: int) -> Row:
    return mcq(
        f"case:{number}",
        dataset="durability",
        prompt=f"Is {number} divisible by three?",
        choices=[{"id": "A", "text": "Yes, it is"}, {"id": "B", "text": "No, it is not"}],
        correct_choice_ids=["B" if number % 3 else "A"],
    )


def _answer(number: int) -> Row:
    text = ("A", "Answer: B", "It is (A). Or (B)?", "B")[number % 4]
    answer = {"error": "connection reset"} if number % 100 == 99 else {"response_text": text}
    return {"case_id": f"case:{number}", **answer}


def canonical(howsure: Howsure, database: Path) -> str:
    printed = howsure("results", "latest", "--canonical", "--database", database)
    assert printed.code == 0, printed.err
    return str(printed.out)


def begun(folder: Path, *words: str | Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "howsure", *map(str, words)],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if not name.startswith("HOWSURE_") or "TRUST" in name},
    )


def stored(howsure: Howsure, database: Path) -> int:
    """How many results are kept; 0 while there is no run yet."""
    shown = howsure("show", "latest", "--json", "--database", database)
    return int(shown.json["completed"]) if shown.code == 0 else 0


@pytest.mark.thorough
@pytest.mark.parametrize("times", [10])
def test_a_run_killed_many_times_gives_the_same_export(howsure: Howsure, tmp_path: Path, times: int) -> None:
    questions, answers = dataset(tmp_path)
    quiet, battered = tmp_path / "quiet.db", tmp_path / "battered.db"
    undisturbed = howsure("run", questions, "--responses", answers, "--database", quiet, "--quiet")
    assert undisturbed.code == 3, undisturbed.err

    chance, patience = random.Random(20261115), 2.0
    words: list[str | Path] = ["run", questions, "--responses", answers, "--database", battered]
    kills = kept = 0
    while kills < times or not kept:
        process = begun(tmp_path, *words)
        time.sleep(chance.uniform(0.3, patience))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kept = stored(howsure, battered)
        if process.returncode != -signal.SIGKILL:
            break  # it was done before it could be killed again
        kills += 1
        if kept:
            words = ["resume", "latest", "--database", battered]
        else:
            patience += 0.5  # on a slow machine it is killed while it still reads the files
    assert kept, "it never came to keep anything"
    assert kills, "it was never killed"
    done = howsure("resume", "latest", "--database", battered, "--quiet")
    assert done.code in (2, 3), done.err  # 2: the last kill came after the end
    shown = howsure("show", "latest", "--json", "--database", battered).json
    assert (shown["total"], shown["completed"], shown["pending"]) == (CASES, CASES, 0)
    assert canonical(howsure, battered) == canonical(howsure, quiet)
