"""`howsure run --watch` as a person uses it: files are really changed, and Ctrl-C really pressed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from house import lines, mcq

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(os.name != "posix", reason="signals")]

ASKED = "def answer(text):\n    open('asked', 'a').write(text.splitlines()[0] + '\\n')\n    return {!r}\n"
SECONDS = 180


class Watching:
    """The program, and what it has said so far."""

    def __init__(self, folder: Path, *words: str) -> None:
        self._said = (folder / "said").open("wb")
        self._path = folder / "said"
        environ = {name: value for name, value in os.environ.items() if not name.startswith("HOWSURE_")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "howsure", "run", *words, "--watch"],
            cwd=folder,
            env={**environ, "PYTHONUNBUFFERED": "1"},
            stdout=self._said,
            stderr=subprocess.STDOUT,
        )

    @property
    def said(self) -> str:
        return self._path.read_text(encoding="utf-8", errors="replace")

    def wait(self, text: str, times: int) -> None:
        """Until it has said this so often."""
        end = time.monotonic() + SECONDS
        while self.said.count(text) < times:
            assert self.process.poll() is None, self.said
            assert time.monotonic() < end, self.said
            time.sleep(0.1)

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=SECONDS)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._said.close()


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    lines(tmp_path / "cases.jsonl", *(mcq(number) for number in range(1, 4)))
    (tmp_path / "bot.py").write_text(ASKED.format("A"), encoding="utf-8")
    return tmp_path


@pytest.fixture
def watching(shop: Path) -> Iterator[Watching]:
    running = Watching(shop, "cases.jsonl", "--target", "function:bot.py:answer")
    yield running
    running.close()


def asked(folder: Path) -> list[str]:
    """What the agent was asked since the last look."""
    path = folder / "asked"
    found = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return sorted(found)


def test_it_runs_again_when_files_change_and_ends_with_130(watching: Watching, shop: Path) -> None:
    watching.wait("watching ", 1)
    assert asked(shop) == ["Question 1?", "Question 2?", "Question 3?"]

    lines(shop / "cases.jsonl", mcq(1), mcq(2, prompt="Something else?"), mcq(3), mcq(4))
    watching.wait("watching ", 2)
    assert "changed: cases.jsonl" in watching.said
    assert asked(shop) == ["Question 4?", "Something else?"]
    assert watching.said.count("● 4 passed") == 1

    (shop / "bot.py").write_text(ASKED.format("B"), encoding="utf-8")
    watching.wait("watching ", 3)
    assert "changed: bot.py" in watching.said
    assert len(asked(shop)) == 4
    assert "■ 4 failed" in watching.said

    assert watching.interrupt() == 130
    assert "Traceback" not in watching.said


def test_a_file_in_the_middle_of_being_written_is_told_and_waited_for(watching: Watching, shop: Path) -> None:
    watching.wait("watching ", 1)
    (shop / "cases.jsonl").write_text('{"schema_version": "legal_eval_v1", "id"', encoding="utf-8")
    watching.wait("watching ", 2)
    assert "error: " in watching.said
    asked(shop)
    lines(shop / "cases.jsonl", mcq(1), mcq(2))
    watching.wait("watching ", 3)
    # The run before was refused, so nothing is taken over.
    assert asked(shop) == ["Question 1?", "Question 2?"]
    assert watching.interrupt() == 130
