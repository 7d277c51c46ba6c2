"""Writing files, whole or not at all: JSON lines, indented JSON, and the checks that a format can hold a case. Rows are
written as they come, so a large file needs little memory; an error at the last row leaves no file behind.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import msgspec
from msgspec import Struct, structs

from howsure.dialects.problems import Spot, shown
from howsure.dialects.strict_json import Json
from howsure.errors import DatasetInvalid, InputError, Level, Problem
from howsure.model.case import Case
from howsure.model.expectation import Expectation

AnyRow = Mapping[str, Any] | Struct
LineReader = Callable[[bytes, Spot], Iterable[Case | Problem]]
Sound = Callable[[Sequence[bytes], int], bool]
"""Whether these lines, the first of which has this number, are certainly valid."""
Sure = Callable[[Sequence[AnyRow], int], bool]
"""The same for rows, before they are encoded."""

GROUP = 256
_encode = msgspec.json.Encoder().encode


def write_lines(rows: Iterable[AnyRow], path: Path) -> None:
    """One JSON object a line."""
    write_binary(path, lambda file: file.writelines(map(encode_row, rows)))


def write_checked(
    rows: Iterable[AnyRow], path: Path, read: LineReader, sound: Sound | None = None, sure: Sure | None = None
) -> None:
    """As `write_lines`, but refuses what the dialect itself could not `read` again. `sure` and `sound` may vouch for
    many rows or lines at once."""
    asked = _Asked(sound or (lambda _, __: False), sure or (lambda _, __: False))
    write_binary(path, lambda file: file.writelines(_sound_lines(rows, path, read, asked)))


class _Asked(Struct, frozen=True):
    sound: Sound
    sure: Sure

    def about(self, rows: Sequence[AnyRow], lines: Sequence[bytes], first: int) -> bool:
        return len(rows) == len(lines) and (self.sure(rows, first) or self.sound(lines, first))


def _sound_lines(rows: Iterable[AnyRow], path: Path, read: LineReader, asked: _Asked) -> Iterator[bytes]:
    """The lines; after the last one, a DatasetInvalid with the problems of all."""
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
        return encode_row(row)
    except (ValueError, TypeError) as error:
        return spot.problem("not-writable", f"{type(error).__name__}: {error}", found=shown(_plain(row)))


def _read_each(lines: Sequence[bytes | Problem], spot: Spot, read: LineReader) -> Iterator[Problem]:
    for number, line in enumerate(lines, spot.line or 1):
        found = read(line, Spot(spot.file, number)) if isinstance(line, bytes) else [line]
        yield from (each for each in found if isinstance(each, Problem) and each.level is Level.ERROR)


def encode_row(row: AnyRow) -> bytes:
    """The JSON line of a row. ValueError or TypeError: it holds what JSON cannot (a NaN, half a character)."""
    try:
        text = _encode(row)
    except (OverflowError, RecursionError):
        return json.dumps(_plain(row), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"
    if text.find(b"null") >= 0:
        json.dumps(_plain(row), allow_nan=False)  # msgspec writes null for a NaN; this refuses one
    return text + b"\n"


def _plain(row: AnyRow) -> Any:
    """The row with builtin types in place of structs."""
    try:
        return msgspec.to_builtins(row)
    except (OverflowError, RecursionError, TypeError, ValueError):
        return row  # json says better what is wrong with it


def write_whole(path: Path, write: Callable[[TextIO], object]) -> None:
    """The file appears whole or not at all."""
    with AtomicFile(path) as unfinished, open(unfinished, "w", encoding="utf-8", newline="") as file:
        write(file)


def write_binary(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """As `write_whole`, of bytes."""
    with AtomicFile(path) as unfinished, open(unfinished, "wb") as file:
        write(file)


class AtomicFile:
    """A temporary file beside the real one. It takes the real one's place on success and is deleted on failure."""

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


Reason = tuple[str, str]
"""A field of a Case, and why the format cannot hold it."""


def write_json(document: Any, path: Path) -> None:
    """Indented, in the order given, readable in any editor."""
    write_binary(path, lambda file: file.write(indented(document, 0) + b"\n"))


