"""`howsure resume`."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from howsure.cli.output import howsure_command
from howsure.cli.running import again_options, finish, output_options, watching
from howsure.services.reporting import check_outputs
from howsure.services.runs import Again, go_on
from howsure.services.workspace import Workspace


@howsure_command("resume")
@click.argument("run", default="latest")
@again_options
@output_options
def command(work: Workspace, run: str, outputs: tuple[str, ...], quiet: bool, as_json: bool, **again: Any) -> int:
    """Go on with RUN (an id, a unique prefix, a name, or `latest`): what is finished is kept, nothing is repeated."""
    check_outputs(outputs)
    with watching(quiet=quiet or as_json) as watch:
        summary = asyncio.run(go_on(work, run, watch, Again(**again)))
    return finish(work, summary, outputs, quiet=quiet, as_json=as_json)
