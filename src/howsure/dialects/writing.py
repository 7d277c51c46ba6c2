"""Writing files: whole or not at all, and one object a line. Rows are written as they come, so a large file needs
little memory; what turns out wrong at the last row leaves nothing behind.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import msgspec
from msgspec import Struct

from howsure.dialects.json_places import Spot
from howsure.dialects.wording import shown
from howsure.errors import DatasetInvalid, InputError, Level, Problem
from howsure.model.case import Case

AnyRow = Mapping[str, Any] | Struct
LineReader = Callable[[bytes, Spot], Iterable[Case | Problem]]
Sound = Callable[[Sequence[bytes], int], bool]
"""Whether it is certain that nothing is wrong with lines that begin with this number."""
Sure = Callable[[Sequence[AnyRow], int], bool]
"""The same of rows, before they are lines."""

GROUP = 256
_encode = msgspec.json.Encoder().encode


def write_lines(rows: Iterable[AnyRow], path: Path) -> None:
    """One JSON object a line."""
    write_binary(path, lambda file: file.writelines(map(line_of, rows)))


def write_checked(
    rows: Iterable[AnyRow], path: Path, read: LineReader, sound: Sound | None = None, sure: Sure | None = None
) -> None:
    """As `write_lines`, but what the dialect itself would refuse to `read` is not written. With `sure` and `sound`,
    many rows or lines are asked about at once."""
    asked = _Asked(sound or (lambda _, __: False), sure or (lambda _, __: False))
    write_binary(path, lambda file: file.writelines(_sound_lines(rows, path, read, asked)))


class _Asked(Struct, frozen=True):
    sound: Sound
    sure: Sure

    def about(self, rows: Sequence[AnyRow], lines: Sequence[bytes], first: int) -> bool:
        return len(rows) == len(lines) and (self.sure(rows, first) or self.sound(lines, first))


def _sound_lines(rows: Iterable[AnyRow], path: Path, read: LineReader, asked: _Asked) -> Iterator[bytes]:
    """One line after the other; the problems of all are raised after the last, and nothing is kept."""
    problems: list[Problem] = []
    coming, first = iter(rows), 1
    while group := list(islice(coming, GROUP)):
        lines = [_written(row, Spot(str(path), number)) for number, row in enumerate(group, first)]
        fine = [line for line in lines if isinstance(line, bytes)]
        if not asked.about(group, fine, first):
            problems += _read_each(lines, Spot(str(path), first), read)
        if not problems:
            yield from fine
        first += len(group)
    if problems:
        raise DatasetInvalid(str(path), problems)


def _written(row: AnyRow, spot: Spot) -> bytes | Problem:
    try:
        return line_of(row)
    except (ValueError, TypeError) as error:
        return spot.problem("not-writable", f"{type(error).__name__}: {error}", found=shown(_plain(row)))


def _read_each(lines: Sequence[bytes | Problem], spot: Spot, read: LineReader) -> Iterator[Problem]:
    for number, line in enumerate(lines, spot.line or 1):
        found = read(line, Spot(spot.file, number)) if isinstance(line, bytes) else [line]
        yield from (each for each in found if isinstance(each, Problem) and each.level is Level.ERROR)


def line_of(row: AnyRow) -> bytes:
    """The line of a row. ValueError and TypeError: it holds what JSON cannot (a NaN, half a character)."""
    try:
        text = _encode(row)
    except (OverflowError, RecursionError):
        return json.dumps(_plain(row), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"
    if text.find(b"null") >= 0:
        json.dumps(_plain(row), allow_nan=False)  # msgspec writes null for a NaN; this refuses one
    return text + b"\n"


def _plain(row: AnyRow) -> Any:
    """The row without the structs that may be in it."""
    try:
        return msgspec.to_builtins(row)
    except (OverflowError, RecursionError, TypeError, ValueError):
        return row  # json says better what is wrong with it


def write_whole(path: Path, write: Callable[[TextIO], object]) -> None:
    """The file appears whole or not at all."""
    with Unfinished(path) as unfinished, open(unfinished, "w", encoding="utf-8", newline="") as file:
        write(file)


def write_binary(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """As `write_whole`, of bytes."""
    with Unfinished(path) as unfinished, open(unfinished, "wb") as file:
        write(file)


class Unfinished:
    """A file beside the real one, which takes its place when everything went well and disappears when not."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")

    def __enter__(self) -> Path:
        return self._unfinished

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            if error is None:
                os.replace(self._unfinished, self._path)
        except OSError as failed:
            error = failed
        self._unfinished.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise InputError(f"cannot write {self._path}: {error.strerror or error}") from error
