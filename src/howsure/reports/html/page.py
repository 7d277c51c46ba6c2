"""The page put together: templates for the part that is read first, then the index of the cases, the program, and the
cases themselves, worst first, up to the largest size of the file. The page says what was left out. Results are
collected in one pass: their entries and blocks go to a temporary file; in memory stay their offsets, how often each
cause occurs, and the matrix."""

from __future__ import annotations

import re
from array import array
from base64 import b64encode
from collections import Counter
from collections.abc import AsyncIterable, Iterable, Iterator, Mapping
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import Any, Self, TextIO

from jinja2 import BaseLoader, Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape
from msgspec import Struct, json

from howsure.model.comparison import Comparison
from howsure.model.result import Result
from howsure.model.summary import Summary
from howsure.model.verdict import Verdict
from howsure.reports.atomic_files import atomic_text
from howsure.reports.figures import format_number, format_seconds, pluralize, short_time
from howsure.reports.headlines import grader_name
from howsure.reports.html.case_data import (
    CaseEntry,
    FailureCause,
    case_block_bytes,
    case_entry,
    compress,
    embed_json,
    escape_json,
    failure_causes,
)
from howsure.reports.html.comparison import baseline_comparisons, case_changes
from howsure.reports.html.matrix import Matrix, column_labels
from howsure.reports.html.run_head import head_fields
from howsure.reports.run_facts import FOLDERS, shell_quote, short_id
from howsure.reports.safe_text import make_inert, short_case_id, short_ids

MAX_FILE_BYTES = 19_500_000
"""Bytes of the whole file."""
MAX_PLAIN_BYTES = 1_500_000
"""A run with no more data than this is not compressed: its page can be searched with any tool."""
MAX_RENDERED_BYTES = 10_000_000
"""In runs with more data, further passed cases are shown without rendering, which takes time."""
CHUNK_BYTES = 300_000
MAX_LISTED = 100_000
ENTRIES_PER_CHUNK = 5_000
MAX_INDEX_BYTES = 8_000_000
STATIC_ENTRIES = 50
SHOWN_TAGS = 200
STYLES = ("base.css", "summary.css", "matrix.css", "cases.css", "markdown.css", "narrow.css", "print.css")
PROGRAMS = tuple(
    f"{name}.js" for name in ("parts", "data", "list", "evidence", "markdown", "detail", "filters", "keys", "start")
)
TEMPLATES = files("howsure.reports.html") / "templates"
SHOWN_ROWS = 300
"""Rows of a table; a run of many candidates and graders has more."""
IN_MEMORY = 8_000_000
SHOWN_FAILURES = 12
SEVERITIES = ("high", "medium", "low", "")
WORST_FIRST = (Verdict.FAILED, Verdict.ERRORED, Verdict.DAMAGED, Verdict.SKIPPED, Verdict.PASSED)
RANKS = {verdict: rank for rank, verdict in enumerate(WORST_FIRST)}
ENCODER = json.Encoder()
DECODER = json.Decoder(CaseEntry)
TICKED = re.compile("`([^`\\n]+)`")
JOINTS = re.compile(r"([._/-])(?=\w)")
"""Where a long name may be broken."""

Changes = Mapping[tuple[str, str], str]
"""By candidate and case: `worse` or `better` than in the baseline."""


async def write_html(
    summary: Summary, results: AsyncIterable[Result], path: Path, comparison: Comparison | None = None
) -> None:
    """The page as a file, there when it is whole. `comparison`: this run (the second side) against a baseline."""
    with atomic_text(path) as file:
        await write_page(summary, results, file, comparison)


async def write_page(
    summary: Summary, results: AsyncIterable[Result], file: TextIO, comparison: Comparison | None = None
) -> None:
    """The page, piece by piece."""
    with ResultCollector(case_changes(comparison)) as collected:
        async for result in results:
            collected.add(result)
        HtmlPage(summary, collected, comparison).write(file)


