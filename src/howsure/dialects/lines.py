"""Line formats, JSONL and CSV: opening and splitting files, reading tables and objects, and `RowDialect`, the small
base of a line dialect. A file is read once, in big pieces; a `watch` sees every byte (to hash it). writers.py writes.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import Any, BinaryIO, TextIO

import msgspec
from msgspec import Struct

from howsure.dialects.base import Watch, WatchedDialect
from howsure.dialects.ids import SeenIds, unstorable_case
from howsure.dialects.problems import Spot, kind_of, shown, with_article
from howsure.dialects.strict_json import BOM, head_keys, parse_json
from howsure.dialects.writers import write_lines, write_whole
from howsure.errors import InputError, Problem
from howsure.model.case import Case

LONGEST_CELL = 2**31 - 1


class TableLayout(Struct, frozen=True):
    """The layout of a foreign table: the separator of its columns, and the number of lines above their names. Spaces
    around names do not count, and empty cells may follow."""

    separator: str = ","
    above: int = 0


def read_table(
    stream: Iterable[bytes], file: str, required: Iterable[str] = (), layout: TableLayout | None = None
) -> Iterator[tuple[int, dict[str, str] | Problem]]:
    """Every record by column name, as the first line gives them. A missing column is one problem, on line 1. `layout`
    is that of a foreign table; a column without a name is named by its number."""
    csv.field_size_limit(LONGEST_CELL)
    separator, above = (layout.separator, layout.above) if layout else (",", 0)
    reader = csv.reader(decoded_lines(stream), delimiter=separator, strict=True)
    start = above + 1
    try:
        header = next(islice(reader, above, None), [])
        if layout:
            header = [name.strip() or f"column {place}" for place, name in enumerate(header, start=1)]
        faults = list(_header_problems(header, required, Spot(file, start)))
        yield from ((start, fault) for fault in faults)
        start = reader.line_num + 1
        for cells in reader:
            if layout and len(cells) > len(header) and not any(cells[len(header) :]):
                cells = cells[: len(header)]
            if len(cells) != len(header) and any(cells):
                cell = "cell" if len(cells) == 1 else "cells"
                message = f"has {len(cells)} {cell} where the header names {len(header)} columns"
                hint = f"a cell that holds {separator!r}, quotes or line breaks needs double quotes around it"
                expected, found = str(len(header)), str(len(cells))
                at = Spot(file, start)
                yield start, at.problem("wrong-columns", message, expected=expected, found=found, hint=hint)
            elif any(cells) and not faults:
                yield start, dict(zip(header, cells, strict=True))
            start = reader.line_num + 1
    except UnicodeDecodeError:
        yield reader.line_num + 1, not_utf8(Spot(file, reader.line_num + 1))
    except csv.Error as error:
        fault, hint = (
            f"not a valid CSV record: {error}",
            "a cell that holds quotes needs them doubled, and quotes around it",
        )
        if "new-line" in str(error):
            fault, hint = "its lines end in carriage returns alone", f"tr '\\r' '\\n' < {quote(file)} > lines.csv"
        yield start, Spot(file, start).problem("csv-syntax", fault, hint=hint)


def not_utf8(spot: Spot, encoding: str = "") -> Problem:
    """The problem of a file in another encoding; the hint has the command that makes it UTF-8."""
    command = f"iconv -f {encoding or 'WINDOWS-1252'} -t UTF-8 {quote(spot.file)} > utf8{Path(spot.file).suffix}"
    hint, message = f"save it as UTF-8 (Excel: CSV UTF-8), or: {command}", f"the text is {encoding or 'not UTF-8'}"
    return spot.problem("encoding", message, expected="UTF-8", hint=hint)


def header_of(head: bytes) -> Sequence[str]:
    """The column names, from the first bytes of a file."""
    lines = head.removeprefix(BOM).decode("utf-8", "replace").splitlines(keepends=True)
    try:
        return next(csv.reader(lines[:1], strict=True), [])
    except csv.Error:
        return []


def write_table(rows: Iterable[Mapping[str, Any]], file: TextIO) -> None:
    """The first row sets the columns; a later row with other columns is a ValueError."""
    table: csv.DictWriter[str] | None = None
    for row in rows:
        if table is None:
            table = csv.DictWriter(file, list(row), strict=True)
            table.writeheader()
        table.writerow(row)


def decoded_lines(stream: Iterable[bytes]) -> Iterator[str]:
    """Line by line, so that the line of a wrong byte is known."""
    for number, line in enumerate(stream, 1):
        yield (line.removeprefix(BOM) if number == 1 else line).decode("utf-8")


def _header_problems(header: Sequence[str], required: Iterable[str], spot: Spot) -> Iterator[Problem]:
    other = next((sign for sign in "\t;|" if len(header) == 1 and sign in header[0]), "")
    if other:
        message, hint = f"the columns are separated by {other!r}", "save the table with commas between the columns"
        yield spot.problem("csv-delimiter", message, expected="','", found=repr(other), hint=hint)
    for name in sorted({name for name in header if header.count(name) > 1}):
        hint = "rename one of them, or take it out"
        yield spot.below(name).problem("duplicate-column", f"the column {name!r} stands twice", hint=hint)
    for name in sorted(set(required) - set(header)):
        yield spot.below(name).problem("missing-field", f"the column `{name}` is required", expected=name)


Row = dict[str, Any]

CHUNK = 1 << 18
ENDINGS = (".jsonl", ".ndjson", ".csv")


class _WatchedFile(io.RawIOBase):
    """A file that hands every piece it reads to `watch`."""

    def __init__(self, path: Path, watch: Watch) -> None:
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 (closed below)
        self._watch = watch

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        count = self._file.readinto(buffer)
        if count:
            self._watch(memoryview(buffer)[:count])
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def open_file(path: Path, watch: Watch | None = None) -> BinaryIO:
    if watch is None:
        return open(path, "rb", buffering=CHUNK)
    return io.BufferedReader(_WatchedFile(path, watch), CHUNK)


def line_groups(path: Path, watch: Watch | None = None) -> Iterator[list[bytes]]:
    """Every line with its ending, blank lines included, in lists of one file piece each. Splitting big pieces is much
    faster than reading a stream line by line."""
    unfinished: list[bytes] = []
    with open(path, "rb", buffering=0) as file:
        while piece := file.read(CHUNK):
            if watch is not None:
                watch(memoryview(piece))
            lines = io.BytesIO(piece).readlines()
            unfinished.append(lines[0])
            if lines[0].endswith(b"\n"):
                lines[0] = b"".join(unfinished)
                unfinished = [] if piece.endswith(b"\n") else [lines.pop()]
                yield lines
    if unfinished:
        yield [b"".join(unfinished)]


def split_lines(path: Path, watch: Watch | None = None) -> Iterator[bytes]:
    """The lines of `line_groups`, one at a time."""
    for lines in line_groups(path, watch):
        yield from lines


def read_lines(stream: Iterable[bytes], first: int = 1) -> Iterator[tuple[int, bytes]]:
    """Every line that is not blank, with its number, counted from `first`; the line keeps its ending."""
    for number, line in enumerate(stream, first):
        if number == 1:
            line = line.removeprefix(BOM)
        if line and not line.isspace():
            yield number, line


def read_objects(
    stream: Iterable[bytes], file: str, required: Iterable[str] = (), *, first: int = 1
) -> Iterator[tuple[int, Row | Problem]]:
    """Every line as an object with the required fields, or its problems. Slow and complete."""
    for number, text in read_lines(stream, first):
        spot = Spot(file, number)
        value, problems = parse_json(text, file=file, line=number)
        if not problems and not isinstance(value, dict):
            problems = [not_an_object(value, spot)]
        elif not problems:
            missing = [name for name in sorted(required) if name not in value]
            problems = [
                spot.below(name).problem("missing-field", f"`{name}` is required", expected=name) for name in missing
            ]
        if problems:
            yield from ((number, problem) for problem in problems)
        else:
            yield number, value


def not_an_object(value: Any, spot: Spot) -> Problem:
    message = f"must be an object, not {with_article(kind_of(value))}"
    return spot.problem("wrong-type", message, expected="object", found=shown(value), hint="one object on each line")


class RowDialect(WatchedDialect):
    """The base of a line format: JSONL, or CSV by the file's ending. Give it a `name`, the `columns` that every row
    must have and `case(row)`; with `row(case)` it writes too. ValueError, LookupError and TypeError from `case` become
    problems."""

    name: str
    columns: Iterable[str] = ()

    def case(self, row: Row) -> Case:
        raise NotImplementedError(f"the dialect {self.name!r} has no `case`")

    def row(self, case: Case) -> Mapping[str, Any]:
        raise InputError(f"the dialect {self.name!r} cannot write")

    def detect(self, path: Path, head: bytes) -> bool:
        if path.suffix.lower() not in ENDINGS:
            return False
        columns = header_of(head) if is_table(path) else first_keys(head)
        return set(self.columns) <= set(columns)

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        ids, file = SeenIds(), str(path)
        records = read_table if is_table(path) else read_objects
        with open_file(path, watch) as stream:
            for line, row in records(stream, file, self.columns):
                if isinstance(row, Problem):
                    yield row
                    continue
                spot = Spot(file, line)
                try:
                    case = self.case(row)
                except (ValueError, LookupError, TypeError) as error:
                    yield spot.problem("invalid-row", f"{type(error).__name__}: {error}", found=shown(row))
                else:
                    known = None if ids.is_new(case.id, line) else ids.repeated(case.id, spot)
                    yield known or unstorable_case(case, spot) or case

    def write(self, cases: Iterable[Case], path: Path) -> None:
        rows = (self.row(case) for case in cases)
        if is_table(path):
            write_whole(path, lambda file: write_table(rows, file))
        else:
            write_lines(rows, path)


def is_table(path: Path) -> bool:
    return path.suffix.lower() == ".csv"


def first_keys(head: bytes) -> Sequence[str]:
    """The keys of the object on the first line that is not blank, as far as the head of the file shows."""
    first = next((text for _, text in read_lines(head.splitlines(keepends=True))), b"")
    return head_keys(first)


class CaseLinesDialect:
    """Cases in our own JSON, one a line, as the Python interface stores them. No file is detected as this dialect."""

    name = "cases"

    def detect(self, path: Path, head: bytes) -> bool:
        return False

    def read(self, path: Path) -> Iterator[Case | Problem]:
        with open_file(path) as file:
            for place, line in enumerate(file, start=1):
                try:
                    yield msgspec.json.decode(line, type=Case)
                except msgspec.DecodeError as error:
                    yield Problem(code="invalid-case", message=str(error), file=str(path), line=place)
