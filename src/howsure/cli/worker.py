"""`howsure worker`."""

from __future__ import annotations

import asyncio
import sys

import click

from howsure.cli.output import howsure_command
from howsure.services.hosting.logs import set_up
from howsure.services.hosting.process import work_until_told
from howsure.services.workspace import Workspace


@howsure_command("worker", json_too=False)
@click.option("--while-open", is_flag=True, help="Stop when stdin is closed: for whoever starts workers.")
def command(work: Workspace, while_open: bool) -> None:
    """Carry out the runs that wait in the service's queue, beside `howsure serve` or on another machine. Runs of a
    worker that was killed are taken over; finished cases stay finished."""
    set_up(plain=sys.stderr.isatty())
    asyncio.run(work_until_told(work, while_open=while_open))
