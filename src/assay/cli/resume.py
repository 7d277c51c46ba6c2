"""`assay resume`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from assay.cli.output import assay_command
from assay.cli.running import finish, watching
from assay.services.runs import go_on
from assay.services.workplace import Workplace


@assay_command("resume")
@click.argument("run", default="latest")
@click.option("--record-judge", type=click.Path(path_type=Path), metavar="FILE", help="Append judge replies to FILE.")
@click.option(
    "--output", "-o", "outputs", multiple=True, metavar="FILE", help="Also write .html .md .csv .jsonl .json."
)
@click.option("--quiet", "-q", is_flag=True, help="No progress and no summary.")
def command(
    work: Workplace,
    run: str,
    record_judge: Path | None,
    outputs: tuple[str, ...],
    quiet: bool,
    as_json: bool,
) -> int:
    """Go on with RUN (an id, a unique prefix, a name, or `latest`): what is finished is kept, nothing is repeated."""
    with watching(quiet=quiet or as_json) as watch:
        summary = asyncio.run(go_on(work, run, watch, record_judge))
    return finish(work, summary, outputs, quiet=quiet, as_json=as_json)
