"""The dialect `plain`: CSV, TSV, JSONL, JSON and Parquet with the columns that people use (docs/dialects/plain.md). It
is asked last: a file that any other dialect recognises is never read as a plain table."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from howsure.dialects.base import Watch
from howsure.dialects.ids import SeenIds, unstorable_case
from howsure.dialects.lines import Row, RowDialect
from howsure.dialects.plain_columns import (
    EXPECTED,
    ID,
    INPUT,
    ROLES,
    TableColumns,
    TableOptions,
    find_columns,
    may_have_input,
)
from howsure.dialects.plain_rows import CellFault, case_of, flatten, lost_parts, metadata_in, row_of, short_labels
from howsure.dialects.problems import Spot, shown
from howsure.dialects.tables import ENDINGS, LISTS, PARQUET, TABLES, head_names, inner_names, is_utf_16, table_records
from howsure.dialects.writers import write_lines, write_list, write_whole
from howsure.errors import InputError, Problem
from howsure.model.case import Case, Input, SingleTurn, opening

_OWN = frozenset((
    "schema_version", "task_type", "required_evals", "explain_inputs", "user_inputs", "golden_questions", "items",
    "test_set_id", "session_trace", "reference_data", "expected_tool_use", "response_text", "candidate_name",
))  # fmt: skip
"""Fields of our own formats: a file that has one is a broken file of that format, not a plain table."""
_MOST_SHAPES = 1_000
_DESCRIPTION = "What this column is. Other names do too; other columns are metadata, and labels where they are short."


class PlainDialect(RowDialect):
    """Tables with a question in each row."""

    name = "plain"

    def __init__(self, options: TableOptions | None = None) -> None:
        self._options = options or TableOptions()
        self.fallback = INPUT not in self._options.map

    def with_table_options(self, options: TableOptions) -> PlainDialect:
        return PlainDialect(options)

    def schema(self) -> dict[str, Any]:
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "A row of a plain table",
            "type": "object",
            "properties": {role: {"description": _DESCRIPTION} for role in ROLES},
        }

    def detect(self, path: Path, head: bytes) -> bool:
        ending = path.suffix.lower()
        if ending not in ENDINGS:
            return False
        if ending in TABLES and is_utf_16(head):
            return True
        names = head_names(path, head) or inner_names(path, head)
        if INPUT in self._options.map:
            return bool(names)
        return not _OWN.intersection(names) and may_have_input(names)

    def describe(self, path: Path) -> str:
        """Which column is what, by the first record."""
        first = next((row for _, row in table_records(path) if not isinstance(row, Problem)), None)
        if first is None:
            return ""
        row = flatten(first)
        columns = self._columns(row, Spot(str(path)))
        return columns.describe(short_labels(metadata_in(row, columns)))

    def _columns(self, row: Row, spot: Spot) -> TableColumns:
        return find_columns(tuple(row), self._options.map, spot)

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        file, ids, hashes, ending = str(path), SeenIds(), _InputHashes(), path.suffix.lower()
        lost: Counter[str] = Counter()
        shapes: dict[tuple[str, ...], TableColumns] = {}
        for line, row in table_records(path, watch):
            if isinstance(row, Problem):
                yield row
                continue
            row, spot = flatten(row), Spot(file, line)
            shape = tuple(row)
            if shape not in shapes:
                if len(shapes) >= _MOST_SHAPES:
                    shapes.clear()
                shapes[shape] = self._columns(row, Spot(file, 1) if ending in TABLES else spot)
                yield from shapes[shape].problems
            columns = shapes[shape]
            if columns.problems:
                continue
            try:
                case = case_of(row, columns, self._options.match)
            except CellFault as fault:
                yield _cell_problem(fault, row, columns, spot)
                continue
            if not case.id:
                case = replace(case, id=hashes.id_of(case.input))
            asked = row[columns.roles[INPUT]]
            if type(asked) is not str or asked[:1] == "[":
                lost.update(lost_parts(asked))
            if ID in columns.roles and not ids.is_new(case.id, line or 0):
                yield ids.repeated(case.id, spot)
                continue
            yield (unstorable_case(case, spot) if ending in PARQUET else None) or case
        for kind, count in lost.items():
            message = f"{count} × `{kind}` in a message: only texts are asked here"
            yield Spot(file).warning("no-counterpart", message, found=str(count))

    def case(self, row: Row) -> Case:
        """As one row of a file would be read."""
        flat = flatten(row)
        columns = self._columns(flat, Spot(""))
        if columns.problems:
            raise ValueError(columns.problems[0].message)
        return case_of(flat, columns)

    def row(self, case: Case) -> Row:
        return row_of(case)

    def write(self, cases: Iterable[Case], path: Path) -> None:
        if path.suffix.lower() not in TABLES:
            (write_list if path.suffix.lower() in LISTS else write_lines)(map(self.row, cases), path)
            return
        rows = [_cells(case) for case in cases]
        columns = list(dict.fromkeys(name for row in rows for name in row))

        def write(file: Any) -> None:
            table = csv.DictWriter(file, columns, delimiter="\t" if path.suffix.lower() != ".csv" else ",")
            table.writeheader()
            table.writerows(rows)

        write_whole(path, write)


class _InputHashes:
    """Ids for rows without any: a hash of what the user says, and the place among equals."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def id_of(self, asked: Input) -> str:
        plain = type(asked) is SingleTurn and not asked.context and not asked.history
        text = opening(asked).encode("utf-8", "surrogatepass") if plain else msgspec.json.encode(asked)
        digest = sha256(text).hexdigest()[:12]
        count = self._seen[digest] = self._seen.get(digest, 0) + 1
        return f"{_ROW}{digest}" if count == 1 else f"{_ROW}{digest}-{count}"


_ROW = "row-"


def _cells(case: Case) -> dict[str, str]:
    """A row as the texts of cells; lists and objects are JSON."""
    row = row_of(case)
    if isinstance(row.get("expected"), list):
        raise InputError(
            f"case {case.id!r} has several expected answers, which a cell cannot hold; write .jsonl instead"
        )
    return {
        name: value if isinstance(value, str) else msgspec.json.encode(value).decode() for name, value in row.items()
    }


def _cell_problem(fault: CellFault, row: Row, columns: TableColumns, spot: Spot) -> Problem:
    """The fault at its cell; where choices stand in columns of their own, at that of the answer, if there is one."""
    role = fault.role if fault.role in columns.roles else EXPECTED
    if column := columns.roles.get(role):
        place, found = spot.below(column), shown(row[column])
        return place.problem(fault.code, str(fault), expected=role, found=found, hint=fault.hint)
    hint = "name the column with the right answer `answer`, or say which it is: --map expected=COLUMN"
    said = f"no column says which choice of {', '.join(columns.options.values())} is right"
    return spot.problem(fault.code, said, expected=role, hint=hint)
