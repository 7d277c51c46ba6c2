"""`howsure erase`."""

from __future__ import annotations

from collections.abc import Awaitable

import click
from msgspec import to_builtins

from howsure.cli.options import parsed_option, storable_text
from howsure.cli.output import howsure_command, print_json, with_store
from howsure.reports.safe_text import make_inert
from howsure.services.host.audit import recording
from howsure.services.workspace import Workspace
from howsure.store.erasure import ErasureReport
from howsure.store.store import Store


@howsure_command("erase")
@parsed_option(storable_text, "--user", required=True, metavar="ID", help="The id of the person.")
@click.option("--dry-run", is_flag=True, help="Only report what would be erased.")
def command(work: Workspace, user: str, dry_run: bool, as_json: bool) -> None:
    """Erase the conversations of one person from all runs. Verdicts, scores and counts stay; what was said is replaced
    by a note. It finds cases and results that name the id as their user: in `user_id`, `user`, `enduser.id`, or a
    label.

    Example: howsure erase --user customer-42 --dry-run
    """

    def erase(store: Store) -> Awaitable[ErasureReport]:
        return store.erasure.erase(user, dry_run=dry_run)

    found = with_store(work, erase if dry_run else recording("erase", erase, lambda done: done.audit_subject(user)))
    if as_json:
        print_json({"dry_run": dry_run, **to_builtins(found)})
        return
    verb = "would be erased" if dry_run else "erased"
    click.echo(f"{found.cases:,} cases with {found.results:,} results in {len(found.runs):,} runs {verb}")
    for run_id, number in found.runs.items():
        click.echo(f"  run {run_id}: {number:,} results")
    for name in found.documents:
        click.echo(f"holds the id and was not changed: {make_inert(name)}")
    click.echo("Files beside the database, backups and cached replies (`howsure cache --clear`) are not touched.")
