"""`howsure worker`."""

from __future__ import annotations

import asyncio
import sys

import click

from howsure.cli.options import worker_flags
from howsure.cli.output import howsure_command
from howsure.services.host.logs import configure_logging
from howsure.services.host.run_processes import serve_runs
from howsure.services.host.worker import work_until_stopped
from howsure.services.trust import CodeUse
from howsure.services.workspace import Workspace


@howsure_command("worker", json_too=False, code=CodeUse.NEEDED)
@click.option("--while-open", is_flag=True, help="Stop when stdin is closed, for programs that start workers.")
@click.option("--run-process", type=int, default=None, hidden=True, help="Execute the runs that stdin names.")
def command(work: Workspace, while_open: bool, run_process: int | None) -> None:
    """Execute the runs that wait in the service's queue, beside `howsure serve` or on another machine. Each run has a
    process of its own, so that none can stop another. Runs of a worker that was killed are taken over; finished cases
    stay finished."""
    configure_logging(plain=sys.stderr.isatty())
    if run_process is not None:
        asyncio.run(serve_runs(work, run_process))
    else:
        asyncio.run(work_until_stopped(work, while_open=while_open, flags=worker_flags(click.get_current_context())))
