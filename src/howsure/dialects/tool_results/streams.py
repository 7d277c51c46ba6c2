"""Containers of other tools' results, read in bounded memory: JSON documents whose list of samples is streamed, JSON
lines, tables, and zip archives (deflate and zstd) that are refused before they swell. A container that is broken raises
DatasetInvalid with the place; what the samples mean is for the readers."""

from __future__ import annotations

import codecs
import json
import re
from ast import literal_eval
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from struct import unpack
from typing import Any, BinaryIO
from zipfile import BadZipFile, ZipFile, ZipInfo
from zlib import crc32
from zlib import error as ZlibError

import msgspec
import zstandard

from howsure.dialects.datasets import HEAD, readable
from howsure.dialects.lines import header_of, read_table
from howsure.dialects.strict_json import BOM, head_keys
from howsure.errors import DatasetInvalid, Problem, printable
from howsure.model.plain_values import is_storable

CHUNK = 1 << 20
LARGEST_VALUE = 1 << 28
"""Characters of one sample, or of one value beside the samples."""
LARGEST_MEMBER = 1 << 27
MOST_SWELLING = 200
"""How many times larger than its archive all that is in it may be, once it is more than LARGEST_MEMBER."""
ZSTD = 93
_SPACE = " \t\r\n"
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_decoder = json.JSONDecoder(strict=False)


def container_fault(path: Path, code: str, message: str, *, hint: str = "", line: int | None = None) -> DatasetInvalid:
    """The error for a file that cannot be read as a whole."""
    return DatasetInvalid(str(path), [Problem(code=code, message=message, file=str(path), line=line, hint=hint)])


class JsonStream:
    """A JSON document in a file: `elements` yields those of the list at `at` (a path of keys) one after another, and
    `rest` fills with everything else as it is passed. `found`: whether there is such a list."""

    def __init__(self, path: Path, file: BinaryIO, at: tuple[str, ...]) -> None:
        self.rest: dict[str, Any] = {}
        self.found = False
        self._path, self._file, self._at = path, file, at
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._text, self._pos, self._lines = "", 0, 1
        self._ended = False

    def elements(self) -> Iterator[Any]:
        yield from self._members(self.rest, self._at) if self._at else self._list()
        if self._peek():
            raise self._broken("more text follows the end of the document")

    def rows(self) -> Iterator[tuple[str, Any]]:
        """The elements, each with its place: `samples[3]`."""
        name = ".".join(self._at)
        yield from ((f"{name}[{place}]", each) for place, each in enumerate(self.elements()))

    def _members(self, into: dict[str, Any], at: tuple[str, ...]) -> Iterator[Any]:
        """Pass the object here; where its key leads to the list, yield from that."""
        self._take("{")
        while self._peek() != "}":
            key = self._value()
            if not isinstance(key, str):
                raise self._broken("a key is expected here")
            self._take(":")
            if key != at[0] or self._peek() != ("{" if len(at) > 1 else "["):
                into[key] = self._value()
            elif len(at) > 1:
                into[key] = {}
                yield from self._members(into[key], at[1:])
            else:
                self.found = True
                yield from self._list()
            if self._peek() != "}":
                self._take(",")
        self._take("}")

    def _list(self) -> Iterator[Any]:
        self._take("[")
        while self._peek() != "]":
            yield self._value()
            if self._peek() != "]":
                self._take(",")
        self._take("]")

    def _peek(self) -> str:
        """The next character that is no space; empty at the end of the file."""
        while True:
            text, pos = self._text, self._pos
            while pos < len(text) and text[pos] in _SPACE:
                pos += 1
            self._pos = pos
            if pos < len(text):
                return text[pos]
            if not self._more():
                return ""

    def _take(self, sign: str) -> None:
        found = self._peek()
        if found != sign:
            raise self._broken(f"`{sign}` is expected here, and {f'`{found}`' if found else 'the file ends'}")
        self._pos += 1

    def _value(self) -> Any:
        self._peek()
        while True:
            try:
                value, end = _decoder.raw_decode(self._text, self._pos)
            except json.JSONDecodeError as error:
                inside = not error.msg.startswith("Unterminated string") and error.pos + 16 < len(self._text)
                if inside or not self._more():
                    raise self._broken(error.msg[0].lower() + error.msg[1:], error.pos) from error
            except RecursionError as error:
                raise self._broken("objects and lists are nested too deep") from error
            else:
                # A number near the end of what was read may go on: `1`, then `e+5`.
                length, begin = end - self._pos, self._pos
                if isinstance(value, int | float) and len(self._text) - end <= 2:
                    if self._more():
                        continue
                    begin = self._pos  # what was passed is no longer held
                self._pos = begin + length
                return _repair(value) if _HALF_CHARACTER.search(self._text, begin, self._pos) else value

    def _more(self) -> bool:
        """Read on: each time as much again as is held, so that a large value is tried a few times only."""
        if self._ended:
            return False
        held = len(self._text) - self._pos
        if held > LARGEST_VALUE:
            raise self._broken(f"one value has more than {LARGEST_VALUE:,} characters")
        piece = self._file.read(max(CHUNK, held))
        self._ended = not piece
        try:
            text = self._decode(piece, not piece)
        except UnicodeDecodeError as error:
            utf16 = b"\0" in piece[:64]
            hint = "this looks like UTF-16; save it as UTF-8" if utf16 else "save the file as UTF-8"
            raise container_fault(self._path, "encoding", "the text is not UTF-8", hint=hint) from error
        self._lines += self._text.count("\n", 0, self._pos)
        self._text, self._pos = self._text[self._pos :] + text, 0
        return bool(piece)

    def _broken(self, what: str, pos: int | None = None) -> DatasetInvalid:
        line = self._lines + self._text.count("\n", 0, self._pos if pos is None else pos)
        if self._ended and (self._pos if pos is None else pos) >= len(self._text.rstrip()) - 1:
            hint = "the file is cut off, or its tool is still writing it: copy it again, or run the tool to its end"
            return container_fault(self._path, "cut-off", f"the JSON text ends too early: {what}", hint=hint, line=line)
        return container_fault(self._path, "json-syntax", f"not valid JSON: {what}", line=line)