def head_context(summary: Summary) -> dict[str, Any]:
    head = head_fields(summary)
    measured = [row for row in head["graders"] if row.n and not row.rate.judged]
    tables = {
        "candidates": head["candidates"],
        "judged": [row for row in head["graders"] if row not in measured],
        "measured": measured,
    }
    left = sum(max(len(rows) - SHOWN_ROWS, 0) for rows in tables.values())
    return {
        **head,
        **{name: rows[:SHOWN_ROWS] for name, rows in tables.items()},
        "summary": summary,
        "pins": summary.run.pins,
        "run_prefix": short_id(summary.run),
        "created": short_time(summary.run.created_at),
        "several": len(head["candidates"]) > 1,
        "rates_left_out": pluralize(left, "line") if left else "",
    }


class FrequentCause(Struct, frozen=True, kw_only=True):
    """A cause that `count` results share; `number` stands for it in their entries."""

    number: int
    wrong: FailureCause
    count: int


class ResultCollector:
    """What the page is made of. Results are added in the order of the run and read back worst first."""

    def __init__(self, changes: Changes | None = None) -> None:
        self.matrix = Matrix()
        self.bytes = 0
        self.tags: Counter[str] = Counter()
        self._changes = changes or {}
        # __exit__ closes it.
        self._file: SpooledTemporaryFile[bytes] = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115
        self._ranks = array("B")
        self._offsets, self._entries = array("Q"), array("L")
        self._numbers: dict[FailureCause, int] = {}
        self.causes: Counter[FailureCause] = Counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._file.close()

    def __len__(self) -> int:
        return len(self._ranks)

    def add(self, result: Result) -> None:
        causes = dict.fromkeys(failure_causes(result))
        self.causes.update(causes.keys())
        numbers = tuple(self._numbers.setdefault(each, len(self._numbers)) for each in causes)
        change = self._changes.get((result.candidate, result.case.id), "")
        entry, rank = case_entry(result, len(self), numbers, change), RANKS[result.verdict]
        self.tags.update(entry.tags)
        self.matrix.add(result, entry, rank)
        rendered = self.bytes < MAX_RENDERED_BYTES or result.verdict is not Verdict.PASSED
        listed, block = ENCODER.encode(entry), case_block_bytes(result, rendered=rendered)
        self._ranks.append(rank)
        self._offsets.append(self.bytes)
        self._entries.append(len(listed))
        self._file.write(listed)
        self._file.write(block)
        self.bytes += len(listed) + len(block)

    def order(self) -> list[int]:
        """The places of all results, worst first and then as in the run."""
        return sorted(range(len(self)), key=self._ranks.__getitem__)

    def entry_bytes(self, places: list[int]) -> Iterator[bytes]:
        for place in places:
            yield self._read(self._offsets[place], self._entries[place])

    def entries(self, places: list[int]) -> list[CaseEntry]:
        return [DECODER.decode(data) for data in self.entry_bytes(places)]

    def blocks(self, places: list[int]) -> Iterator[bytes]:
        for place in places:
            end = self._offsets[place + 1] if place + 1 < len(self) else self.bytes
            start = self._offsets[place] + self._entries[place]
            yield self._read(start, end - start)

    def _read(self, offset: int, length: int) -> bytes:
        self._file.seek(offset)
        return self._file.read(length)

    def common(self) -> list[FrequentCause]:
        """The causes that most results share: those that decide first, and the severe first among equals."""
        ranked = sorted(self.causes.items(), key=lambda pair: (-pair[1], SEVERITIES.index(pair[0].severity)))
        ranked.sort(key=lambda pair: not pair[0].decides)
        return [
            FrequentCause(number=self._numbers[each], wrong=each, count=count)
            for each, count in ranked[:SHOWN_FAILURES]
        ]


class PageChunk(Struct, frozen=True):
    """Some results as the text of one script element: `count` of them, from the place `first` on."""

    first: int
    count: int
    text: Markup
    type: str


