"""A run as one HTML file that opens offline: styles, program and data are inside, no host is contacted, and a content
policy allows only our own style and program, by their hash. Start at `write_html`.

Everything agents, users and judges wrote is escaped text or data: JSON that the page's program turns into text nodes,
never into markup. What a person needs first stands in the page itself and needs no program. Results are read once, in
order (collector.py), and memory grows by one short entry a result; the file stays under `page.MAX_FILE_BYTES` bytes."""

from __future__ import annotations

from collections.abc import AsyncIterable
from pathlib import Path
from typing import TextIO

from howsure.model.comparison import Comparison
from howsure.model.result import Result
from howsure.model.summary import Summary
from howsure.reports.atomic_files import atomic_text
from howsure.reports.html.collector import ResultCollector
from howsure.reports.html.comparison import case_changes
from howsure.reports.html.page import HtmlPage

__all__ = ["write_html", "write_page"]


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
