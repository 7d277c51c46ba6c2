"""The records of a dataset as they stand in the file: lines, CSV records or elements of a list, one for each case and
in the same order, so that a part of a file is made of its own bytes and not of what was understood of them. Lines and
CSV records are copied as they come; only a JSON document is held whole."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct

from howsure.dialects.documents import write_json
from howsure.dialects.golden_schema import LISTS
from howsure.dialects.lines import Watch, is_table, opened, read_lines
from howsure.dialects.reading import changed
from howsure.dialects.tables import LONGEST_CELL
from howsure.dialects.writing import Unfinished

WHOLE = (*LISTS, "items")
"""The keys under which whole JSON files have their lists."""
AT_ONCE = 64
"""Files that are written at the same time; the source is read again for each so many."""


class Original(Struct, frozen=True):
    """A file that was found valid, and the hash that it had then."""

    path: Path
    sha256: str

    @property
    def is_document(self) -> bool:
        return self.path.suffix.lower() == ".json"

    def header(self) -> Any:
        """What stands before the records of a table or beside those of a document; None for lines."""
        if self.is_document:
            return self.document()[0]
        return next(_csv_records(self.path), b"") if is_table(self.path) else None

    def records(self) -> Iterator[bytes]:
        """Of lines or a table. Conflict, after the last, where the file is no longer what it was."""
        hashed = sha256()
        if is_table(self.path):
            yield from islice(_csv_records(self.path, hashed.update), 1, None)
        else:
            with opened(self.path, hashed.update) as stream:
                for _, line in read_lines(stream):
                    yield line.rstrip(b"\r\n") + b"\n"
        self._check(hashed.hexdigest())

    def document(self) -> tuple[tuple[str, dict[str, Any]], list[Any]]:
        """The key of the list with the fields beside it, and the list."""
        text = self.path.read_bytes()
        self._check(sha256(text).hexdigest())
        document = json.loads(text.decode("utf-8-sig"))
        key = next(name for name in WHOLE if isinstance(document.get(name), list))
        return (key, {name: value for name, value in document.items() if name != key}), document[key]

    def _check(self, found: str) -> None:
        if found != self.sha256:
            raise changed(self.path)


def _csv_records(path: Path, watch: Watch | None = None) -> Iterator[bytes]:
    """The header and each record, with its line breaks; records without anything in them are no cases."""
    csv.field_size_limit(LONGEST_CELL)
    taken: list[str] = []
    with io.TextIOWrapper(opened(path, watch), encoding="utf-8-sig", newline="") as stream:
        for cells in csv.reader(_noted(stream, taken), strict=True):
            raw = "".join(taken)
            taken.clear()
            if any(cells):
                yield (raw if raw.endswith("\n") else f"{raw}\r\n").encode("utf-8")


def _noted(lines: Iterable[str], taken: list[str]) -> Iterator[str]:
    for line in lines:
        taken.append(line)
        yield line


def write_parts(source: Original, parts: Mapping[Path, Sequence[int]]) -> None:
    """Files that hold the records at these places, in the order of the source. Each appears whole or not at all."""
    if source.is_document:
        (key, beside), listed = source.document()
        for path, places in parts.items():
            write_json({**beside, key: [listed[place] for place in sorted(places)]}, path)
        return
    waiting = iter(parts.items())
    while batch := dict(islice(waiting, AT_ONCE)):
        _copy(source, batch)


def _copy(source: Original, parts: Mapping[Path, Sequence[int]]) -> None:
    header = source.header() or b""
    with ExitStack() as stack:
        owners: dict[int, BinaryIO] = {}
        for path, places in parts.items():
            file = _begun(stack, path, header)
            owners |= dict.fromkeys(places, file)
        for place, record in enumerate(source.records()):
            if place in owners:
                owners[place].write(record)


def _begun(stack: ExitStack, path: Path, header: bytes) -> BinaryIO:
    unfinished = stack.enter_context(Unfinished(path))
    file = stack.enter_context(open(unfinished, "wb"))  # noqa: SIM115 (the stack closes it)
    file.write(header)
    return file


def write_merged(sources: Sequence[tuple[Original, Collection[int]]], output: Path) -> None:
    """All records in one file, but for those at these places; a document has the fields of the first."""
    if sources[0][0].is_document:
        documents = [(original.document(), left_out) for original, left_out in sources]
        key, beside = documents[0][0][0]
        listed = [
            element
            for (_, elements), left_out in documents
            for place, element in enumerate(elements)
            if place not in left_out
        ]
        write_json({**beside, key: listed}, output)
        return
    with ExitStack() as stack:
        file = _begun(stack, output, sources[0][0].header() or b"")
        for original, left_out in sources:
            file.writelines(record for place, record in enumerate(original.records()) if place not in left_out)
