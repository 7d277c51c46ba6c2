"""A run as one HTML file that opens offline: styles, program and data are inside, nothing is asked of any host, and a
content policy forbids what is not ours by its hash. `write_html` is the door.

Everything agents, users and judges wrote is escaped text or data: JSON that the page's program turns into text nodes,
never into markup. What a person needs first stands in the page itself and needs no program. Results are read once, in
order (gathering.py), and memory grows by one short entry a result; the file stays under `page.LIMIT` bytes."""

from __future__ import annotations

from collections.abc import AsyncIterable
from pathlib import Path
from typing import TextIO

from howsure.model.comparison import Comparison
from howsure.model.result import Result
from howsure.model.summary import Summary
from howsure.reports.html.comparing import changes
from howsure.reports.html.gathering import Gathered
from howsure.reports.html.page import Page
from howsure.reports.whole_file import whole_text

__all__ = ["write_html", "write_page"]


async def write_html(
    summary: Summary, results: AsyncIterable[Result], path: Path, comparison: Comparison | None = None
) -> None:
    """The page as a file, there when it is whole. `comparison`: this run (the second side) against a baseline."""
    with whole_text(path) as file:
        await write_page(summary, results, file, comparison)


async def write_page(
    summary: Summary, results: AsyncIterable[Result], file: TextIO, comparison: Comparison | None = None
) -> None:
    """The page, piece by piece."""
    with Gathered(changes(comparison)) as gathered:
        async for result in results:
            gathered.see(result)
        Page(summary, gathered, comparison).write(file)
