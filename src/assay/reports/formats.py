"""The files a run can be written to, by their ending (`--output FILE`)."""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable
from pathlib import Path

from assay.errors import UnknownName
from assay.model.result import Result
from assay.model.summary import Summary
from assay.reports.csv_file import write_csv
from assay.reports.html import write_html
from assay.reports.jsonl import write_json, write_jsonl
from assay.reports.markdown import write_markdown
from assay.reports.whole_file import whole_bytes, whole_text

Results = AsyncIterable[Result]
Writer = Callable[[Summary, Results, Path], Awaitable[None]]


async def markdown_file(summary: Summary, results: Results, path: Path) -> None:
    with whole_text(path) as file:
        await write_markdown(summary, results, file)


async def csv_file(summary: Summary, results: Results, path: Path) -> None:
    with whole_text(path) as file:
        await write_csv(summary, results, file)


async def jsonl_file(summary: Summary, results: Results, path: Path) -> None:
    with whole_bytes(path) as file:
        await write_jsonl(summary.run, results, file)


async def json_file(summary: Summary, results: Results, path: Path) -> None:
    with whole_bytes(path) as file:
        await write_json(summary, results, file)


FORMATS: dict[str, Writer] = {
    ".html": write_html,
    ".md": markdown_file,
    ".csv": csv_file,
    ".jsonl": jsonl_file,
    ".json": json_file,
}


def writer_for(path: Path) -> Writer:
    """By the file's ending, whatever its case."""
    ending = path.suffix.lower()
    if ending not in FORMATS:
        raise UnknownName("report file ending", ending or path.name, list(FORMATS))
    return FORMATS[ending]
