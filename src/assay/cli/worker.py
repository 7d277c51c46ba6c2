"""`assay worker`."""

from __future__ import annotations

import asyncio
import sys

import click

from assay.cli.output import assay_command
from assay.services.hosting.logs import set_up
from assay.services.hosting.process import work_until_told
from assay.services.workplace import Workplace


@assay_command("worker", json_too=False)
@click.option("--while-open", is_flag=True, help="Stop when stdin is closed: for whoever starts workers.")
def command(work: Workplace, while_open: bool) -> None:
    """Carry out the runs that wait in the service's queue, beside `assay serve` or on another machine. Runs of a worker
    that was killed are taken over; finished cases stay finished."""
    set_up(plain=sys.stderr.isatty())
    asyncio.run(work_until_told(work, while_open=while_open))