def json_value(text: bytes) -> Any:
    """The value of a JSON text; ValueError where there is none. NaN and Infinity are read: Python tools write them."""
    try:
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            return msgspec.json.decode(text)
        return _repair(json.loads(text))
    except RecursionError as error:
        raise ValueError("objects and lists are nested too deep") from error


@contextmanager
def json_document(path: Path, *at: str) -> Iterator[JsonStream]:
    """A JSON document whose list at `at` is streamed; the document is that list where no key is named."""
    with readable(path), path.open("rb") as file:
        yield JsonStream(path, file, at)


def json_object(path: Path) -> dict[str, Any]:
    """The whole of a small JSON document, which must be an object."""
    with json_document(path, "") as stream:
        for _ in stream.elements():
            continue
        return stream.rest


def json_list(path: Path, *at: str) -> Iterator[tuple[str, Any]]:
    """The elements of the list at `at`, each with its place."""
    with json_document(path, *at) as stream:
        yield from stream.rows()


def _repair(value: Any) -> Any:
    """The value with half characters (lone surrogates) written out: no database takes them."""
    match value:
        case str():
            return printable(value) if _SURROGATE.search(value) else value
        case dict():
            return {_repair(key): _repair(each) for key, each in value.items()}
        case list():
            return [_repair(each) for each in value]
        case _:
            return value


