"""The records of a dataset as bytes: the lines of a line file, the records of a table (a cell may hold line breaks).
Between two of them a file can be cut, if it may be: if each of them is a case, whatever the others are."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from enum import Enum, auto
from pathlib import Path

import msgspec
from msgspec import Struct

from howsure.dialects.finding import readable
from howsure.dialects.lines import Ids, RowDialect, is_table, line_groups
from howsure.dialects.strict_json import BOM
from howsure.dialects.tables import LONGEST_CELL
from howsure.services.survey import Dataset

ALONE = ("explain", "legal")
"""Dialects that read a line without knowing the others."""
NUMBERED = "simulation"
"""The dialect that tells conversations about one question apart by counting them."""
QUESTION = "question_id"

Record = tuple[bytes, bool]
"""Its bytes, and whether there is anything in it: blank lines are records too, and no cases."""


class Cut(Enum):
    """How a file can be cut."""

    PLAINLY = auto()
    """Every record is a case of its own."""
    COUNTED = auto()
    """Every record is a case, whose id depends on those before it."""
    NOT = auto()


def is_cut(dataset: Dataset) -> bool:
    """Whether workers read the file themselves."""
    if not is_table(dataset.path) and dataset.path.suffix.lower() not in (".jsonl", ".ndjson"):
        return False
    if dataset.dialect.name == NUMBERED:
        return True
    if dataset.dialect.name in ALONE:
        return not is_table(dataset.path)
    if not isinstance(dataset.dialect, RowDialect):
        return False
    # Whose `read` somebody may have written anew.
    return sum(full for _, full in body(dataset.path)[1]) == dataset.report.cases


def cut_of(dataset: Dataset) -> Cut:
    if not is_cut(dataset):
        return Cut.NOT
    if dataset.dialect.name == NUMBERED and not _told_apart(dataset.path, dataset.report.cases):
        return Cut.COUNTED
    return Cut.PLAINLY


def body(path: Path) -> tuple[bytes, Iterator[Record]]:
    """What every part of the file must begin with (a table names its columns), and the records after that."""
    if not is_table(path):
        return b"", ((line, is_full(line)) for line in _lines(path))
    told = _table(path)
    header, _ = next(told, (b"", []))
    return header, ((record, any(cells)) for record, cells in told)


def is_full(line: bytes) -> bool:
    return not line.isspace() and bool(line.removeprefix(BOM).strip())


def _lines(path: Path) -> Iterator[bytes]:
    with readable(path):
        for group in line_groups(path):
            yield from group


def _table(path: Path) -> Iterator[tuple[bytes, list[str]]]:
    """Read by the reader that the dialects use: it says itself which lines make a record."""
    csv.field_size_limit(LONGEST_CELL)
    lines: list[bytes] = []

    def shown() -> Iterator[str]:
        for number, line in enumerate(_lines(path)):
            lines.append(line)
            yield (line if number else line.removeprefix(BOM)).decode("utf-8")

    for cells in csv.reader(shown(), strict=True):
        yield b"".join(lines), cells
        lines.clear()


def _told_apart(path: Path, cases: int) -> bool:
    """Whether every conversation has an id of its own."""
    ids, number = Ids(), 0
    for found in _questions(path):
        number += 1
        if not found.strip() or not ids.is_new(found, number):
            return False
    return number == cases


def _questions(path: Path) -> Iterator[str]:
    """The ids that the records say; "" where one says none."""
    if not is_table(path):
        return map(_question, filter(is_full, _lines(path)))
    told = _table(path)
    _, columns = next(told, (b"", []))
    place = columns.index(QUESTION) if QUESTION in columns else len(columns)
    return (cells[place] if place < len(cells) else "" for _, cells in told if any(cells))


class _Named(Struct):
    question_id: str


_decode: Callable[[bytes], _Named] = msgspec.json.Decoder(_Named).decode


def _question(line: bytes) -> str:
    try:
        return _decode(line.removeprefix(BOM)).question_id
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
