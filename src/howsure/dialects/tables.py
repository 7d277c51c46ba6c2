"""Records of plain tables: CSV with any usual separator, TSV, JSONL, a JSON list and Parquet, each record with its line
(of Parquet: its number). What the columns mean is in plain_columns.py."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from io import BufferedReader
from math import isfinite
from pathlib import Path
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
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_SEPARATOR_LINE = b"sep="
"""Spreadsheets may write `sep=;` above the header."""

Record = tuple[int | None, Row | Problem]


def table_records(path: Path, watch: Watch | None = None) -> Iterator[Record]:
    """Every record with its line, or a problem."""
    ending, file = path.suffix.lower(), str(path)
    if ending in PARQUET:
        yield from _parquet_records(path, watch)
    elif ending in LISTS:
        yield from _list_records(path, watch)
    else:
        with open_file(path, watch) as stream:
            yield from read_objects(stream, file) if ending in LINES else _read_cells(stream, file)


def head_names(path: Path, head: bytes) -> Sequence[str]:
    """The names of the columns, as far as the head of the file shows them."""
    ending, text = path.suffix.lower(), head.removeprefix(BOM).lstrip()
    if ending in PARQUET:
        return (INPUT,) if head.startswith(_PARQUET_MAGIC) else ()  # the names stand at the end of the file
    if ending in TABLES:
        return _header(head)[0]
    if text[:1] == b"[" and ending in LISTS:
        text = text[1:].lstrip()
    elif ending in LISTS:
        return ()
    return top_level_keys(text.decode("utf-8", "ignore")) if text[:1] == b"{" else ()


def is_cut_by_lines(path: Path) -> bool:
    """Whether the records of a file can be told apart without knowing more of it: JSONL, or CSV with commas."""
    if path.suffix.lower() != ".csv":
        return path.suffix.lower() in LINES
    with path.open("rb") as file:
        return _header(file.read(HEAD_BYTES))[1] == TableLayout()


def is_utf_16(head: bytes) -> bool:
    return head.startswith(_UTF_16)


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
    if not document.problems and not isinstance(document.value, list):
        found = with_article(kind_of(document.value))
        message, hint = f"must be a list of objects, not {found}", "or one object on each line of a .jsonl file"
        yield 1, document.spot.problem("wrong-kind", message, expected="list", found=shown(document.value), hint=hint)
    for spot, element in document.elements() if not document.problems else ():
        yield spot.line, element if isinstance(element, dict) else not_an_object(element, spot)


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
    number = 0
    try:
        table = parquet.ParquetFile(import_module("pyarrow").BufferReader(content))
        for batch in table.iter_batches(batch_size=4096):
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
