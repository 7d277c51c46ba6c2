"""Records of plain tables: CSV with any usual separator, TSV, JSONL, a JSON list and Parquet, each record with its line
(of Parquet: its number). What the columns mean is in plain_columns.py."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from io import BufferedReader
from math import isfinite
from pathlib import Path
from shlex import quote
from typing import Any, BinaryIO

import msgspec

from howsure.dialects.base import Watch
from howsure.dialects.documents import load_json
from howsure.dialects.lines import (
    CHUNK,
    Row,
    TableLayout,
    not_an_object,
    not_utf8,
    open_file,
    read_objects,
    read_table,
)  # fmt: skip
from howsure.dialects.plain_columns import INPUT
from howsure.dialects.problems import Spot, kind_of, shown, with_article
from howsure.dialects.strict_json import BOM, top_level_keys
from howsure.errors import Problem

TABLES, LINES, LISTS, PARQUET = (".csv", ".tsv", ".tab"), (".jsonl", ".ndjson"), (".json",), (".parquet",)
ENDINGS = (*TABLES, *LINES, *LISTS, *PARQUET)
HEAD_BYTES = 1 << 16
_SIGNS = ",;\t|"
_PARQUET_MAGIC = b"PAR1"
MOST_ROWS = 10_000_000
LARGEST_PARQUET = 1 << 27
MOST_SWELLING = 200
"""What repeats takes nearly no room in a Parquet file: how many times larger than it its rows may be, once they are
more than LARGEST_PARQUET; and how many rows it may declare for each of its bytes."""
SPLIT = "write the rows that are tried into a file of their own"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_SEPARATOR_LINE = b"sep="
"""Spreadsheets may write `sep=;` above the header."""

WRAPPERS = ("data", "examples", "rows", "records", "dataset", "samples", "tests", "test_cases", "testcases", "cases")
"""Fields in which an object holds its rows."""
_INNER_LIST = re.compile(rb'"(\w+)"\s*:\s*\[\s*\{')
_FRAME = re.compile(rb'^\{\s*"columns"\s*:\s*\[([^\[\]{}]*)\].*"data"\s*:\s*\[\s*\[', re.DOTALL)
_COLUMN = re.compile(rb'^\{\s*"[^"]+"\s*:\s*(\[\s*["\d-]|\{\s*"0"\s*:)')

Record = tuple[int | None, Row | Problem]


def table_records(path: Path, watch: Watch | None = None) -> Iterator[Record]:
    """Every record with its line, or a problem."""
    ending, file = path.suffix.lower(), str(path)
    if ending in PARQUET:
        yield from _parquet_records(path, watch)
    elif ending in (*LINES, *LISTS) and not _is_cut_by_lines(path):
        yield from _list_records(path, watch)
    else:
        with open_file(path, watch) as stream:
            yield from _read_cells(stream, file) if ending in TABLES else read_objects(stream, file)


def head_names(path: Path, head: bytes) -> Sequence[str]:
    """The names of the columns, as far as the head of the file shows them."""
    ending, text = path.suffix.lower(), head.removeprefix(BOM).lstrip()
    if ending in PARQUET:
        return (INPUT,) if head.startswith(_PARQUET_MAGIC) else ()  # the names stand at the end of the file
    if ending in TABLES:
        return _header(head)[0]
    if text[:1] == b"[":
        text = text[1:].lstrip()
    elif ending in LISTS and not _holds_lines(text):
        return ()
    return top_level_keys(text.decode("utf-8", "ignore")) if text[:1] == b"{" else ()


def inner_names(path: Path, head: bytes) -> Sequence[str]:
    """The names of the columns of a table inside a JSON object: its rows under a usual key, or a data frame."""
    text = head.removeprefix(BOM).lstrip()
    if path.suffix.lower() not in LISTS or text[:1] != b"{" or _holds_lines(text):
        return ()
    if frame := _FRAME.search(text):
        return [name.strip('" \r\n') for name in frame[1].decode("utf-8", "ignore").split(",")]
    inner = _INNER_LIST.search(text)
    if inner is None:
        return top_level_keys(text.decode("utf-8", "ignore")) if _COLUMN.search(text) else ()
    return top_level_keys(text[inner.end() - 1 :].decode("utf-8", "ignore")) if inner[1].decode() in WRAPPERS else ()


def is_cut_by_lines(path: Path) -> bool:
    """Whether the records of a file can be told apart without knowing more of it: JSONL, or CSV with commas."""
    ending = path.suffix.lower()
    if ending in (*LINES, *LISTS):
        return ending in LINES and _is_cut_by_lines(path)
    if ending != ".csv":
        return False
    with path.open("rb") as file:
        return _header(file.read(HEAD_BYTES))[1] == TableLayout()


def _is_cut_by_lines(path: Path) -> bool:
    """Whether a file of JSON has an object on each line, by what stands in it rather than by its ending."""
    with path.open("rb") as file:
        text = file.read(HEAD_BYTES).removeprefix(BOM).lstrip()
    return text[:1] != b"[" if path.suffix.lower() in LINES else _holds_lines(text)


def _holds_lines(text: bytes) -> bool:
    """Whether the first line is an object, and another begins on the next."""
    first, _, rest = text.partition(b"\n")
    return first[:1] == b"{" and first.rstrip()[-1:] == b"}" and rest.lstrip()[:1] == b"{"


def is_utf_16(head: bytes) -> bool:
    return head.startswith(_UTF_16)


def table_layout(path: Path) -> TableLayout:
    """How the table in this file is laid out: its separator, and the lines above the names of its columns."""
    with path.open("rb") as file:
        return _header(file.read(HEAD_BYTES))[1]


def _header(head: bytes) -> tuple[list[str], TableLayout]:
    """The column names, and how the table is laid out."""
    lines = head.removeprefix(BOM).splitlines(keepends=True) or [b""]
    above = 1 if lines[0].lower().startswith(_SEPARATOR_LINE) else 0
    text = b"".join(lines[above : above + 50]).decode("utf-8", "replace").splitlines(keepends=True)
    said = lines[0].strip()[len(_SEPARATOR_LINE) :].decode("utf-8", "replace") if above else ""
    best: list[str] = []
    separator = ","
    for sign in said if len(said) == 1 else _SIGNS:
        try:
            names = next(csv.reader(text, delimiter=sign, strict=True), [])
        except (csv.Error, ValueError):
            continue
        if len(names) > len(best):
            best, separator = names, sign
    return [name.strip() for name in best], TableLayout(separator, above)


def _read_cells(stream: BinaryIO, file: str) -> Iterator[Record]:
    """The rows of a table; an empty cell is None."""
    head = stream.peek(CHUNK)[:HEAD_BYTES] if isinstance(stream, BufferedReader) else b""
    if is_utf_16(head):
        yield 1, not_utf8(Spot(file, 1), "UTF-16")
        return
    for line, row in read_table(stream, file, layout=_header(head)[1]):
        yield line, row if isinstance(row, Problem) else {name: cell or None for name, cell in row.items()}


def _list_records(path: Path, watch: Watch | None) -> Iterator[Record]:
    document = load_json(path, watch)
    yield from ((problem.line, problem) for problem in document.problems)
    if document.problems:
        return
    value, key, lists = document.value, "", list[str]()
    if isinstance(value, dict):
        if columns := _columns_of(value):
            names, rows = columns
            yield from ((None, dict(zip(names, cells, strict=True))) for cells in rows)
            return
        lists = [name for name in value if isinstance(value[name], list) and any(map(_is_object, value[name]))]
        key = lists[0] if len(lists) == 1 else ""
        if key and (left := [name for name in value if name != key]):
            message = f"beside `{key}`, not used: {', '.join(left)}"
            yield 1, document.spot.warning("unknown-field", message, found=str(len(left)))
    if not key and not isinstance(value, list):
        found, hint = with_article(kind_of(value)), "or one object on each line of a .jsonl file"
        message = f"must be a list of objects, not {found}"
        if isinstance(value, dict) and len(lists) > 1:
            message, hint = (
                f"it has several lists of objects: {', '.join(lists)}",
                f"jq .{lists[0]} {quote(str(path))} > rows.json",
            )
        yield 1, document.spot.problem("wrong-kind", message, expected="list", found=shown(value), hint=hint)
        return
    for spot, element in document.elements(key):
        yield spot.line, element if isinstance(element, dict) else not_an_object(element, spot)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _columns_of(value: dict[str, Any]) -> tuple[list[str], list[Sequence[Any]]] | None:
    """The names and the rows of a table that was written column by column, as data frames are: lists of one length, or
    objects with the same keys, or `columns` and `data`."""
    names, rows = value.get("columns"), value.get("data")
    if isinstance(names, list) and isinstance(rows, list):
        whole = len(set(map(str, names))) == len(names)
        whole = whole and all(isinstance(row, list) and len(row) == len(names) for row in rows)
        return ([str(name) for name in names], rows) if whole and rows else None
    columns = [*value.values()]
    if len(columns) > 1 and all(
        isinstance(each, dict) and each and each.keys() == columns[0].keys() for each in columns
    ):
        keyed = [[*each.values()] for each in columns]
        numbered = all(str(key).isdecimal() for key in columns[0])
        return ([*value], list(zip(*keyed, strict=True))) if numbered else None
    listed = all(isinstance(each, list) and each and not any(map(_is_object, each)) for each in columns)
    if len(columns) > 1 and listed and len({len(each) for each in columns}) == 1:
        return [*value], list(zip(*columns, strict=True))
    return None


@cache
def _pyarrow() -> Any:
    try:
        return import_module("pyarrow.parquet")
    except ModuleNotFoundError:
        return None


def _parquet_records(path: Path, watch: Watch | None) -> Iterator[Record]:
    parquet, spot = _pyarrow(), Spot(str(path))
    if parquet is None:
        hint = "pip install 'howsure[parquet]'"
        yield None, spot.problem("missing-extra", "Parquet files are read with pyarrow, which is not here", hint=hint)
        return
    with open_file(path, watch) as stream:
        content = stream.read()
    number = swollen = 0
    try:
        table = parquet.ParquetFile(import_module("pyarrow").BufferReader(content))
        declared = table.metadata.num_rows
        if declared > min(MOST_ROWS, MOST_SWELLING * len(content)):
            found = f"{declared:,} rows in {len(content):,} bytes"
            expected = f"at most {MOST_ROWS:,} rows, and {MOST_SWELLING} for each byte"
            yield None, spot.problem("too-many", f"declares {found}", expected=expected, found=found, hint=SPLIT)
            return
        for batch in table.iter_batches(batch_size=256):
            swollen += batch.nbytes
            if swollen > LARGEST_PARQUET and swollen > MOST_SWELLING * len(content):
                message = f"its rows are more than {MOST_SWELLING} times as large as the file"
                yield None, spot.problem("too-large", message, hint=SPLIT)
                return
            for row in batch.to_pylist():
                number += 1
                yield number, storable_row(row)
    except (ValueError, OSError, TypeError) as error:
        yield None, spot.problem("parquet", f"not a Parquet file that can be read: {str(error).splitlines()[0]}")


def storable_row(row: Mapping[str, Any]) -> Row:
    """A row as JSON could hold it: dates as text, NaN as nothing."""
    plain: Row = msgspec.to_builtins(row, str_keys=True)
    return {str(name): _without_nan(value) for name, value in plain.items()}


def _without_nan(value: Any) -> Any:
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {key: _without_nan(each) for key, each in value.items()}
    return [_without_nan(each) for each in value] if isinstance(value, list | tuple) else value