def json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Every line with its number: its value, or the ValueError that says why it has none."""
    with readable(path), path.open("rb") as file:
        for line, text in enumerate(file, start=1):
            if line == 1:
                text = text.removeprefix(BOM)
            if text.strip():
                try:
                    yield line, json_value(text)
                except ValueError as error:
                    yield line, error


def gather_lines(
    path: Path, keys: Callable[[], Callable[[Any], Hashable | None]], keep: Callable[[Any], Any]
) -> Iterator[tuple[str, Any]]:
    """Records that have several lines, which may stand apart: the first line of each, its key, and what `keep` makes of
    every line of it. The file is read twice, so that memory holds no more than that; `keys` gives the function that
    finds the key of a line, anew for each time. A line without a key comes as it is."""
    kept: dict[Hashable, list[Any]] = {}
    key_of, again = keys(), keys()
    for _, row in json_lines(path):
        if (key := key_of(row)) is not None:
            kept.setdefault(key, []).append(keep(row))
    for line, row in json_lines(path):
        key = again(row)
        if key is None or key in kept:
            yield f"{path.name} line {line}", row if key is None else (row, key, kept.pop(key))


def read_head(path: Path) -> bytes:
    """The first bytes of a file, without a byte order mark; none of a folder."""
    if path.is_dir():
        return b""
    with readable(path), path.open("rb") as file:
        return file.read(HEAD).removeprefix(BOM)


def first_keys(head: bytes) -> set[str]:
    """The keys of the first object: of the document, of its first line, or of the first element of its list; the
    columns of a CSV."""
    text = head.removeprefix(BOM).lstrip()
    if text[:1] not in (b"{", b"["):
        return set(header_of(head))
    return set(head_keys(text.removeprefix(b"[").lstrip()))


def read_rows(path: Path, *lists: str) -> Iterator[tuple[str, Any]]:
    """The rows of a file, each with its place: of a CSV, of JSON lines, of a JSON list, of the first of `lists` that a
    document has, or of a table with `columns` and `data`. What cannot be read is a ValueError."""
    head = read_head(path)
    start, keys = head.lstrip()[:1], head_keys(head)
    name = next((name for name in lists if name in keys), None)
    if start not in (b"{", b"["):
        with path.open("rb") as stream:
            for line, row in read_table(stream, str(path)):
                cells = None if isinstance(row, Problem) else {name: _cell(text) for name, text in row.items()}
                yield f"line {line}", ValueError(row.message) if isinstance(row, Problem) else cells
    elif start == b"[":
        yield from json_list(path)
    elif {"columns", "data"} <= set(keys):
        columns = json_object(path)["columns"]
        for place, cells in json_list(path, "data"):
            yield place, dict(zip(columns, cells, strict=False)) if isinstance(cells, list) else cells
    elif name is not None:
        yield from json_list(path, name)
    else:
        yield from ((f"line {line}", row) for line, row in json_lines(path))


def _cell(text: str) -> Any:
    """A cell of a CSV: an object or a list as JSON or, from pandas, as Python writes it; else the text."""
    if text[:1] in ("{", "["):
        with suppress(ValueError):
            return json_value(text.encode())
        with suppress(ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            if is_storable(value := literal_eval(text)):
                return value
    return text


class ResultsArchive:
    """A zip archive of JSON texts, within bounds: `with ResultsArchive(path) as archive: archive.json("a.json")`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            with readable(path):
                self._size = path.stat().st_size
                self._zip = ZipFile(path)
        except (BadZipFile, NotImplementedError, ValueError) as error:
            hint = "the file is cut off, or its tool was killed while writing it: copy it again"
            raise container_fault(path, "broken-archive", f"not a whole zip archive: {error}", hint=hint) from error
        self.members: dict[str, ZipInfo] = {info.filename: info for info in self._zip.infolist()}
        self._check_sizes()

    def __enter__(self) -> ResultsArchive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def _check_sizes(self) -> None:
        largest = max((info.file_size for info in self.members.values()), default=0)
        whole = sum(info.file_size for info in self._zip.infolist())
        if largest > LARGEST_MEMBER or whole > max(LARGEST_MEMBER, MOST_SWELLING * self._size):
            message = f"the archive of {self._size:,} bytes would swell to {whole:,}, and one file of it to {largest:,}"
            raise container_fault(self._path, "archive-too-large", f"{message}: it is not read (a zip bomb does that)")

    def json(self, name: str) -> Any:
        """The value of a member. A member that cannot be unpacked is a fault of the archive; text that is no JSON is a
        ValueError."""
        info = self.members[name]
        try:
            if info.compress_size > self._size:
                raise BadZipFile("it promises more than the archive holds")
            text = self._unpack_zstd(info) if info.compress_type == ZSTD else self._zip.read(info)
        except (BadZipFile, ZlibError, EOFError, OSError, NotImplementedError, RuntimeError) as error:
            raise container_fault(self._path, "broken-archive", f"{name} cannot be unpacked: {error}") from error
        try:
            return json_value(text)
        except ValueError as error:
            raise ValueError(f"{name} is not valid JSON: {error}") from error

    def rows(self, names: Iterable[str]) -> Iterator[tuple[str, Any]]:
        """These members, each with its name; a ValueError for one that is no JSON."""
        for name in names:
            try:
                yield name, self.json(name)
            except ValueError as error:
                yield name, error

    def _unpack_zstd(self, info: ZipInfo) -> bytes:
        file = self._zip.fp
        if file is None:
            raise EOFError("the archive is closed")
        file.seek(max(0, info.header_offset))
        head = file.read(30)
        if len(head) < 30 or not head.startswith(b"PK\x03\x04"):
            raise BadZipFile("no member begins at its place")
        name_size, extra_size = unpack("<26xHH", head)
        file.seek(name_size + extra_size, 1)
        try:
            reader = zstandard.ZstdDecompressor().stream_reader(file.read(info.compress_size), read_across_frames=True)
            text: bytes = reader.read(info.file_size + 1)
        except zstandard.ZstdError as error:
            raise BadZipFile(str(error)) from error
        if len(text) != info.file_size or crc32(text) != info.CRC:
            raise BadZipFile("its size or checksum is wrong")
        return text
