"""`howsure cache`."""

from __future__ import annotations

from contextlib import closing

import click

from howsure.cli.output import howsure_command, print_json
from howsure.services.workspace import Workspace
from howsure.store.reply_cache import CacheSize, ReplyCache


@howsure_command("cache", stores=False)
@click.option("--clear", is_flag=True, help="Forget replies.")
@click.option(
    "--older-than",
    "days",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="DAYS",
    help="With --clear: only those older than DAYS.",
)
def command(work: Workspace, clear: bool, days: float, as_json: bool) -> None:
    """Show what the cache of model replies holds, or clear it. All runs of this folder share it."""
    path = work.replies
    size, forgotten = CacheSize(0, 0), 0
    if path.is_file():
        with closing(ReplyCache.open(path)) as cache:
            forgotten = cache.clear(older_than_days=days) if clear else 0
            size = cache.size()
    if as_json:
        print_json({"path": str(path), "replies": size.replies, "bytes": size.bytes, "forgotten": forgotten})
    else:
        cleared = f"{forgotten:,} forgotten; " if clear else ""
        click.echo(f"{cleared}{size.replies:,} replies, {size.bytes / 1_000_000:,.1f} MB in {path}")
