"""`howsure db`: check, seal, purge, upgrade, backup."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import click
import msgspec

from howsure.cli.exit_codes import DONE, USER_MUST_ACT
from howsure.cli.output import SHOWN_PROBLEMS, howsure_command, print_json, with_store
from howsure.errors import InputError
from howsure.reports.figures import pluralize
from howsure.reports.safe_text import make_inert
from howsure.services.host import retention
from howsure.services.host.audit import record_export
from howsure.services.workspace import Workspace
from howsure.store import maintenance


@click.group("db", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Look after the database that runs are kept in: a SQLite file, or a PostgreSQL."""


@howsure_command("check")
@click.option("--mark", is_flag=True, help="Let damaged results count as such in their runs.")
def check(work: Workspace, mark: bool, as_json: bool) -> int:
    """Check the whole database.

    Can it be reached, is it sound, is its schema the newest, and is every row as it was stored? Damaged, altered,
    missing and surplus rows are named by run and position. Nothing is changed but what --mark says.

    Example: howsure db check --json
    """
    found, marked = asyncio.run(_check(work, mark))
    if as_json:
        print_json({"healthy": found.healthy, **msgspec.to_builtins(found), **({"marked": marked} if mark else {})})
    else:
        size = f"{found.bytes / 1_000_000:,.1f} MB"
        click.echo(f"{found.where}: {found.database}, {size}, schema {found.schema or 'none'}")
        counts = ", ".join(f"{number:,} {name}" for name, number in found.counts.items() if number)
        click.echo(counts or "nothing in it")
        wrong = (*found.problems, *found.rows)
        for problem in wrong[:SHOWN_PROBLEMS]:
            click.echo(f"BAD  {make_inert(str(problem))}")
        if len(wrong) > SHOWN_PROBLEMS:
            click.echo(f"… and {len(wrong) - SHOWN_PROBLEMS:,} more (--json shows all)")
        if found.unchecked:
            click.echo(f"{found.unchecked:,} rows of older versions have no checksum: `howsure db seal` makes them")
        if mark:
            click.echo(f"{sum(marked.values()):,} results of {len(marked):,} runs marked as damaged")
        click.echo("ok" if found.healthy else pluralize(len(wrong), "problem"))
    return DONE if found.healthy else USER_MUST_ACT


async def _check(work: Workspace, mark: bool) -> tuple[maintenance.DatabaseHealth, dict[str, int]]:
    found = await maintenance.check(work.location, integrity_key=work.integrity_key)
    if not mark or not any(row.kind == "damaged" for row in found.rows):
        return found, {}
    marked = await maintenance.mark(work.location, found.rows, integrity_key=work.integrity_key)
    async with await work.store() as store:
        for run_id, number in marked.items():
            await store.audit.record_command("db-mark", f"{run_id} results={number}")
    return found, marked


@howsure_command("purge")
@click.option("--dry-run", is_flag=True, help="Only report what would be removed.")
def purge(work: Workspace, dry_run: bool, as_json: bool) -> None:
    """Remove what is too old.

    It is what is older than `service.retention` allows, and the content of what was deleted more than
    `service.undelete_days` ago. `howsure serve` does so once a day.

    Example: howsure db purge --dry-run
    """
    done = with_store(work, lambda store: retention.purge(work, store, dry_run=dry_run))
    if as_json:
        print_json({"dry_run": dry_run, "purged": done})
    else:
        counts = ", ".join(f"{number:,} {kind.replace('_', ' ')}" for kind, number in done.items() if number)
        click.echo(f"{counts or 'nothing'} {'would be ' if dry_run else ''}removed")


@howsure_command("upgrade")
def upgrade(work: Workspace, as_json: bool) -> None:
    """Upgrade the schema to the newest. Any command that writes does that, too; make a backup first."""
    done = asyncio.run(maintenance.upgrade(work.location))
    if as_json:
        print_json(done)
    elif done.before == done.after:
        click.echo(f"{done.where}: schema {done.after} is the newest; nothing to do")
    elif done.before is None:
        click.echo(f"{done.where}: made, with schema {done.after}")
    else:
        click.echo(f"{done.where}: upgraded from schema {done.before} to {done.after}")


@howsure_command("seal")
def seal(work: Workspace, as_json: bool) -> None:
    """Add checksums to rows of older versions. From then on `howsure db check` checks these rows, too.

    Example: howsure db check && howsure db seal
    """
    made = asyncio.run(maintenance.seal(work.location, integrity_key=work.integrity_key))
    if as_json:
        print_json({"sealed": made})
    else:
        click.echo(f"{made:,} checksums made" if made else "every row has a checksum; nothing to do")


@howsure_command("backup")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--force", is_flag=True, help="Replace FILE where it exists.")
def backup(work: Workspace, file: Path, force: bool, as_json: bool) -> None:
    """Copy the database to FILE, while others use it.

    SQLite: a database file, checked. PostgreSQL: an archive by pg_dump, for pg_restore.
    """
    made = asyncio.run(maintenance.backup(work.location, file, replace=force))
    with suppress(InputError):
        with_store(work, lambda store: record_export(work, store, "database"), read_only=True)
    if as_json:
        print_json(made)
    else:
        click.echo(f"{made.where}: copied to {made.file}, {made.bytes / 1_000_000:,.1f} MB")
        click.echo(f"To bring it back, {made.restore}")


for each in (check, seal, purge, upgrade, backup):
    command.add_command(each)
