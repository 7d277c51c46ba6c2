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
Vouch = Callable[[Sequence[AnyRow], Sequence[bytes], int], bool]
"""Whether these rows and their lines, the first of which has this number, are certainly valid."""

GROUP = 256
NOT_WRITABLE = "write this case in another dialect, or leave the field out"
_encode = msgspec.json.Encoder().encode


def write_lines(rows: Iterable[AnyRow], path: Path) -> None:
    """One JSON object a line."""
    write_binary(path, lambda file: file.writelines(map(encode_row, rows)))


def write_list(rows: Iterable[AnyRow], path: Path) -> None:
    """One JSON list of objects."""

    def write(file: BinaryIO) -> None:
        file.write(b"[")
        file.writelines((b",\n" if place else b"\n") + encode_row(row).rstrip() for place, row in enumerate(rows))
        file.write(b"\n]\n")

    write_binary(path, write)


def write_checked(
    rows: Iterable[AnyRow], path: Path, read: LineReader, vouch: Vouch = lambda rows, lines, first: False
) -> None:
    """As `write_lines`, but refuses what the dialect itself could not `read` again. `vouch` may accept many rows at
    once."""
    write_binary(path, lambda file: file.writelines(_valid_lines(rows, path, read, vouch)))


def _valid_lines(rows: Iterable[AnyRow], path: Path, read: LineReader, vouch: Vouch) -> Iterator[bytes]:
    """The lines; after the last one, a DatasetInvalid with the problems of all."""
    problems: list[Problem] = []
    remaining, first = iter(rows), 1
    while group := list(islice(remaining, GROUP)):
        encoded: list[bytes | Problem] = []
        for number, row in enumerate(group, first):
            try:
                encoded.append(encode_row(row))
            except (ValueError, TypeError) as error:
                message = f"{type(error).__name__}: {error}"
                encoded.append(Spot(str(path), number).problem("not-writable", message, found=shown(_plain(row))))
        lines = [line for line in encoded if isinstance(line, bytes)]
        if len(lines) < len(group) or not vouch(group, lines, first):
            for number, line in enumerate(encoded, first):
                read_back = read(line, Spot(str(path), number)) if isinstance(line, bytes) else [line]
                problems += [each for each in read_back if isinstance(each, Problem) and each.level is Level.ERROR]
        if not problems:
            yield from lines
        first += len(group)
    if problems:
        raise DatasetInvalid(str(path), problems)


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


def check_place(path: Path) -> None:
    """InputError where a file would take the place of something else: a folder, a device, a pipe."""
    if path.exists() and not path.is_file():
        what = "it is a folder" if path.is_dir() else "it is a device, a pipe or a socket, not a file"
        raise InputError(f"cannot write {path}: {what}")


class AtomicFile:
    """A temporary file beside the real one. It takes the real one's place on success and is deleted on failure."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")

    def __enter__(self) -> Path:
        check_place(self._path)
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


def iter_writable(cases: Iterable[Case], path: Path, reasons: Callable[[Case], Iterable[Reason]]) -> Iterator[Case]:
    """The cases. Nothing is dropped silently: every reason why one cannot be written is raised after the last case, and
    the caller must then discard what it made of the others."""
    problems: list[Problem] = []
    for case in cases:
        problems += [
            Spot(str(path), None, field).problem("not-writable", f"case {case.id!r}: {message}", hint=NOT_WRITABLE)
            for field, message in reasons(case)
        ]
        if not problems:
            yield case
    if problems:
        raise DatasetInvalid(str(path), problems)


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
            value = case.metadata.get(self._key, {})
            if first:
                self.shared, first = value, False
            elif other is None and value != self.shared:
                other = case
            yield case
        if other is not None:
            message = f"case {other.id!r} comes from another file than the first one: their `{self._key}` differ"
            field, hint = f"metadata.{self._key}", "write one file for each, or make them equal"
            path = str(self._path)
            raise DatasetInvalid(path, [Spot(path, None, field).problem("not-writable", message, hint=hint)])


def raise_problems(findings: Iterable[Case | Problem], path: Path) -> None:
    """Raises the errors of a file that was written to a temporary place, as problems of `path`."""
    errors = [one for one in findings if isinstance(one, Problem) and one.level is Level.ERROR]
    if errors:
        raise DatasetInvalid(str(path), [structs.replace(error, file=str(path)) for error in errors])
