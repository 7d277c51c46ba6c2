"""`howsure import`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import click

from howsure.cli.exit_codes import CASES_ERRORED, DONE
from howsure.cli.options import parsed_option, storable_text
from howsure.cli.output import howsure_command, print_json, say
from howsure.cli.progress import print_summary
from howsure.errors import ConfigInvalid
from howsure.reports.evaluations import evaluation_run
from howsure.services.import_results import ImportRequest, import_results
from howsure.services.trust import CodeUse
from howsure.services.workspace import Workspace


def read_marks(given: Iterable[str], option: str) -> dict[str, float]:
    """`score=0.7`."""
    marks: dict[str, float] = {}
    for text in given:
        name, _, mark = text.rpartition("=")
        try:
            marks[name] = float(mark)
        except ValueError:
            name = ""
        if not name:
            raise ConfigInvalid(f"{option} expects a score and what passes, such as f1=0.7, not {text!r}")
    return marks


@howsure_command("import", code=CodeUse.OPTIONAL)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--from", "kind", default="", metavar="KIND", help="The tool that wrote FILE, instead of recognising it.")
@parsed_option(storable_text, "--name", default="", metavar="TEXT", help="What the run is called [the file's name].")
@parsed_option(
    read_marks,
    "--mark",
    "marks",
    multiple=True,
    metavar="SCORE=VALUE",
    help="A case passes from this value of SCORE, where the tool has no verdict.",
)
@click.option("--strict", is_flag=True, help="Refuse a file with a record that cannot be read.")
def import_command(
    work: Workspace, files: tuple[str, ...], kind: str, name: str, marks: dict[str, float], strict: bool, as_json: bool
) -> int:
    """Store the results of another tool as a run: its samples, conversations, scores and verdicts.

    Scores keep their names, scales and who gave them; a verdict is the tool's own. Where it has none, a score with a
    mark decides, and other cases are skipped with their measures shown. The same file twice is the same run. A record
    that cannot be read is errored, and the rest is imported.

    \b
    howsure import logs/2025-05-12_popularity.eval
    howsure import output.json --name before
    howsure compare before.eval after.eval      stores nothing
    """
    request = ImportRequest(kind=kind, name=name, marks=marks, strict=strict)
    outcomes = asyncio.run(import_results(work, files, request))
    for outcome in outcomes:
        if outcome.was_there:
            run = outcome.summary.run
            say(f"run {run.id[:8]} {run.name!r} was imported before: nothing was stored")
    if as_json:
        shapes = [evaluation_run(outcome.summary) for outcome in outcomes]
        print_json(shapes[0] if len(shapes) == 1 else shapes)
    else:
        for outcome in outcomes:
            print_summary(work, outcome.summary)
    return CASES_ERRORED if any(outcome.summary.run.counts.errored for outcome in outcomes) else DONE
