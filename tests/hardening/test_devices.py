"""Break 18: special files are refused by name or read with a bound, and what was copied from a pipe is gone however the
program ends."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from shlex import quote
from threading import Thread

import pytest

from dialect_rows import explain, mcq, write_rows
from howsure.errors import InputError
from howsure.services.files import is_pipe, spool

ROWS = 3


def howsure(folder: Path, *words: str, **more: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "howsure", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=240, **more)  # type: ignore[call-overload,no-any-return]


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "cases.jsonl", [mcq(f"r{number}") for number in range(ROWS)])


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/random", "/dev/full"])
def test_break_18_a_device_is_refused_by_name(tmp_path: Path, device: str) -> None:
    with pytest.raises(InputError, match=f"{device} is a device, not a dataset: name a file or a pipe"):
        spool(Path(device), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_break_18_what_never_ends_is_refused_by_every_command(tmp_path: Path) -> None:
    for words in (("validate",), ("run",), ("convert", "--to", "legal", "-o", "x.jsonl")):
        done = howsure(tmp_path, *words, "/dev/zero")
        assert done.returncode == 2
        assert b"/dev/zero is a device, not a dataset" in done.stderr
    with open("/dev/zero", "rb") as endless:
        done = howsure(tmp_path, "validate", "-", stdin=endless)
    assert (done.returncode, b"standard input is a device" in done.stderr) == (2, True)


def test_a_socket_and_files_of_the_kernel_are_refused(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        with pytest.raises(InputError, match="is a socket, not a dataset"):
            is_pipe(tmp_path / "socket")
    with pytest.raises(InputError, match="is a file of the kernel, not a dataset"):
        is_pipe(Path("/proc/self/environ"))


def test_a_loop_of_links_or_folders_ends(tmp_path: Path, cases: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "itself").symlink_to(folder)
    shutil.copy(cases, folder)
    assert howsure(tmp_path, "validate", "loop").returncode == 2
    done = howsure(tmp_path, "validate", "folder")
    assert (done.returncode, done.stdout) == (0, b"folder/cases.jsonl (legal): 3 cases, valid\n")


def test_break_18_a_fifo_without_a_writer_is_given_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    started = time.monotonic()
    with pytest.raises(InputError, match=r"nothing came through this pipe within 0\.2 s; does anything write to it\?"):
        spool(tmp_path / "pipe", tmp_path, seconds=0.2)
    assert time.monotonic() - started < 25


def test_a_pipe_that_never_ends_is_read_with_a_bound(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writing = Thread(target=_pour, args=(pipe,), daemon=True)
    writing.start()
    with pytest.raises(InputError, match=r"more than 1,000,000 bytes came through the pipe; save them as a file first"):
        spool(pipe, tmp_path, most=1_000_000)
    assert [each.name for each in tmp_path.iterdir()] == ["pipe"]


def _pour(pipe: Path) -> None:
    try:
        with open(pipe, "wb") as file:
            while True:
                file.write(b"x" * 65_536)
    except BrokenPipeError:
        return


def test_pipes_still_work(tmp_path: Path, cases: Path) -> None:
    python = quote(sys.executable)
    command = f"{python} -m howsure validate <(cat {cases}); cat {cases} | {python} -m howsure validate -"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, check=False, timeout=240)
    assert done.stdout.count(b"(legal): 3 cases, valid") == 2, done.stderr


def test_what_came_through_a_pipe_is_kept_with_a_run_and_is_private(tmp_path: Path) -> None:
    cases = write_rows(tmp_path / "cases.jsonl", [explain(number, explain_inputs=...) for number in range(ROWS)])
    done = howsure(tmp_path, "run", "-", input=cases.read_bytes())
    assert done.returncode in (0, 3), done.stderr
    (kept,) = (tmp_path / ".howsure" / "piped").glob("*/*")
    assert kept.read_bytes() == cases.read_bytes()
    assert kept.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
def test_break_18_no_copy_of_a_pipe_is_left_whatever_signal_comes(tmp_path: Path, cases: Path, number: int) -> None:
    passing = tmp_path / "temporary"
    passing.mkdir()
    command = [sys.executable, "-m", "howsure", "validate", "-"]
    child = subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(passing)}
    )
    assert child.stdin is not None
    child.stdin.write(cases.read_bytes())
    child.stdin.flush()
    end = time.monotonic() + 30
    while not list(passing.iterdir()) and time.monotonic() < end:
        time.sleep(0.02)
    time.sleep(0.2)
    child.send_signal(number)
    child.communicate()
    # After SIGKILL an empty folder may be left; nothing else ever is.
    assert [each for each in passing.rglob("*") if not each.is_dir()] == []
    if number != signal.SIGKILL:
        assert (child.returncode, list(passing.iterdir())) == (130, [])


@pytest.mark.parametrize("kind", ["folder", "fifo", "device"])
def test_output_to_what_is_no_file_is_refused_before_the_run(tmp_path: Path, cases: Path, kind: str) -> None:
    output = tmp_path / "report.md"
    if kind == "folder":
        output.mkdir()
    elif kind == "fifo":
        os.mkfifo(output)
    else:
        output.symlink_to("/dev/full")
    done = howsure(tmp_path, "run", "cases.jsonl", "--target", "recorded", "--output", "report.md")
    what = b"it is a folder" if kind == "folder" else b"it is a device, a pipe or a socket, not a file"
    assert done.returncode == 2
    assert b"cannot write report.md: " + what in done.stderr
    assert not (tmp_path / ".howsure").exists()
    assert not Path("/dev/full").is_file()
