"""`howsure retry`."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from howsure.cli.options import again_options, given_options, output_options
from howsure.cli.output import howsure_command
from howsure.cli.progress import finish_run, show_progress
from howsure.services.report import check_outputs
from howsure.services.run.start import retry
from howsure.services.workspace import Workspace


@howsure_command("retry")
@click.argument("run", default="latest")
@click.option("--errors", is_flag=True, required=True, help="Try the errored cases again (the only kind yet).")
@again_options
@output_options
def command(
    work: Workspace, run: str, errors: bool, outputs: tuple[str, ...], quiet: bool, as_json: bool, **changes: Any
) -> int:
    """Try the errored cases of RUN (an id, a unique prefix, a name, or `latest`) again; the others are kept."""
    if outputs:
        check_outputs(work.kit, outputs)
    with show_progress(quiet=quiet or as_json) as watch:
        summary = asyncio.run(retry(work, run, watch, **given_options(changes)))
    return finish_run(work, summary, outputs, quiet=quiet, as_json=as_json)
