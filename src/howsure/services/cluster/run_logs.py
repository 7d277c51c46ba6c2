"""The files of `--trace` and `--record-judge` on a cluster. Each worker writes to files of its own; what is new in them
goes to the coordinator with its reports, and from there to the driver, which writes the file that was asked for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path

import msgspec
from msgspec import Struct

from howsure.errors import ConfigInvalid
from howsure.model.result import Result

AttemptKey = tuple[str, str, int]
"""Case id, candidate and repeat."""


class _ReplyHead(Struct):
    case_id: str
    candidate: str = ""
    repeat: int = 1


_read_head = msgspec.json.Decoder(_ReplyHead).decode


class WorkerLogs:
    """A worker's own files; `trace` and `record` are None where they were not asked for."""

    def __init__(self, folder: Path, *, traces: bool, records: bool) -> None:
        self.trace = folder / "trace.jsonl" if traces else None
        self.record = folder / "record.jsonl" if records else None
        self._waiting: dict[AttemptKey, list[bytes]] = {}

    def traced(self) -> bytes:
        """The new lines about calls."""
        return b"" if self.trace is None else _drained(self.trace)

    def recorded(self, stored: Iterable[Result]) -> bytes:
        """The judge replies that these results were made of. Other replies wait until their result is stored: an
        attempt that is lost with its worker is made again, and a recording must not hold two replies to one question.
        """
        if self.record is None:
            return b""
        for line in BytesIO(_drained(self.record)):
            head = _read_head(line)
            self._waiting.setdefault((head.case_id, head.candidate, head.repeat), []).append(line)
        attempts = [(result.case.id, result.candidate, result.repeat) for result in stored]
        return b"".join(line for each in attempts for line in self._waiting.pop(each, ()))


def _drained(path: Path) -> bytes:
    """Read the file and empty it. The writer appends whole lines."""
    if not path.is_file():
        return b""
    found = path.read_bytes()
    os.truncate(path, 0)
    return found


class RunLogs(Struct, frozen=True, kw_only=True):
    """The driver's side: the files that were asked for."""

    trace: str = ""
    record: str = ""

    def write(self, traced: Sequence[bytes], recorded: Sequence[bytes]) -> None:
        for name, path, lines in (("--trace", self.trace, traced), ("--record-judge", self.record, recorded)):
            if not path or not lines:
                continue
            try:
                with Path(path).open("ab") as file:
                    file.writelines(lines)
            except OSError as error:
                raise ConfigInvalid(f"{name} {Path(path)}: cannot be written: {error.strerror}") from error
