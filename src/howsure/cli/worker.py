"""`howsure worker`."""

from __future__ import annotations

import asyncio
import sys

import click

from howsure.cli.output import howsure_command
from howsure.services.host.logs import configure_logging
from howsure.services.host.worker import work_until_stopped
from howsure.services.workspace import Workspace


@howsure_command("worker", json_too=False)
@click.option("--while-open", is_flag=True, help="Stop when stdin is closed: for whoever starts workers.")
def command(work: Workspace, while_open: bool) -> None:
    """Carry out the runs that wait in the service's queue, beside `howsure serve` or on another machine. Runs of a
    worker that was killed are taken over; finished cases stay finished."""
    configure_logging(plain=sys.stderr.isatty())
    asyncio.run(work_until_stopped(work, while_open=while_open))
