"""A run as PDF: the HTML page, printed by a Chromium or Chrome that is installed already. The first failures are
printed with their conversations, the other cases as a list."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from howsure.errors import PlanRefused
from howsure.model.comparison import Comparison
from howsure.model.result import Result
from howsure.model.summary import Summary
from howsure.reports.atomic_files import atomic_bytes
from howsure.reports.html.page import write_html

PROGRAMS = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge", "microsoft-edge",
    "brave-browser",
)  # fmt: skip
APPLICATIONS = {
    "darwin": (
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        "/Applications/Chromium.app/Contents/MacOS/Chromium",
        "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    )
}
"""Where browsers are installed on systems that do not put them on the PATH."""
SECONDS = 120.0
OUTPUT_LENGTH = 300
FLAGS = (
    "--headless", "--disable-gpu", "--disable-extensions", "--disable-background-networking",
    "--disable-component-update", "--no-first-run", "--no-default-browser-check", "--no-pdf-header-footer",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=20000",
)  # fmt: skip


def browser(find: Callable[[str], str | None] = shutil.which) -> str:
    """The program that prints. `PlanRefused` names what to install where there is none."""
    found = next(filter(None, map(find, PROGRAMS)), None)
    found = found or next((path for path in APPLICATIONS.get(sys.platform, ()) if Path(path).is_file()), None)
    if found is None:
        raise PlanRefused(
            "a PDF is printed by Chromium, Chrome or Edge, and none is on the PATH "
            f"(looked for {', '.join(PROGRAMS)}): install Chromium, or write .html and print that"
        )
    return found


async def write_pdf(
    summary: Summary,
    results: AsyncIterable[Result],
    path: Path,
    comparison: Comparison | None = None,
    *,
    seconds: float = SECONDS,
) -> None:
    """The page printed, there when it is whole."""
    program = browser()
    with TemporaryDirectory(prefix="howsure-pdf-", ignore_cleanup_errors=True) as folder:
        page, printed = Path(folder) / "report.html", Path(folder) / "report.pdf"
        await write_html(summary, results, page, comparison)
        output = await _run(_command(program, page, printed), seconds)
        if not printed.is_file() or not printed.stat().st_size:
            raise PlanRefused(
                f"{program} printed no PDF: {output or 'and did not say why'}; write .html and print that"
            )
        with printed.open("rb") as done, atomic_bytes(path) as file:
            shutil.copyfileobj(done, file)


def _command(program: str, page: Path, printed: Path) -> list[str]:
    # Chromium does not start its sandbox for root, and the page may run nothing but its own program anyway.
    root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    place = [f"--user-data-dir={page.parent / 'profile'}", f"--print-to-pdf={printed}"]
    return [program, *FLAGS, *root, *place, f"{page.as_uri()}#print"]


async def _run(command: Sequence[str], seconds: float) -> str:
    """Run it; the end of its error output."""
    try:
        process = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE)
    except OSError as error:
        raise PlanRefused(f"{command[0]} cannot be started: {error.strerror}") from error
    try:
        async with asyncio.timeout(seconds):
            _, output = await process.communicate()
    except TimeoutError as error:
        raise PlanRefused(f"{command[0]} printed no PDF within {seconds:g} s: write .html and print that") from error
    finally:
        with suppress(ProcessLookupError):
            process.kill()
            await process.wait()
    return " ".join(output.decode(errors="replace").split())[-OUTPUT_LENGTH:]
