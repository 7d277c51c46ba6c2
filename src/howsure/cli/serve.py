"""`howsure serve`."""

from __future__ import annotations

import asyncio
import sys

import click

from howsure.cli.options import worker_flags
from howsure.cli.output import howsure_command
from howsure.services.host.logs import configure_logging
from howsure.services.trust import CodeUse
from howsure.services.workspace import Workspace


@howsure_command("serve", json_too=False, code=CodeUse.NEEDED)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--port", default=8002, show_default=True, type=click.IntRange(0, 65535))
@click.option("--workers", default=1, show_default=True, type=click.IntRange(0, 64), help="Workers to keep beside it.")
@click.option("--require-keys", is_flag=True, help="Ask for a key on this machine, too.")
def command(work: Workspace, host: str, port: int, workers: int, require_keys: bool) -> None:
    """Serve the evaluation API at /api/v1. On this machine alone no key is needed; beyond it, nothing is served without
    one (`howsure keys create`)."""
    configure_logging(plain=sys.stderr.isatty())
    context = click.get_current_context()
    options = {"host": host, "port": port, "workers": workers, "keys": require_keys, "flags": worker_flags(context)}
    asyncio.run(context.obj.serve(work, options))
