"""The `simulation` dialect: CSV or JSONL of finished conversations with their traces, in all the column sets that the
tools of the golden world ever wrote. docs/dialects/simulation.md describes every column.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import TextIO

import msgspec
from msgspec import structs

from howsure.dialects.documents import Json
from howsure.dialects.json_places import Spot
from howsure.dialects.lines import (
    ENDINGS,
    Ids,
    Row,
    Watch,
    first_keys,
    is_table,
    opened,
    read_objects,
    write_lines,
    write_whole,
)
from howsure.dialects.simulation_columns import cells_of, is_known, is_simulation, read_cells, shaped
from howsure.dialects.simulation_rows import read_row
from howsure.dialects.simulation_schema import SCHEMA
from howsure.dialects.simulation_writing import never_told, row_of, surely_told
from howsure.dialects.tables import header_of, read_table, write_table
from howsure.dialects.wording import shown
from howsure.errors import Problem
from howsure.model.case import Case


class SimulationDialect:
    """CSV or JSONL of finished conversations."""

    name = "simulation"

    def detect(self, path: Path, head: bytes) -> bool:
        if path.suffix.lower() not in ENDINGS:
            return False
        return is_simulation(set(header_of(head) if is_table(path) else first_keys(head)))

    def read(self, path: Path) -> Iterator[Case | Problem]:
        return self.read_watched(path)

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        rows = _Rows(str(path), table=is_table(path))
        records = read_table if is_table(path) else read_objects
        with opened(path, watch) as stream:
            for line, row in records(stream, str(path)):
                if isinstance(row, Problem):
                    yield row
                else:
                    yield from rows.read(row, line)

    def write(self, cases: Iterable[Case], path: Path) -> None:
        table = is_table(path)
        numbers = Numbers()
        rows = (_written(case, numbers, table=table) for case in cases)
        if table:
            write_whole(path, lambda file: _write_cells(rows, file))
        else:
            write_lines(rows, path)

    def schema(self) -> Json:
        return SCHEMA


class Numbers:
    """Gives rows of the same question different ids: the first keeps the question's, the others are `id#2`, `id#3` …"""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}

    def following(self, case: Case) -> Case:
        count = self._rows.get(case.id, 0) + 1
        if count == 1:
            return case
        return structs.replace(case, id=f"{case.id}#{count}", labels={**case.labels, "repeat": str(count)})

    def count(self, id: str) -> None:
        self._rows[id] = self._rows.get(id, 0) + 1


def question_of(case: Case) -> tuple[str, int]:
    """The question's own id and the number of this conversation among those about it."""
    repeat = case.labels.get("repeat", "1")
    return (case.id.removesuffix(f"#{repeat}"), int(repeat)) if repeat.isdecimal() and repeat != "1" else (case.id, 1)


class _Rows:
    """Reads the rows of one file; remembers ids and what it has warned about."""

    def __init__(self, file: str, *, table: bool) -> None:
        self._file = file
        self._table = table
        self._numbers = Numbers()
        self._ids = Ids("question_id")
        self._warned: set[str] = set()

    def read(self, row: Row, line: int) -> Iterator[Case | Problem]:
        spot = Spot(self._file, line)
        yield from self._unknown(row, spot)
        cells = read_cells(row, spot, table=self._table)
        case, problems = read_row(cells, spot)
        yield from problems
        if case is None:
            return
        if "howsure_case" not in cells.values:
            numbered = self._numbers.following(case)
            self._numbers.count(case.id)
            case = numbered
        yield case if self._ids.is_new(case.id, line) else self._ids.repeated(case.id, spot)

    def _unknown(self, row: Row, spot: Spot) -> Iterator[Problem]:
        """Once a file for each column."""
        for column in row:
            if column not in self._warned and not is_known(column):
                self._warned.add(column)
                message = f"the column {column!r} is not known; it is kept"
                yield spot.below(column).warning("unknown-field", message, found=shown(row[column]))


def _write_cells(rows: Iterable[Json], file: TextIO) -> None:
    """A table names its columns before its rows, and only the last row tells them all: the rows wait in a file."""
    columns: dict[str, None] = {}
    with TemporaryFile("w+", encoding="utf-8") as waiting:
        for row in map(shaped, rows):
            columns |= dict.fromkeys(row)
            waiting.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
        waiting.seek(0)
        write_table((cells_of(json.loads(line), columns) for line in waiting), file)


def _written(case: Case, numbers: Numbers, *, table: bool) -> Json:
    """The row of a case. What the columns cannot say goes, with the whole case, into a column of its own."""
    question, _ = question_of(case)
    row = row_of(case, question)
    if _is_told(case, row, numbers, table=table):
        numbers.count(question)
        return row
    return {**row, "question_id": case.id, "howsure_case": msgspec.to_builtins(case) if table else case}


def _is_told(case: Case, row: Json, numbers: Numbers, *, table: bool) -> bool:
    """Whether the columns give the case back; where a look does not tell, they are read."""
    if never_told(case):
        return False
    if not table and surely_told(case):
        return numbers.following(case) is case
    read = cells_of(shaped(row)) if table else row
    again, _ = read_row(read_cells(read, Spot(""), table=table), Spot(""))
    return again is not None and numbers.following(again) == case
