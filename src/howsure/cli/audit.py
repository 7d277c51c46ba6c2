"""`howsure audit`: verify, list and export the audit log."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import click
import msgspec

from howsure.cli.exit_codes import DONE, USER_MUST_ACT
from howsure.cli.output import howsure_command, print_json, with_store
from howsure.errors import ConfigInvalid
from howsure.reports.figures import iso_utc, pluralize
from howsure.reports.safe_text import one_line
from howsure.services.host.audit import record_export, with_key_names
from howsure.services.workspace import Workspace
from howsure.store.audit import AuditEntry, AuditHead
from howsure.store.private_files import open_private
from howsure.store.store import Store


@click.group("audit", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """The audit log: who did what, by ids alone. Its entries are a chain in which a change shows."""


@howsure_command("verify")
@click.option(
    "--head",
    "head_file",
    type=click.Path(path_type=Path),
    help="A head that was exported earlier: shows whether newer entries were cut off.",
)
def verify(work: Workspace, head_file: Path | None, as_json: bool) -> int:
    """Check that no entry was changed, removed or added.

    Example: howsure audit head -o head.json, and later: howsure audit verify --head head.json
    """
    head = None if head_file is None else _read_head(head_file)
    found = with_store(work, lambda store: store.audit.verify(head), read_only=True)
    if as_json:
        print_json({"valid": not found.problems, **msgspec.to_builtins(found)})
    else:
        for problem in found.problems:
            click.echo(f"BAD  {problem}")
        click.echo(f"{found.entries:,} entries, {found.first} to {found.last}; {len(found.checkpoints)} checkpoints")
        state = pluralize(len(found.problems), "problem") if found.problems else "ok"
        click.echo(state if head else f"{state} (without --head a cut end does not show)")
    return USER_MUST_ACT if found.problems else DONE


@howsure_command("head")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="The file to write it to.")
def head(work: Workspace, output: Path | None, as_json: bool) -> None:
    """Write the number and hash of the newest entry.

    Keep it where the keepers of the log cannot change it.

    Example: howsure audit head -o head.json
    """
    found = with_store(work, lambda store: store.audit.head(), read_only=True)
    if output is not None:
        with open_private(output) as file:
            file.write(msgspec.json.encode(found) + b"\n")
    if as_json or output is None:
        print_json(found)
    else:
        click.echo(f"entry {found.sequence}, {found.hash[:16]}…: written to {output}")


@howsure_command("export", json_too=False)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="A file [standard output].")
def export(work: Workspace, output: Path | None) -> None:
    """Write every entry as a line of JSON, oldest first.

    Example: howsure audit export -o audit.jsonl
    """

    async def write(store: Store, file: BinaryIO) -> int:
        number = 0
        async for entry in store.audit.entries():
            file.write(msgspec.json.encode(entry) + b"\n")
            number += 1
        file.flush()
        await record_export(work, store, "audit")
        return number

    with ExitStack() as stack:
        file = stack.enter_context(open_private(output)) if output else sys.stdout.buffer
        number = with_store(work, lambda store: write(store, file), read_only=True)
    if output is not None:
        click.echo(f"{number:,} entries written to {output}", err=True)


@howsure_command("list")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many entries.")
def several(work: Workspace, limit: int, as_json: bool) -> None:
    """Show the newest entries, newest first.

    Example: howsure audit list --limit 20
    """

    async def read(store: Store) -> list[AuditEntry]:
        return await with_key_names(store, await store.audit.several(limit=limit))

    entries = with_store(work, read, read_only=True)
    if as_json:
        print_json(entries)
        return
    for entry in entries:
        who = one_line(entry.actor) or "(nobody)"
        more = f" ×{entry.repeats}" if entry.repeats > 1 else ""
        click.echo(f"{entry.sequence:>6}  {iso_utc(entry.at)}  {who}  {entry.action}  {entry.status}{more}")
        click.echo(f"        {one_line(entry.subject)}  {entry.address}")
    if not entries:
        click.echo("Nothing in the log yet.")


def _read_head(file: Path) -> AuditHead:
    try:
        return msgspec.json.decode(file.read_bytes(), type=AuditHead)
    except OSError as error:
        raise ConfigInvalid(f"{file} cannot be read: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise ConfigInvalid(f"{file} is not a head that `howsure audit head -o FILE` wrote: {error}") from error


for each in (verify, head, export, several):
    command.add_command(each)
