"""`howsure resume`."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from howsure.cli.options import again_options, given_options, output_options
from howsure.cli.output import howsure_command
from howsure.cli.progress import finish_run, show_progress
from howsure.services.report import check_outputs
from howsure.services.run.start import resume
from howsure.services.workspace import Workspace


@howsure_command("resume")
@click.argument("run", default="latest")
@again_options
@output_options
def command(work: Workspace, run: str, outputs: tuple[str, ...], quiet: bool, as_json: bool, **changes: Any) -> int:
    """Go on with RUN (an id, a unique prefix, a name, or `latest`): what is finished is kept, nothing is repeated."""
    if outputs:
        check_outputs(work.kit, outputs)
    with show_progress(quiet=quiet or as_json) as watch:
        summary = asyncio.run(resume(work, run, watch, **given_options(changes)))
    return finish_run(work, summary, outputs, quiet=quiet, as_json=as_json)
