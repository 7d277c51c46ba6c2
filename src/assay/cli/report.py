"""`assay report`."""

from __future__ import annotations

import asyncio

import click

from assay.cli.output import assay_command, say
from assay.services.reporting import write_reports
from assay.services.workplace import Workplace


@assay_command("report", json_too=False)
@click.argument("run", default="latest")
@click.option("--output", "-o", "outputs", multiple=True, default=("report.html",), show_default=True, metavar="FILE")
def command(work: Workplace, run: str, outputs: tuple[str, ...]) -> None:
    """Write RUN as files; the ending says how: .html (opens offline), .md, .csv, .jsonl or .json."""
    for path in asyncio.run(write_reports(work, run, outputs)):
        say(f"written: {path}")
