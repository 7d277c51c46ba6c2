"""`howsure merge`."""

from __future__ import annotations

from pathlib import Path

import click

from howsure.cli.output import howsure_command, print_json
from howsure.services.convert.subsets import merge
from howsure.services.workspace import Workspace


@howsure_command("merge", stores=False)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, metavar="FILE", type=click.Path(path_type=Path), help="Where to write.")
@click.option("--force", is_flag=True, help="Overwrite a file that is there.")
def command(work: Workspace, files: tuple[Path, ...], output: Path, force: bool, as_json: bool) -> None:
    """Several datasets of one dialect in one file. Ids and records stay as they are; a case that stands in two files
    word for word is kept once, and one id for two different cases is refused."""
    merged = merge(files, work.kit, output, force=force)
    if as_json:
        print_json(merged)
        return
    click.echo(
        f"wrote {merged.path}: {merged.cases:,} cases" + (f", {merged.repeated} kept once" if merged.repeated else "")
    )
    if merged.header_of:
        click.echo(f"the fields beside the list are those of {merged.header_of}")
