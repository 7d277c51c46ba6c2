"""CSV tables: records with the line they start on, or what is wrong with them; and writing them back."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TextIO

from howsure.dialects.json_places import Spot
from howsure.dialects.strict_json import BOM
from howsure.errors import Problem

LONGEST_CELL = 2**31 - 1


def read_table(
    stream: Iterable[bytes], file: str, required: Iterable[str] = ()
) -> Iterator[tuple[int, dict[str, str] | Problem]]:
    """Every record, under the column names that the first line gives. A missing column is one problem, of line 1."""
    csv.field_size_limit(LONGEST_CELL)
    reader = csv.reader(_decoded(stream), strict=True)
    start = 1
    try:
        header = next(reader, [])
        faults = list(_header_problems(header, required, Spot(file, 1)))
        yield from ((1, fault) for fault in faults)
        start = reader.line_num + 1
        for cells in reader:
            if len(cells) != len(header) and any(cells):
                yield start, _ragged(len(header), len(cells), Spot(file, start))
            elif any(cells) and not faults:
                yield start, dict(zip(header, cells, strict=True))
            start = reader.line_num + 1
    except UnicodeDecodeError:
        yield reader.line_num + 1, _not_utf8(Spot(file, reader.line_num + 1))
    except csv.Error as error:
        yield start, Spot(file, start).problem("csv-syntax", f"not a valid CSV record: {error}")


def header_of(head: bytes) -> Sequence[str]:
    """The column names, from the first bytes of a file."""
    lines = head.removeprefix(BOM).decode("utf-8", "replace").splitlines(keepends=True)
    try:
        return next(csv.reader(lines[:1], strict=True), [])
    except csv.Error:
        return []


def write_table(rows: Iterable[Mapping[str, Any]], file: TextIO) -> None:
    """The first row names the columns; a later one that names others is a ValueError."""
    table: csv.DictWriter[str] | None = None
    for row in rows:
        if table is None:
            table = csv.DictWriter(file, list(row), strict=True)
            table.writeheader()
        table.writerow(row)


def _decoded(stream: Iterable[bytes]) -> Iterator[str]:
    """Line by line, so that the line of a wrong byte is known."""
    for number, line in enumerate(stream, 1):
        yield (line.removeprefix(BOM) if number == 1 else line).decode("utf-8")


def _header_problems(header: Sequence[str], required: Iterable[str], spot: Spot) -> Iterator[Problem]:
    other = next((sign for sign in "\t;|" if len(header) == 1 and sign in header[0]), "")
    if other:
        message, hint = f"the columns are separated by {other!r}", "save the table with commas between the columns"
        yield spot.problem("csv-delimiter", message, expected="','", found=repr(other), hint=hint)
    for name in sorted({name for name in header if header.count(name) > 1}):
        yield spot.below(name).problem("duplicate-column", f"the column {name!r} stands twice")
    for name in sorted(set(required) - set(header)):
        yield spot.below(name).problem("missing-field", f"the column `{name}` is required", expected=name)


def _ragged(expected: int, found: int, spot: Spot) -> Problem:
    message = f"has {found} cells where the header names {expected} columns"
    hint = "a cell that holds commas, quotes or line breaks needs double quotes around it"
    return spot.problem("wrong-columns", message, expected=str(expected), found=str(found), hint=hint)


def _not_utf8(spot: Spot) -> Problem:
    return spot.problem("encoding", "the text is not UTF-8", expected="UTF-8", hint="save the file as UTF-8")
