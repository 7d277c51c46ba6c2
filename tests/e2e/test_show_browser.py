"""`howsure show` on a real pseudo-terminal of 80 × 24: keys are sent, and what the screen holds is looked at."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dialect_rows import mcq
from house import asked_and_answered

HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202egnorw"
SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")
PATIENCE = 120.0


class Screen:
    """A program on a terminal. `lines` is what its last whole frame shows."""

    def __init__(self, words: list[str], cwd: Path, size: tuple[int, int] = (24, 80)) -> None:
        self._mine, theirs = pty.openpty()
        self.resize(size)
        environ = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "howsure", *words],
            cwd=cwd,
            env={**environ, "TERM": "xterm-256color", "PYTHONUTF8": "1"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.sent = ""

    def resize(self, size: tuple[int, int]) -> None:
        fcntl.ioctl(self._mine, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def press(self, keys: str) -> None:
        os.write(self._mine, keys.encode())

    @property
    def lines(self) -> list[str]:
        frame = SEQUENCE.sub("", self.sent.rpartition("\x1b[H")[2])
        return [line.rstrip("\r") for line in frame.split("\n")]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def until(self, seen: Callable[[Screen], bool]) -> None:
        """Read until the screen shows what is expected."""
        end = time.monotonic() + PATIENCE
        while not (self.sent.endswith("\x1b[J") and seen(self)):
            assert time.monotonic() < end, f"never shown; the screen is\n{self.text}"
            if select.select([self._mine], [], [], 0.2)[0]:
                self.sent += os.read(self._mine, 65536).decode("utf-8", "replace")

    def ended(self) -> int:
        """The exit code, once everything was read."""
        end = time.monotonic() + PATIENCE
        while self._process.poll() is None and time.monotonic() < end:
            self._drain()
        self._drain()
        return self._process.wait(1)

    def _drain(self) -> None:
        try:
            if select.select([self._mine], [], [], 0.1)[0]:
                self.sent += os.read(self._mine, 65536).decode("utf-8", "replace")
        except OSError:
            pass  # The other end is closed: Linux says so with an error.

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(10)
        os.close(self._mine)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of five questions of which three are answered wrongly, one of them with what no terminal should obey."""
    folder = tmp_path_factory.mktemp("browsed")
    said = {"q1": "Answer: A", "q2": "Answer: B", "q3": f"{HOSTILE} Answer: B", "q4": "Answer: A", "q5": "Answer: B"}
    options = [{"id": "A", "text": "Yes"}, {"id": "B", "text": "No"}]
    questions = [mcq(case, prompt=f"Is {case} right?", choices=options) for case in said]
    answers = [{"case_id": case, "response_text": text} for case, text in said.items()]
    dataset, responses = asked_and_answered(folder, questions, answers)
    words = ["run", str(dataset), "--responses", str(responses), "--name", "five questions"]
    subprocess.run([sys.executable, "-m", "howsure", *words], cwd=folder, capture_output=True, timeout=120, check=True)
    return folder


@pytest.fixture
def screen(place: Path) -> Iterator[Screen]:
    shown = Screen(["show", "latest"], place)
    yield shown
    shown.close()


def chosen(screen: Screen) -> str:
    """The case that the cursor is on."""
    return next((line.split()[1] for line in screen.lines if line.startswith(">")), "")


def test_failures_are_browsed_with_keys(screen: Screen) -> None:
    screen.until(lambda shown: chosen(shown) == "q2")
    assert len(screen.lines) == 24
    assert screen.lines[0].startswith("five questions: ")
    assert screen.lines[1].split(maxsplit=2) == [">■", "q2", "choice 0.00 < 1.00: chose B; correct is A"]
    assert "result 1 of 3  listed: failed and errored" in screen.text
    screen.press("\x1b[B")
    screen.until(lambda shown: chosen(shown) == "q3")
    screen.press("j")
    screen.until(lambda shown: chosen(shown) == "q5")
    screen.press("k\r")
    screen.until(lambda shown: "result 2 of 3" in shown.text and "Is q3 right?" in shown.text)
    assert "chose B; correct is A" in screen.text
    screen.press("n")
    screen.until(lambda shown: "Is q5 right?" in shown.text)
    screen.press("p")
    screen.until(lambda shown: "Is q3 right?" in shown.text)
    screen.press("\x1b")
    screen.until(lambda shown: chosen(shown) == "q3")
    screen.press("q")
    assert screen.ended() == 0


def test_what_an_agent_said_is_never_obeyed_by_the_terminal(screen: Screen) -> None:
    screen.until(lambda shown: chosen(shown) == "q2")
    screen.press("j\r")
    screen.until(lambda shown: "Is q3 right?" in shown.text)
    assert "␛]0;owned␇␛[2J\\u202egnorw Answer: B" in screen.text
    assert "\x1b]0;" not in screen.sent
    assert "\x1b[2J" not in screen.sent
    assert "\u202e" not in screen.sent


def test_the_list_is_filtered_and_searched(screen: Screen) -> None:
    screen.until(lambda shown: chosen(shown) == "q2")
    screen.press("/OWNED\r")
    screen.until(lambda shown: "1 of those listed hold “OWNED”" in shown.text)
    assert chosen(screen) == "q3"
    screen.press("\x1b")
    screen.until(lambda shown: "search cleared" in shown.text)
    screen.press("ffff")
    screen.until(lambda shown: "listed: passed" in shown.text)
    assert chosen(screen) in ("q1", "q4")
    screen.press("t")
    screen.until(lambda shown: "Another choice than the right one" in shown.text)
    screen.press("s")
    screen.until(lambda shown: "choice" in shown.text and "lines 1–" in shown.text)
    screen.press("q")
    assert screen.ended() == 0


def test_the_terminal_is_left_as_it_was_found(screen: Screen) -> None:
    screen.until(lambda shown: chosen(shown) == "q2")
    screen.press("q")
    assert screen.ended() == 0
    assert screen.sent.count("\x1b[?1049h") == screen.sent.count("\x1b[?1049l") == 1
    assert screen.sent.rstrip().endswith("\x1b[?25h\x1b[?1049l")


def test_an_interrupt_leaves_as_q_does(screen: Screen) -> None:
    screen.until(lambda shown: chosen(shown) == "q2")
    screen.signal(signal.SIGINT)
    assert screen.ended() == 0
    assert screen.sent.rstrip().endswith("\x1b[?25h\x1b[?1049l")


def test_another_size_is_drawn_at_once(screen: Screen) -> None:
    screen.until(lambda shown: chosen(shown) == "q2")
    screen.resize((10, 40))
    screen.signal(signal.SIGWINCH)
    screen.until(lambda shown: len(shown.lines) == 10)
    assert max(map(len, screen.lines)) <= 39


def test_plain_prints_and_ends(place: Path) -> None:
    shown = Screen(["show", "latest", "--plain"], place)
    try:
        assert shown.ended() == 0
        assert "\x1b[?1049h" not in shown.sent
        assert "five questions" in shown.sent
    finally:
        shown.close()
