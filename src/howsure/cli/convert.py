"""`howsure convert`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from howsure.cli.options import map_option
from howsure.cli.output import howsure_command, print_json, say
from howsure.dialects.importers.base import ImportOptions
from howsure.dialects.plain_columns import TableOptions
from howsure.errors import InputError
from howsure.reports.figures import pluralize
from howsure.services.convert.convert import (
    CATALOG,
    ENDINGS,
    ConversionReport,
    ConversionRequest,
    convert,
    write_catalog,
)
from howsure.services.trust import CodeUse
from howsure.services.workspace import Workspace

KINDS = ", ".join(ENDINGS)


@howsure_command("convert", stores=False, code=CodeUse.OPTIONAL)
@click.argument("paths", nargs=-1, metavar="FROM...")
@click.option("--input", "inputs", multiple=True, metavar="FILE", help="Another name for FROM.")
@click.option(
    "--to",
    "kind",
    default="golden",
    show_default=True,
    metavar="KIND",
    help=f"What to write: {KINDS}, or a dialect of a plug-in.",
)
@click.option("-o", "--output", required=True, metavar="FILE", type=click.Path(path_type=Path), help="Where to write.")
@click.option("--from", "source", default="", metavar="NAME", help="What FROM is, instead of recognising it.")
@map_option
@click.option("--agent", default="", metavar="NAME", help="The agent that the cases are for.")
@click.option("--prefix", default="", metavar="TEXT", help="What made-up ids begin with [q].")
@click.option("--metadata", "pairs", multiple=True, metavar="KEY:VALUE", help="Said of every case.")
@click.option("--per", type=click.Choice(["conversation", "turn"]), default="conversation", show_default=True,
              help="One question for each conversation, or for each turn.")  # fmt: skip
@click.option(
    "--run", "runs", multiple=True, metavar="RUN", help="Only histories of this run (a part of its name; `latest`)."
)
@click.option("--since", default="", metavar="DATE", help="Only what was recorded on or after this day or time.")
@click.option(
    "--agent-dir", type=click.Path(path_type=Path), metavar="FOLDER", help="The agent's source, for its tools."
)
@click.option(
    "--criteria",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The criteria of `adk eval` for an eval set [test_config.json beside it].",
)
@click.option("--append", is_flag=True, help="Add to a golden file that is there; its ids stay.")
@click.option("--force", is_flag=True, help="Overwrite a file that is there.")
@click.option("--count", default=30, show_default=True, help=f"With --to {CATALOG}: how many scenarios.")
@click.option("--seed", default=0, show_default=True, help=f"With --to {CATALOG}: which ones.")
def command(
    work: Workspace,
    paths: tuple[str, ...],
    inputs: tuple[str, ...],
    kind: str,
    output: Path,
    as_json: bool,
    **rest: Any,
) -> None:
    """Turn logs, histories, sessions and benchmarks into datasets, or one dataset into another. Says what was read,
    written and left out, and every field that the new format cannot hold."""
    sources = (*paths, *inputs)
    if kind == CATALOG:
        _catalog(sources, output, as_json=as_json, rest=rest)
        return
    if not sources:
        raise InputError("name one or more files or folders to convert")
    order = ConversionRequest(
        paths=sources,
        to=kind,
        output=output,
        source=rest["source"],
        options=_options(rest),
        force=rest["force"],
        append=rest["append"],
    )
    done = convert(order, work.kit.with_tables(TableOptions(map=rest["map"])))
    if as_json:
        print_json(done)
    else:
        print_conversion(done)


def _catalog(sources: tuple[str, ...], output: Path, *, as_json: bool, rest: dict[str, Any]) -> None:
    if sources:
        raise InputError(f"a {CATALOG} is made of --count and --seed, not of {sources[0]}")
    written = write_catalog(output, rest["count"], rest["seed"], force=rest["force"])
    if as_json:
        print_json({"output": str(output), "to": CATALOG, "written": written})
    else:
        click.echo(f"wrote {output}: {written} scenarios")


def _options(rest: dict[str, Any]) -> ImportOptions:
    return ImportOptions(
        agent=rest["agent"],
        prefix=rest["prefix"],
        metadata=dict(map(_pair, rest["pairs"])),
        per_turn=rest["per"] == "turn",
        since=_moment(rest["since"]),
        runs=rest["runs"],
        agent_folder=rest["agent_dir"],
        criteria=rest["criteria"],
    )


def _pair(text: str) -> tuple[str, str]:
    key, colon, value = text.partition(":")
    if not colon or not key.strip() or not value.strip():
        raise InputError(f"--metadata {text}: expected KEY:VALUE")
    return key.strip(), value.strip()


def _moment(text: str) -> float | None:
    """A day, a time or seconds of the epoch; a time without a zone is UTC."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        if text.replace(".", "", 1).isdecimal():
            return float(text)
        raise InputError(f"--since {text}: expected a day or time, such as 2026-01-31 or 2026-01-31T12:00") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def print_conversion(done: ConversionReport) -> None:
    """Results on stdout; what a person should know about them on stderr."""
    for source in done.sources:
        click.echo(f"read  {source.path} ({source.dialect}): {pluralize(source.cases, 'case')}")
        for warning in source.warnings[:20]:
            say(f"warning: {warning}")
        if len(source.warnings) > 20:
            say(f"… and {len(source.warnings) - 20:,} more warnings (--json shows all)")
    kept = f", {done.kept:,} kept" if done.kept else ""
    click.echo(f"wrote {done.output} ({done.to}): {pluralize(done.written, 'case')}{kept}")
    for skip in done.skipped:
        click.echo(f"left out {skip.cases:,}: {skip.why} (first: {skip.first})")
    for word, lines in (("changed", done.changed), ("lost", done.lost)):
        for line in lines:
            click.echo(f"{word} {line.field} in {pluralize(line.cases, 'case')}: {line.why} (first: {line.first})")
