"""Line formats: opening and splitting files, and `RowDialect`, the small base of a line dialect. writing.py writes.

A file is read once, in big pieces; whoever wants to see every byte on the way (to hash it) passes a `watch`.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from howsure.dialects.ids import Ids as Ids
from howsure.dialects.json_places import Spot, head_keys
from howsure.dialects.strict_json import BOM, parse
from howsure.dialects.tables import header_of, read_table, write_table
from howsure.dialects.wording import a, kind_of, shown
from howsure.dialects.writing import write_checked as write_checked
from howsure.dialects.writing import write_lines as write_lines
from howsure.dialects.writing import write_whole as write_whole
from howsure.errors import InputError, Problem
from howsure.model.case import Case

Row = dict[str, Any]
Watch = Callable[[memoryview], object]

CHUNK = 1 << 18
ENDINGS = (".jsonl", ".ndjson", ".csv")


class _Watched(io.RawIOBase):
    """A file that shows every piece it reads."""

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


def opened(path: Path, watch: Watch | None = None) -> BinaryIO:
    if watch is None:
        return open(path, "rb", buffering=CHUNK)
    return io.BufferedReader(_Watched(path, watch), CHUNK)


def line_groups(path: Path, watch: Watch | None = None) -> Iterator[list[bytes]]:
    """Every line, blank ones too, with its ending, as many at a time as one piece of the file holds. Splitting big
    pieces is much faster than asking a watched stream for one line after the other."""
    begun: list[bytes] = []
    with open(path, "rb", buffering=0) as file:
        while piece := file.read(CHUNK):
            if watch is not None:
                watch(memoryview(piece))
            lines = io.BytesIO(piece).readlines()
            begun.append(lines[0])
            if lines[0].endswith(b"\n"):
                lines[0] = b"".join(begun)
                begun = [] if piece.endswith(b"\n") else [lines.pop()]
                yield lines
    if begun:
        yield [b"".join(begun)]


def split_lines(path: Path, watch: Watch | None = None) -> Iterator[bytes]:
    """As `line_groups`, line by line."""
    for lines in line_groups(path, watch):
        yield from lines


def read_lines(stream: Iterable[bytes], first: int = 1) -> Iterator[tuple[int, bytes]]:
    """Every line that is not blank, with its number (the first has this one); its ending is left on it."""
    for number, line in enumerate(stream, first):
        if number == 1:
            line = line.removeprefix(BOM)
        if line and not line.isspace():
            yield number, line


def read_objects(
    stream: Iterable[bytes], file: str, required: Iterable[str] = (), *, first: int = 1
) -> Iterator[tuple[int, Row | Problem]]:
    """Every line as an object that has the required fields; slow, and complete."""
    for number, text in read_lines(stream, first):
        spot = Spot(file, number)
        value, problems = parse(text, file=file, line=number)
        if not problems:
            problems = [not_an_object(value, spot)] if not isinstance(value, dict) else _missing(value, required, spot)
        if problems:
            yield from ((number, problem) for problem in problems)
        else:
            yield number, value


def not_an_object(value: Any, spot: Spot) -> Problem:
    message = f"must be an object, not {a(kind_of(value))}"
    return spot.problem("wrong-type", message, expected="object", found=shown(value), hint="one object on each line")


def _missing(row: Row, required: Iterable[str], spot: Spot) -> list[Problem]:
    return [
        spot.below(name).problem("missing-field", f"`{name}` is required", expected=name)
        for name in sorted(required)
        if name not in row
    ]


class RowDialect:
    """A line format: JSONL, or CSV by the file's ending. Give it a `name`, the `columns` that every row must have and
    `case(row)`; with `row(case)` it writes too. ValueError, LookupError and TypeError from `case` become problems."""

    name: str
    columns: Iterable[str] = ()

    def case(self, row: Row) -> Case:
        raise NotImplementedError(f"the dialect {self.name!r} has no `case`")

    def row(self, case: Case) -> Mapping[str, Any]:
        raise InputError(f"the dialect {self.name!r} cannot write")

    def detect(self, path: Path, head: bytes) -> bool:
        if path.suffix.lower() not in ENDINGS:
            return False
        found = header_of(head) if is_table(path) else first_keys(head)
        return set(self.columns) <= set(found)

    def read(self, path: Path) -> Iterator[Case | Problem]:
        return self.read_watched(path)

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        ids, file = Ids(), str(path)
        records = read_table if is_table(path) else read_objects
        with opened(path, watch) as stream:
            for line, row in records(stream, file, self.columns):
                made = row if isinstance(row, Problem) else self._made(row, Spot(file, line))
                if isinstance(made, Case) and not ids.is_new(made.id, line):
                    made = ids.repeated(made.id, Spot(file, line))
                yield made

    def write(self, cases: Iterable[Case], path: Path) -> None:
        rows = (self.row(case) for case in cases)
        if is_table(path):
            write_whole(path, lambda file: write_table(rows, file))
        else:
            write_lines(rows, path)

    def _made(self, row: Row, spot: Spot) -> Case | Problem:
        try:
            return self.case(row)
        except (ValueError, LookupError, TypeError) as error:
            return spot.problem("invalid-row", f"{type(error).__name__}: {error}", found=shown(row))


def is_table(path: Path) -> bool:
    return path.suffix.lower() == ".csv"


def first_keys(head: bytes) -> Sequence[str]:
    """The keys of the object on the first line that is not blank, as far as the head of the file shows it."""
    first = next((text for _, text in read_lines(head.splitlines(keepends=True))), b"")
    return head_keys(first)
