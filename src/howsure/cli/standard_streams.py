"""Standard input, output and error, as a command can rely on them: always open, and no reader that leaves early, and no
full device, ends the program with a traceback."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

USER_MUST_ACT = 2
"""As in exit_codes.py, whose imports `--help` does not need."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class PipeOutput(io.FileIO):
    """Standard output or error. What nobody reads any more is dropped, so the command ends with its own exit code."""

    unread = False

    def write(self, data: Any) -> int:
        try:
            return super().write(data) or 0
        except BrokenPipeError:
            self.unread = True
            self._drop_the_rest()
            return len(data)
        except OSError:
            self._drop_the_rest()
            raise

    def _drop_the_rest(self) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


@contextmanager
def standard_streams() -> Iterator[None]:
    """Around the whole program."""
    for number in (0, 1, 2):
        # A file that is opened later must not take the number of a stream: what is printed would be written into it.
        with suppress(OSError):
            os.fstat(number)
            continue
        os.open(os.devnull, os.O_RDWR)
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115 (open to the end)
    sys.stdout, sys.stderr = _output(sys.stdout, 1), _output(sys.stderr, 2)
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.errno not in FULL:
            raise
        where = error.filename or "standard output"
        sys.stderr.write(
            f"error: no space left on the device at {where}: free some, then try again; a run goes on with "
            "`howsure resume latest`\n"
        )
        raise SystemExit(USER_MUST_ACT) from error


def _output(stream: Any, number: int) -> Any:
    if stream is not None and (not isinstance(stream, io.TextIOWrapper) or stream.fileno() != number):
        return stream
    buffered = io.BufferedWriter(PipeOutput(number, "wb", closefd=False))
    lines = number == 2 or buffered.isatty()
    # A terminal without Unicode shows \xe9 for é instead of ending the program. JSON is written as UTF-8 bytes.
    encoding = stream.encoding if stream else "utf-8"
    return io.TextIOWrapper(buffered, encoding, errors="backslashreplace", line_buffering=lines)


def is_unread() -> bool:
    """Whether the reader of standard output is gone."""
    return bool(getattr(getattr(sys.stdout.buffer, "raw", None), "unread", False))
