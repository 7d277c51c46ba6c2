"""The page put together: templates for what a person reads first, then the index of the cases, the program, and the
cases themselves, worst first, until the file is as large as it may be. The page says what was left out."""

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
from howsure.model.run import Counts
from howsure.model.summary import GraderSummary, Summary, Tally
from howsure.reports.figures import (
    Rate,
    format_number,
    format_on_scale,
    iso_utc,
    pass_mark_text,
    pass_rate_of,
    pluralize,
)
from howsure.reports.html.case_data import CaseEntry, compress, embed_json, escape_json
from howsure.reports.html.collector import ResultCollector
from howsure.reports.html.comparison import baseline_comparisons
from howsure.reports.html.matrix import column_labels
from howsure.reports.run_facts import (
    OUTCOME_CLASSES,
    gate_name,
    gates_conclusion,
    graders_by_name,
    run_facts,
    run_notes,
    run_sentence,
    run_warning,
    shell_quote,
    short_id,
    slice_groups,
)
from howsure.reports.safe_text import make_inert

MAX_FILE_BYTES = 19_500_000
"""Bytes of the whole file."""
MAX_PLAIN_BYTES = 1_500_000
"""A run with no more data than this is not compressed: its page can be searched with any tool."""
CHUNK_BYTES = 300_000
MAX_LISTED = 100_000
ENTRIES_PER_CHUNK = 5_000
MAX_INDEX_BYTES = 8_000_000
STATIC_ENTRIES = 50
SHOWN_TAGS = 200
STYLES = ("base.css", "summary.css", "matrix.css", "cases.css", "narrow.css", "print.css")
PROGRAMS = ("parts.js", "data.js", "list.js", "evidence.js", "detail.js", "filters.js", "keys.js", "start.js")
TEMPLATES = files("howsure.reports.html") / "templates"
SHOWN_ROWS = 300
"""Rows of a table; a run of many candidates and graders has more."""
WIDE_INTERVAL = 0.2
"""Where an interval is wider than this, the page says that the cases are too few."""


def head_context(summary: Summary) -> dict[str, object]:
    run = summary.run
    graders = [grader_row(grader) for grader in graders_by_name(summary)]
    measured = [line for line in graders if line["n"] and not line["marked"]]
    judged = [line for line in graders if line not in measured]
    candidates = [(name, counts, pass_rate_of(counts)) for name, counts in summary.candidates.items()]
    left = sum(max(len(lines) - SHOWN_ROWS, 0) for lines in (candidates, judged, measured))
    return {
        "summary": summary,
        "pins": run.pins,
        "sentence": run_sentence(summary),
        "meaning": interval_in_words(summary),
        "warning": run_warning(summary),
        "facts": run_facts(run),
        "notes": list(run_notes(summary)),
        "gates": [
            (gate_name(each), each.outcome.value, OUTCOME_CLASSES[each.outcome], each.reason) for each in summary.gates
        ],
        "gates_said": gates_conclusion(summary.gates) if summary.gates else "",
        "run_prefix": short_id(run),
        "created": (iso_utc(run.created_at) or "")[:16].replace("T", " "),
        "counts": verdict_segments(run.counts),
        "several": len(candidates) > 1,
        "candidates": candidates[:SHOWN_ROWS],
        "judged": judged[:SHOWN_ROWS],
        "measured": measured[:SHOWN_ROWS],
        "rates_left_out": pluralize(left, "line") if left else "",
        "checks": check_rows(summary),
        "slices": [
            (label, [(each, pass_rate_of(each.counts)) for each in own]) for label, own in slice_groups(summary)
        ],
    }


def interval_in_words(summary: Summary) -> str:
    """The interval in words; nothing where there is none, or one for each of several candidates."""
    rate = pass_rate_of(summary.run.counts)
    if rate.interval is None or sum(bool(counts.total) for counts in summary.candidates.values()) > 1:
        return ""
    low, high = (f"{100 * end:.0f}" for end in rate.interval)
    between = f"about {low}" if low == high else f"between {low} and {high}"
    meaning = f"If it met many more cases like these, {between} of every 100 would likely pass."
    if rate.interval[1] - rate.interval[0] <= WIDE_INTERVAL:
        return meaning
    return f"{meaning} {pluralize(rate.judged, 'decided case')} cannot say it more closely."


def verdict_segments(counts: Counts) -> list[tuple[str, int, float, float]]:
    """Verdict, count, and where its segment of the bar begins and how long it is, in percent."""
    segments, start = [], 0.0
    for verdict in ("passed", "failed", "errored", "skipped", "pending"):
        count = getattr(counts, verdict)
        length = 100 * count / counts.total if counts.total else 0.0
        segments.append((verdict, count, round(start, 3), round(length, 3)))
        start += length
    return segments


def grader_row(grader: GraderSummary) -> dict[str, object]:
    """One line of the table of graders."""
    absent = [(grader.errored, "errored"), (grader.not_applicable, "not applicable"), (grader.no_judge, "no judge")]
    return {
        "name": grader.name,
        "candidate": grader.candidate,
        "n": grader.scored,
        "marked": grader.passed + grader.failed,
        "mean": format_on_scale(grader.mean, grader.scale),
        "needed": pass_mark_text(grader.pass_mark, grader.direction),
        "rate": pass_rate_of(grader),
        "absent": ", ".join(f"{count:,} {word}" for count, word in absent if count),
    }


def check_rows(summary: Summary) -> list[tuple[str, Tally, Rate, bool]]:
    """Name, tally and rate of all criteria, of all rules, and (True) of the rules of each component."""
    named = [("each criterion", summary.criteria, False), ("each rubric rule", summary.rules, False)]
    scoped = [(f"about {name.replace('_', ' ')}", tally, True) for name, tally in summary.components.items()]
    return [(name, tally, pass_rate_of(tally), about) for name, tally, about in [*named, *scoped] if tally]


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
        page = _environment().get_template("page.html")
        shown = {"style": Markup(style), "program": Markup(program), "policy": content_policy(style, program)}
        for text in page.generate(**head_context(self._summary), **self._found(), **shown, page=self):
            self._written += len(text.encode())
            file.write(text)

    def _found(self) -> dict[str, object]:
        collected, columns = self._collected, self._collected.matrix.columns()
        return {
            "common": collected.common(),
            "columns": columns,
            "labels": column_labels([column.entry for column in columns]),
            "lines": collected.matrix.lines(),
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
        return embed_json({"fields": fields, "tags": sorted(tags), "run": run, "total": self.total})

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


def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_source), autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    environment.filters |= {
        "inert": make_inert,
        "number": format_number,
        "quoted": shell_quote,
        "thousands": lambda count: f"{count:,}",
        "slug": lambda word: word.replace(" ", "-"),
    }
    return environment
