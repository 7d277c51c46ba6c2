"""`howsure report`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from howsure.cli.output import howsure_command, say
from howsure.errors import ConfigInvalid
from howsure.services.report import default_output, write_artifacts, write_reports
from howsure.services.workspace import Workspace


@howsure_command("report", json_too=False)
@click.argument("run", default="latest")
@click.option("--output", "-o", "outputs", multiple=True, metavar="FILE", help="Where to (repeatable) [report.html].")
@click.option("--format", "form", default="", metavar="NAME", help="How, whatever the file's ending.")
@click.option("--baseline", default="", metavar="RUN", help="Show what changed since this run (.html and .md).")
@click.option(
    "--artifacts", default="", metavar="SET", help="A folder: legal, golden, explain, azure or every-eval-ever."
)
def command(work: Workspace, run: str, outputs: tuple[str, ...], form: str, baseline: str, artifacts: str) -> None:
    """Write RUN as files; the ending says how, or --format does for all of them.

    \b
    .html             html             a page that opens offline
    .pdf              pdf              the same, printed; needs Chromium or Chrome
    .md               markdown         for a pull request: never above its size limit
    .full.md          markdown-full    failed cases with their whole conversations
    .xml              junit            one test for each case, candidate and repeat
    .csv              csv              a table for spreadsheets
    .jsonl            jsonl            one EvaluationResult a line
    .json             json             the EvaluationRun and its results
    .canonical.jsonl  canonical        to compare two runs byte for byte
    .parquet          parquet          a typed table; needs howsure[parquet]
    .eee.json         every-eval-ever  the EvalEval Coalition's schema

    --artifacts writes the files of another system into the folder that --output names.
    """
    if artifacts:
        if len(outputs) != 1 or form or baseline:
            raise ConfigInvalid(
                "--artifacts writes one folder: name it with one --output, without --format and --baseline"
            )
        written = asyncio.run(write_artifacts(work, run, artifacts, Path(outputs[0])))
    else:
        chosen = outputs or (default_output(work.kit, form),)
        written = asyncio.run(write_reports(work, run, chosen, form=form, baseline=baseline))
    for path in written:
        say(f"written: {path}")
