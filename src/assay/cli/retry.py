"""`assay retry`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from assay.cli.output import assay_command
from assay.cli.running import finish, watching
from assay.services.runs import retry
from assay.services.workplace import Workplace


@assay_command("retry")
@click.argument("run", default="latest")
@click.option("--errors", is_flag=True, required=True, help="Try the errored cases again (the only kind yet).")
@click.option("--record-judge", type=click.Path(path_type=Path), metavar="FILE", help="Append judge replies to FILE.")
@click.option(
    "--output", "-o", "outputs", multiple=True, metavar="FILE", help="Also write .html .md .csv .jsonl .json."
)
@click.option("--quiet", "-q", is_flag=True, help="No progress and no summary.")
def command(
    work: Workplace,
    run: str,
    errors: bool,
    record_judge: Path | None,
    outputs: tuple[str, ...],
    quiet: bool,
    as_json: bool,
) -> int:
    """Try the errored cases of RUN (an id, a unique prefix, a name, or `latest`) again; the others are kept."""
    with watching(quiet=quiet or as_json) as watch:
        summary = asyncio.run(retry(work, run, watch, record_judge))
    return finish(work, summary, outputs, quiet=quiet, as_json=as_json)
