"""Where calibrations are kept: one JSON object a line, added to and never rewritten, beside the database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from howsure.dialects.finding import readable
from howsure.errors import DatasetInvalid, PlanRefused, Problem
from howsure.model.run import Pins
from howsure.model.trust import Calibration, JudgePin
from howsure.services.judging import RECORDED, Judging
from howsure.services.paths import stored
from howsure.services.workspace import Workspace
from howsure.version import __version__

FILE = "calibrations.jsonl"
T = TypeVar("T")


def file_of(work: Workspace) -> Path:
    return work.data_folder / FILE


def keep(work: Workspace, calibration: Calibration) -> Path:
    """Adds one line."""
    path = file_of(work)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(msgspec.json.encode(calibration) + b"\n")
    except OSError as error:
        raise PlanRefused(f"{path}: cannot be written: {error.strerror}") from error
    return path


def kept(work: Workspace) -> list[Calibration]:
    """Every calibration, oldest first; or every line that is none."""
    path = file_of(work)
    if not path.exists():
        return []
    found: list[Calibration] = []
    problems: list[Problem] = []
    for number, line in _lines(path):
        try:
            found.append(msgspec.json.decode(line, type=Calibration))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            problems.append(_no_calibration(path, number, error))
    if problems:
        raise DatasetInvalid(str(path), problems)
    return found


class Head(Struct, frozen=True):
    """Of which judge a calibration is, on which run, and where its line begins and ends in the file."""

    judge: JudgePin
    run: str
    place: tuple[int, int] = (0, 0)


_head = msgspec.json.Decoder(Head).decode


def heads(work: Workspace) -> list[Head]:
    """Of every calibration, oldest first. A calibration may be long, and a page needs few of them whole."""
    path = file_of(work)
    if not path.exists():
        return []
    status = path.stat()
    return list(_heads(path, status.st_mtime_ns, status.st_size))


@lru_cache(maxsize=4)
def _heads(path: Path, _changed_at: int, _size: int) -> tuple[Head, ...]:
    """Read again when the file is another."""
    found, start = [], 0
    with readable(path), path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.isspace():
                found.append(replace(_decoded(path, number, line, _head), place=(start, len(line))))
            start += len(line)
    return tuple(found)


def whole(work: Workspace, wanted: Sequence[Head]) -> list[Calibration]:
    """These calibrations, in this order."""
    path = file_of(work)
    if not wanted:
        return []
    found = []
    with readable(path), path.open("rb") as file:
        for start, size in (each.place for each in wanted):
            file.seek(start)
            found.append(_decoded(path, None, file.read(size), _calibration))
    return found


_calibration = msgspec.json.Decoder(Calibration).decode


def _decoded(path: Path, number: int | None, line: bytes, decode: Callable[[bytes], T]) -> T:
    try:
        return decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DatasetInvalid(str(path), [_no_calibration(path, number, error)]) from error


def _no_calibration(path: Path, number: int | None, error: Exception) -> Problem:
    message = f"not a calibration: {error}"
    hint = "remove the line; other calibrations do not depend on it"
    return Problem(code="not-a-calibration", message=message, file=str(path), line=number, hint=hint)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with readable(path), path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.isspace():
                yield number, line


def pin_of(judging: Judging) -> JudgePin:
    """The judge that is open now."""
    return JudgePin(
        spec=judging.spec,
        sha256=judging.sha256,
        prompts=judging.prompts,
        howsure_version=__version__,
    )


def pin_of_run(pins: Pins) -> JudgePin:
    """The judge of a run, with the words that it was asked in."""
    return JudgePin(
        spec=pins.judge, sha256=pins.judge_sha256, prompts=pins.judge_prompts, howsure_version=pins.howsure_version
    )


def named(spec: str) -> str:
    """The spec as runs pin it: a recording by its whole path."""
    kind, _, rest = spec.partition(":")
    return f"{RECORDED}:{stored(Path(rest))}" if kind == RECORDED and rest else spec
