"""`howsure retry`."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from howsure.cli.output import howsure_command
from howsure.cli.running import again_options, finish, output_options, watching
from howsure.services.reporting import check_outputs
from howsure.services.runs import Again, retry
from howsure.services.workspace import Workspace


@howsure_command("retry")
@click.argument("run", default="latest")
@click.option("--errors", is_flag=True, required=True, help="Try the errored cases again (the only kind yet).")
@again_options
@output_options
def command(
    work: Workspace, run: str, errors: bool, outputs: tuple[str, ...], quiet: bool, as_json: bool, **again: Any
) -> int:
    """Try the errored cases of RUN (an id, a unique prefix, a name, or `latest`) again; the others are kept."""
    check_outputs(outputs)
    with watching(quiet=quiet or as_json) as watch:
        summary = asyncio.run(retry(work, run, watch, Again(**again)))
    return finish(work, summary, outputs, quiet=quiet, as_json=as_json)
