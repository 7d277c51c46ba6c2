"""The page put together: templates for what a person reads first, then the index of the cases, the program, and the
cases themselves, worst first, until the file is as large as it may be. What is left out is said."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator
from hashlib import sha256
from importlib.resources import files
from typing import TextIO

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup
from msgspec import Struct

from howsure.model.comparison import Comparison
from howsure.model.summary import Summary
from howsure.reports.figures import number
from howsure.reports.header import quoted
from howsure.reports.html.comparing import against
from howsure.reports.html.entries import Entry
from howsure.reports.html.gathering import Gathered
from howsure.reports.html.matrix import labels
from howsure.reports.html.packing import embedded, inside, packed
from howsure.reports.html.saying import said
from howsure.reports.inert import inert

LIMIT = 19_500_000
"""Bytes of the whole file."""
PLAIN = 1_500_000
"""A run with no more data than this is not packed: its page can be searched with any tool."""
CHUNK = 300_000
LISTED = 100_000
LISTED_AT_ONCE = 5_000
INDEX_LIMIT = 8_000_000
STATIC = 50
TAGS = 200
STYLES = ("base.css", "summary.css", "matrix.css", "cases.css", "narrow.css", "print.css")
PROGRAMS = ("parts.js", "data.js", "list.js", "evidence.js", "detail.js", "filters.js", "keys.js", "start.js")
TEMPLATES = files("howsure.reports.html") / "templates"


class Piece(Struct, frozen=True):
    """Some results as the text of one script element: `count` of them, the `first`-th and following."""

    first: int
    count: int
    text: Markup
    type: str


class Page:
    """Writes itself. `limit`: how many bytes the file may have."""

    def __init__(
        self, summary: Summary, gathered: Gathered, comparison: Comparison | None = None, limit: int = LIMIT
    ) -> None:
        self._summary = summary
        self._comparison = comparison
        self._gathered = gathered
        self._limit = limit
        self._order = gathered.order()
        self._packed = gathered.bytes > PLAIN
        self._written = 0
        self.listed = 0
        self.kept = 0

    def write(self, file: TextIO) -> None:
        style, program = _joined(STYLES), program_text()
        page = _environment().get_template("page.html")
        shown = {"style": Markup(style), "program": Markup(program), "policy": policy(style, program)}
        for text in page.generate(**said(self._summary), **self._found(), **shown, page=self):
            self._written += len(text.encode())
            file.write(text)

    def _found(self) -> dict[str, object]:
        gathered, columns = self._gathered, self._gathered.matrix.columns()
        return {
            "common": gathered.common(),
            "columns": columns,
            "labels": labels([column.entry for column in columns]),
            "lines": gathered.matrix.lines(),
            "lines_left_out": gathered.matrix.left_out,
            "against": against(self._comparison),
            "first": gathered.entries(self._order[:STATIC]),
        }

    @property
    def total(self) -> int:
        return len(self._order)

    def about(self) -> Markup:
        """What the program must know before the entries."""
        tags = [tag for tag, _ in self._gathered.tags.most_common(TAGS)]
        run = self._summary.run.id[:8]
        fields = Entry.__struct_fields__
        return embedded({"fields": fields, "tags": sorted(tags), "run": run, "total": self.total})

    def index(self) -> Iterator[Piece]:
        """The entries, worst first; a run of more than can be listed is cut, and the page says so."""
        start = self._written
        for first in range(0, min(self.total, LISTED), LISTED_AT_ONCE):
            places = self._order[first : min(first + LISTED_AT_ONCE, LISTED)]
            piece = self._piece(first, list(self._gathered.entry_bytes(places)))
            if self._written - start + len(piece.text) > INDEX_LIMIT:
                return
            self.listed = first + piece.count
            yield piece

    def chunks(self) -> Iterator[Piece]:
        """What opened cases show, until the file is full."""
        room = self._limit - self._written
        for first, blocks in _gathered_up(self._gathered.blocks(self._order[: self.listed])):
            piece = self._piece(first, blocks)
            room -= len(piece.text.encode()) + 200
            if room < 0:
                return
            self.kept = first + piece.count
            yield piece

    def _piece(self, first: int, values: list[bytes]) -> Piece:
        data = b"[" + b",".join(values) + b"]"
        text, kind = (packed(data), "text/plain") if self._packed else (inside(data), "application/json")
        return Piece(first, len(values), text, kind)


def _gathered_up(blocks: Iterable[bytes]) -> Iterator[tuple[int, list[bytes]]]:
    """In groups of about `CHUNK` bytes, each with the number of its first."""
    first, group, size = 0, list[bytes](), 0
    for data in blocks:
        group.append(data)
        size += len(data)
        if size >= CHUNK:
            yield first, group
            first, group, size = first + len(group), [], 0
    if group:
        yield first, group


def program_text() -> str:
    """One program in one scope, made of its parts."""
    return f'"use strict";\n(async () => {{\n{_joined(PROGRAMS)}}})();\n'


def policy(style: str, program: str) -> str:
    """The one style and the one program of the page, by hash; no request of any kind."""
    return (
        f"default-src 'none'; script-src '{_hash(program)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _joined(names: tuple[str, ...]) -> str:
    return "".join(_source(name) for name in names)


def _source(name: str) -> str:
    return (TEMPLATES / name).read_text("utf-8")


def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_source),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "inert": inert,
        "number": number,
        "quoted": quoted,
        "thousands": lambda count: f"{count:,}",
        "slug": lambda word: word.replace(" ", "-"),
    }
    return environment
