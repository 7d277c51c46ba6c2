"""The records of a dataset as they stand in the file: lines, CSV records or elements of a list, one for each case and
in the same order, so that a part of a file is made of its own bytes and not of what was understood of them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from assay.dialects.documents import write_json
from assay.dialects.golden import LISTS
from assay.dialects.lines import is_table, opened, read_lines, write_whole
from assay.dialects.strict_json import BOM
from assay.dialects.tables import LONGEST_CELL

WHOLE = (*LISTS, "items")
"""The keys under which whole JSON files have their lists."""


class Records(Struct, frozen=True):
    """The records of one file, and what stands before them: a header line, or the fields beside the list."""

    records: list[Any]
    header: Any = None

    def chosen(self, places: Iterable[int]) -> Records:
        return Records([self.records[place] for place in places], self.header)


def read_records(path: Path) -> Records:
    """`path` was found valid."""
    if is_table(path):
        header, *records = _csv_records(path)
        return Records(records, header)
    if path.suffix.lower() == ".json":
        return _listed(path)
    with opened(path) as stream:
        return Records([line.rstrip(b"\r\n") + b"\n" for _, line in read_lines(stream)])


def _listed(path: Path) -> Records:
    document = json.loads(path.read_text(encoding="utf-8-sig"))
    key = next(name for name in WHOLE if isinstance(document.get(name), list))
    return Records(document[key], (key, {name: value for name, value in document.items() if name != key}))


def _csv_records(path: Path) -> Iterator[str]:
    """Each record with its line breaks; records without anything in them are no cases."""
    csv.field_size_limit(LONGEST_CELL)
    text = path.read_bytes().removeprefix(BOM).decode("utf-8")
    lines = io.StringIO(text, newline="").readlines()
    reader = csv.reader(lines, strict=True)
    start = 0
    for cells in reader:
        raw = "".join(lines[start : reader.line_num])
        start = reader.line_num
        if any(cells):
            yield raw if raw.endswith("\n") else f"{raw}\r\n"


def write_records(given: Records, path: Path) -> None:
    """The file appears whole or not at all."""
    if path.suffix.lower() == ".json":
        key, beside = given.header
        write_json({**beside, key: given.records}, path)
    elif is_table(path):
        write_whole(path, lambda file: file.writelines([given.header, *given.records]))
    else:
        write_whole(path, lambda file: file.writelines(line.decode("utf-8") for line in given.records))


def same_header(parts: Sequence[Records]) -> bool:
    """Whether the parts can stand in one table."""
    return all(part.header == parts[0].header for part in parts)
