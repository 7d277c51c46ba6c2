"""`howsure db`: check, upgrade, backup."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click
import msgspec

from howsure.cli.exit_codes import DONE, USER_MUST_ACT
from howsure.cli.output import howsure_command, print_json
from howsure.services.workspace import Workspace
from howsure.store import maintenance


@click.group("db", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Look after the database that runs are kept in: a SQLite file, or a PostgreSQL."""


@howsure_command("check")
def check(work: Workspace, as_json: bool) -> int:
    """Read all of it: can it be reached, is it sound, is its schema the newest, what is in it. Nothing is changed."""
    found = asyncio.run(maintenance.check(work.location))
    if as_json:
        print_json({"healthy": found.healthy, **msgspec.to_builtins(found)})
    else:
        click.echo(
            f"{found.where}: {found.database}, {found.bytes / 1_000_000:,.1f} MB, schema {found.schema or 'none'}"
        )
        click.echo(
            ", ".join(f"{number:,} {name}" for name, number in found.counts.items() if number) or "nothing in it"
        )
        for problem in found.problems:
            click.echo(f"BAD  {problem}")
        click.echo("ok" if found.healthy else f"{len(found.problems)} to see to")
    return DONE if found.healthy else USER_MUST_ACT


@howsure_command("upgrade")
def upgrade(work: Workspace, as_json: bool) -> None:
    """Bring its schema to the newest. Whatever writes to it does that, too; a backup first is wise."""
    done = asyncio.run(maintenance.upgrade(work.location))
    if as_json:
        print_json(done)
    elif done.before == done.after:
        click.echo(f"{done.where}: schema {done.after} is the newest; nothing to do")
    elif done.before is None:
        click.echo(f"{done.where}: made, with schema {done.after}")
    else:
        click.echo(f"{done.where}: upgraded from schema {done.before} to {done.after}")


@howsure_command("backup")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--force", is_flag=True, help="Replace FILE where it exists.")
def backup(work: Workspace, file: Path, force: bool, as_json: bool) -> None:
    """Copy all of it to FILE, as it is at one moment, while others go on using it. SQLite: a database file, checked.
    PostgreSQL: an archive by pg_dump, for pg_restore."""
    made = asyncio.run(maintenance.backup(work.location, file, replace=force))
    if as_json:
        print_json(made)
    else:
        click.echo(f"{made.where}: copied to {made.file}, {made.bytes / 1_000_000:,.1f} MB")
        click.echo(f"To bring it back, {made.restore}")


for each in (check, upgrade, backup):
    command.add_command(each)