def indented(document: Any, level: int) -> bytes:
    """The text of a value that is `level` levels deep in its document."""
    text = msgspec.json.format(encode_row(document), indent=2).rstrip()
    return text.replace(b"\n", b"\n" + b"  " * level) if level else text


def check_writable(cases: Iterable[Case], path: Path, reasons: Callable[[Case], Iterable[Reason]]) -> list[Case]:
    """The cases, or DatasetInvalid with every reason why they cannot be written: nothing is dropped silently."""
    return list(iter_writable(cases, path, reasons))


def iter_writable(cases: Iterable[Case], path: Path, reasons: Callable[[Case], Iterable[Reason]]) -> Iterator[Case]:
    """As `check_writable`, one at a time. The reasons are raised after the last case; the caller must then discard what
    it made of the others."""
    problems: list[Problem] = []
    for case in cases:
        found = [_not_writable(case, path, *reason) for reason in reasons(case)]
        problems += found
        if not problems:
            yield case
    if problems:
        raise DatasetInvalid(str(path), problems)


def _not_writable(case: Case, path: Path, field: str, message: str) -> Problem:
    return Problem(
        code="not-writable",
        message=f"case {case.id!r}: {message}",
        file=str(path),
        field=field,
        hint="write this case in another dialect, or leave the field out",
    )


def foreign_expectations(case: Case, known: Sequence[type[Expectation]], dialect: str) -> Iterator[Reason]:
    """Reasons for expectations that the format does not know, or has room for only once."""
    seen: set[type] = set()
    for expectation in case.expectations:
        kind = type(expectation)
        if kind not in known:
            yield "expectations", f"{dialect} files have no place for {kind.__name__}"
        elif kind in seen:
            yield "expectations", f"{dialect} files have room for one {kind.__name__} only"
        seen.add(kind)


def fields_without_place(case: Case, fields: Iterable[str], dialect: str) -> Iterator[Reason]:
    """Reasons for fields that are set and that the format does not have."""
    for name in fields:
        if getattr(case, name) not in (None, "", ()):
            yield name, f"{dialect} files have no place for `{name}`"


def metadata_without_place(case: Case, known: Sequence[str], dialect: str) -> Iterator[Reason]:
    """Reasons for metadata that the format has no field for."""
    for key in case.metadata:
        if key not in known:
            yield f"metadata.{key}", f"{dialect} files have no place for `{key}`"


class SharedMetadata:
    """Iterates over cases whose metadata must have the same value under `key`, because their file can say it only once.
    `shared` is that value, from the first case on; a difference is raised after the last case."""

    def __init__(self, cases: Iterable[Case], key: str, path: Path) -> None:
        self._cases = cases
        self._key = key
        self._path = path
        self.shared: Json = {}

    def __iter__(self) -> Iterator[Case]:
        first, other = True, None
        for case in self._cases:
            kept = case.metadata.get(self._key, {})
            if first:
                self.shared, first = kept, False
            elif other is None and kept != self.shared:
                other = case
            yield case
        if other is not None:
            raise DatasetInvalid(str(self._path), [_unlike(other, self._key, self._path)])


def raise_problems(read: Iterable[Case | Problem], path: Path) -> None:
    """Raises the errors of a file that was written to a temporary place, as problems of `path`."""
    found = [one for one in read if isinstance(one, Problem) and one.level is Level.ERROR]
    if found:
        raise DatasetInvalid(str(path), [structs.replace(one, file=str(path)) for one in found])


def shared_metadata(cases: Sequence[Case], key: str, path: Path) -> Json:
    """The value under `key` in the cases' metadata, which must be the same in all: their file can say it only once."""
    kept: Json = cases[0].metadata.get(key, {}) if cases else {}
    other = next((case for case in cases if case.metadata.get(key, {}) != kept), None)
    if other is None:
        return kept
    raise DatasetInvalid(str(path), [_unlike(other, key, path)])


def _unlike(other: Case, key: str, path: Path) -> Problem:
    message = f"case {other.id!r} comes from another file than the first one: their `{key}` differ"
    field, hint = f"metadata.{key}", "write one file for each, or make them equal"
    return Problem(code="not-writable", message=message, file=str(path), field=field, hint=hint)
