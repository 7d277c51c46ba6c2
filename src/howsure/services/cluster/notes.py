"""What the workers of a run write down for `--trace` and `--record-judge`. Each writes to files of its own; what is new
in them goes to the desk with its reports, and from there to the driver, who has the file that was asked for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path

import msgspec
from msgspec import Struct

from howsure.errors import ConfigInvalid
from howsure.model.result import Result

Attempt = tuple[str, str, int]
"""Of which case, by which candidate, and which repeat."""


class _Whose(Struct):
    case_id: str
    candidate: str = ""
    repeat: int = 1


_whose = msgspec.json.Decoder(_Whose).decode


class Notes:
    """A worker's own files. `trace` and `record` are None where nobody asked for them."""

    def __init__(self, folder: Path, *, traces: bool, records: bool) -> None:
        self.trace = folder / "trace.jsonl" if traces else None
        self.record = folder / "record.jsonl" if records else None
        self._waiting: dict[Attempt, list[bytes]] = {}

    def traced(self) -> bytes:
        """What is new of every call."""
        return b"" if self.trace is None else _drained(self.trace)

    def recorded(self, stored: Iterable[Result]) -> bytes:
        """The replies that these results were made of. Others wait until theirs are stored: an attempt that is lost
        with its worker is made again, and a recording may not have two replies to one question."""
        if self.record is None:
            return b""
        for line in BytesIO(_drained(self.record)):
            said = _whose(line)
            self._waiting.setdefault((said.case_id, said.candidate, said.repeat), []).append(line)
        attempts = [(result.case.id, result.candidate, result.repeat) for result in stored]
        return b"".join(line for each in attempts for line in self._waiting.pop(each, ()))


def _drained(path: Path) -> bytes:
    """All that was written, which is there no more. Who writes opened the file to append, and writes whole lines."""
    if not path.is_file():
        return b""
    found = path.read_bytes()
    os.truncate(path, 0)
    return found


class Notebook(Struct, frozen=True, kw_only=True):
    """The driver's side: the files that were asked for."""

    trace: Path | None = None
    record: Path | None = None

    def write(self, traced: Sequence[bytes], recorded: Sequence[bytes]) -> None:
        for name, path, lines in (("--trace", self.trace, traced), ("--record-judge", self.record, recorded)):
            if path is not None and lines:
                _appended(name, path, b"".join(lines))


def _appended(name: str, path: Path, lines: bytes) -> None:
    try:
        with path.open("ab") as file:
            file.write(lines)
    except OSError as error:
        raise ConfigInvalid(f"{name} {path}: cannot be written: {error.strerror}") from error
