"""`howsure split`."""

from __future__ import annotations

from pathlib import Path

import click

from howsure.cli.output import howsure_command, print_json
from howsure.errors import InputError
from howsure.services.convert.subsets import split_by_label, split_by_share
from howsure.services.workspace import Workspace


@howsure_command("split", stores=False)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--by", default="", metavar="LABEL", help="A file for each value: `tag`, or the name of a label.")
@click.option("--share", type=float, metavar="0..1", help="Two files, the first with this share of the cases.")
@click.option("--seed", default=0, show_default=True, help="With --share: another seed, other cases.")
@click.option("-o", "--output", default=".", metavar="FOLDER", type=click.Path(path_type=Path), help="Where to write.")
@click.option("--force", is_flag=True, help="Overwrite files that are there.")
def command(
    work: Workspace, file: Path, by: str, share: float | None, seed: int, output: Path, force: bool, as_json: bool
) -> None:
    """A dataset in parts, by label or by share. Ids and records stay as they are; every case is in one part."""
    if bool(by) == (share is not None):
        raise InputError("split either --by LABEL or by --share")
    if share is None:
        parts = split_by_label(file, work.kit, output, by, force=force)
    else:
        parts = split_by_share(file, work.kit, output, share, seed=seed, force=force)
    if as_json:
        print_json(parts)
        return
    for part in parts:
        click.echo(f"wrote {part.path}: {part.cases:,} cases")
