"""`howsure init`."""

from __future__ import annotations

from pathlib import Path

import click

from howsure.cli.output import exit_on_error, print_json
from howsure.services.init import (
    AGENT,
    FIRST_RUN,
    GOLDEN,
    TARGET,
    TEST_SET,
    StarterFiles,
    write_data_files,
    write_starter_files,
)

WHAT = {
    "howsure.yaml": "settings, each with a word on what it does",
    "support_agent.py": "an agent to begin with; put your own in its place",
    TEST_SET: "a question, and a conversation with a simulated user",
    GOLDEN: "golden questions: tool calls, state, expected answers",
    AGENT: "the agent under test; put your own in its place",
    FIRST_RUN: "the first run, to type or to change",
}


# Not like the other commands: settings that cannot be read must not keep anyone from writing better ones.
@click.command("init")
@click.argument("folder", default=".", type=click.Path(path_type=Path))
@click.option("--data", type=click.Path(path_type=Path), metavar="FILE", help="Write them for this file of cases.")
@click.option("--force", is_flag=True, help="Overwrite files that are there already.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for other programs.")
def command(folder: Path, data: Path | None, force: bool, as_json: bool) -> None:
    """Write the first files into FOLDER (default: this one): settings, an agent to begin with, and two datasets that
    can be run at once, without a model or a network. What is there already is never overwritten."""
    with exit_on_error(as_json=as_json):
        begun = write_data_files(data, folder, force=force) if data else write_starter_files(folder, force=force)
        if as_json:
            print_json(begun)
            return
        for name in begun.written:
            click.echo(f"wrote  {folder / name}\n           {WHAT[name]}")
        for name in begun.unchanged:
            click.echo(f"kept   {folder / name}")
        _next(begun)


def _next(begun: StarterFiles) -> None:
    click.echo("\nWhat to try next:")
    enter = [] if Path(begun.folder).resolve() == Path.cwd() else [(f"cd {begun.folder}", "where the files are")]
    if begun.first_run:
        for text, why in (*enter, (begun.first_run, "ask, grade, decide"), ("howsure show latest", "all results")):
            click.echo(f"  {text}\n      {why}")
        return
    for text, why in (
        *enter,
        (f"howsure doctor --target {TARGET}", "is the agent there?"),
        (f"howsure run {TEST_SET} --target {TARGET}", "talk to it, grade it, decide"),
        ("howsure show latest broken-lamp", "the whole conversation with the simulated user"),
        (f"howsure run {GOLDEN} --target {TARGET} --output report.html", "and a page to read"),
    ):
        click.echo(f"  {text}\n      {why}")