class HtmlPage:
    """Writes itself. `limit`: how many bytes the file may have."""

    def __init__(
        self,
        summary: Summary,
        collected: ResultCollector,
        comparison: Comparison | None = None,
        limit: int = MAX_FILE_BYTES,
    ) -> None:
        self._summary = summary
        self._comparison = comparison
        self._collected = collected
        self._limit = limit
        self._order = collected.order()
        self._packed = collected.bytes > MAX_PLAIN_BYTES
        self._written = 0
        self.listed = 0
        self.kept = 0

    def write(self, file: TextIO) -> None:
        style, program = _joined(STYLES), program_text()
        page = template_environment(FunctionLoader(_source)).get_template("page.html")
        shown = {"style": Markup(style), "program": Markup(program), "policy": content_policy(style, program)}
        for text in page.generate(**head_context(self._summary), **self._found(), **shown, page=self):
            self._written += len(text.encode())
            file.write(text)

    def _found(self) -> dict[str, object]:
        collected, columns = self._collected, self._collected.matrix.columns()
        graders = self._summary.graders if len(self._summary.candidates) < 2 else ()
        return {
            "common": collected.common(),
            "columns": columns,
            "labels": column_labels([column.entry for column in columns]),
            "lines": collected.matrix.lines({each.name: each.pass_rate_interval for each in graders}),
            "lines_left_out": collected.matrix.left_out,
            "against": baseline_comparisons(self._comparison),
            "first": collected.entries(self._order[:STATIC_ENTRIES]),
        }

    @property
    def total(self) -> int:
        return len(self._order)

    def about(self) -> Markup:
        """What the program must know before it reads the entries."""
        tags = [tag for tag, _ in self._collected.tags.most_common(SHOWN_TAGS)]
        run = self._summary.run.id[:8]
        fields = CaseEntry.__struct_fields__
        names = {cause.grader: grader_name(cause.grader) for cause in self._collected.causes}
        return embed_json({"fields": fields, "tags": sorted(tags), "run": run, "total": self.total, "names": names})

    def index(self) -> Iterator[PageChunk]:
        """The entries, worst first; a run with more than can be listed is cut, and the page says so."""
        start = self._written
        for first in range(0, min(self.total, MAX_LISTED), ENTRIES_PER_CHUNK):
            places = self._order[first : min(first + ENTRIES_PER_CHUNK, MAX_LISTED)]
            piece = self._piece(first, list(self._collected.entry_bytes(places)))
            if self._written - start + len(piece.text) > MAX_INDEX_BYTES:
                return
            self.listed = first + piece.count
            yield piece

    def chunks(self) -> Iterator[PageChunk]:
        """The blocks of the cases, until the file is full."""
        room = self._limit - self._written
        for first, blocks in _group_blocks(self._collected.blocks(self._order[: self.listed])):
            piece = self._piece(first, blocks)
            room -= len(piece.text.encode()) + 200
            if room < 0:
                return
            self.kept = first + piece.count
            yield piece

    def _piece(self, first: int, values: list[bytes]) -> PageChunk:
        data = b"[" + b",".join(values) + b"]"
        text, kind = (compress(data), "text/plain") if self._packed else (escape_json(data), "application/json")
        return PageChunk(first, len(values), text, kind)


def _group_blocks(blocks: Iterable[bytes]) -> Iterator[tuple[int, list[bytes]]]:
    """In groups of about `CHUNK_BYTES` bytes, each with the place of its first block."""
    first, group, size = 0, list[bytes](), 0
    for data in blocks:
        group.append(data)
        size += len(data)
        if size >= CHUNK_BYTES:
            yield first, group
            first, group, size = first + len(group), [], 0
    if group:
        yield first, group


def program_text() -> str:
    """All scripts as one program in one scope."""
    return f'"use strict";\n(async () => {{\n{_joined(PROGRAMS)}}})();\n'


def content_policy(style: str, program: str) -> str:
    """A content security policy: the page's one style and one program, by hash, and no request of any kind."""
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


def template_environment(loader: BaseLoader) -> Environment:
    """Templates whose text is escaped, with the filters that reports and pages share."""
    environment = Environment(
        loader=loader,
        autoescape=True,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "inert": make_inert,
        "grader": lambda name: make_inert(grader_name(name)),
        "without_folders": lambda path: make_inert(FOLDERS.sub("", path)),
        "number": format_number,
        "seconds": format_seconds,
        "ticked": lambda text: Markup(TICKED.sub(r"<code>\1</code>", str(escape(make_inert(text))))),
        "breakable": lambda name: Markup(JOINTS.sub(r"\1<wbr>", str(escape(make_inert(name))))),
        "short_id": short_case_id,
        "short_ids": short_ids,
        "quoted": shell_quote,
        "thousands": lambda count: f"{count:,}",
        "slug": lambda word: word.replace(" ", "-"),
    }
    return environment
