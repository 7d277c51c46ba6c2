"""The files a run can be written to: by the ending of their name, or by the name of the format (`--format`). A format
is loaded when it is asked for: tables and pages cost nothing to a run that writes neither."""

from __future__ import annotations

from collections.abc import AsyncIterable
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from msgspec import Struct

from howsure.errors import UnknownName
from howsure.model.comparison import Comparison
from howsure.model.result import Result
from howsure.model.summary import Summary

Results = AsyncIterable[Result]


class Writer(Protocol):
    """Writes one run to one file. One whose format `compares` also takes `comparison`, the run against a baseline."""

    async def __call__(self, summary: Summary, results: Results, path: Path, **rest: Any) -> None: ...


class Format(Struct, frozen=True, kw_only=True):
    """`place` is the writer's module and name. Of several endings that fit, the longest counts."""

    name: str
    endings: tuple[str, ...]
    place: str
    about: str
    compares: bool = False
    needs: str = ""

    def check(self) -> None:
        """Refuse before anything runs what this machine cannot write; `needs` is the module and name of who knows."""
        if self.needs:
            module, name = self.needs.split(":")
            getattr(import_module(f"howsure.reports.{module}"), name)()

    async def write(self, summary: Summary, results: Results, path: Path, comparison: Comparison | None = None) -> None:
        module, name = self.place.split(":")
        writer = cast(Writer, getattr(import_module(f"howsure.reports.{module}"), name))
        await writer(summary, results, path, **({"comparison": comparison} if self.compares else {}))


FORMATS = (
    Format(
        name="html",
        endings=(".html", ".htm"),
        place="html:write_html",
        about="a page to read in a browser, offline",
        compares=True,
    ),
    Format(
        name="pdf",
        endings=(".pdf",),
        place="pdf:write_pdf",
        about="the page, printed; needs Chromium or Chrome",
        compares=True,
        needs="pdf:browser",
    ),
    Format(
        name="markdown",
        endings=(".md",),
        place="pull_request:write_pull_request",
        about="for a pull request: what flipped, gates, failures; never above its size limit",
        compares=True,
    ),
    Format(
        name="markdown-full",
        endings=(".full.md",),
        place="markdown:markdown_file",
        about="a document: the first 200 failed cases with their whole conversations",
    ),
    Format(name="junit", endings=(".xml",), place="junit:write_junit", about="one test per attempt, for CI"),
    Format(name="csv", endings=(".csv",), place="csv_file:csv_file", about="a table for spreadsheets"),
    Format(name="jsonl", endings=(".jsonl", ".ndjson"), place="jsonl:jsonl_file", about="one EvaluationResult a line"),
    Format(name="json", endings=(".json",), place="jsonl:json_file", about="the EvaluationRun and its results"),
    Format(
        name="canonical",
        endings=(".canonical.jsonl",),
        place="jsonl:canonical_file",
        about="to compare two runs byte for byte: no ids, no times",
    ),
    Format(
        name="parquet",
        endings=(".parquet",),
        place="parquet:write_parquet",
        about="a typed table for pandas, polars and DuckDB; needs howsure[parquet]",
        needs="parquet:pyarrow",
    ),
    Format(
        name="every-eval-ever",
        endings=(".eee.json",),
        place="every_eval_ever:write_every_eval_ever",
        about="the shared schema of the EvalEval Coalition, with its file of instances",
    ),
)


def endings() -> list[str]:
    return [ending for each in FORMATS for ending in each.endings]


def format_for(path: Path, name: str = "") -> Format:
    """By `name` where one is given, else by the file's ending, whatever its case."""
    if name:
        return named_format(name)
    lower = path.name.lower()
    fits = [
        (len(ending), each)
        for each in FORMATS
        for ending in each.endings
        if lower.endswith(ending) and len(lower) > len(ending)
    ]
    if not fits:
        raise UnknownName("report file ending", path.suffix or path.name, endings())
    return max(fits, key=lambda fit: fit[0])[1]


def named_format(name: str) -> Format:
    found = next((each for each in FORMATS if each.name == name.lower()), None)
    if found is None:
        raise UnknownName("report format", name, [each.name for each in FORMATS])
    return found
