"""`howsure sample`."""

from __future__ import annotations

from pathlib import Path

import click

from howsure.cli.output import howsure_command, print_json
from howsure.services.convert.subsets import sample
from howsure.services.workspace import Workspace


@howsure_command("sample", stores=False)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-n", "--count", type=int, required=True, metavar="N", help="How many cases.")
@click.option("--by", default="", metavar="LABEL", help="From each group in proportion: `tag`, or the name of a label.")
@click.option("--seed", default=0, show_default=True, help="Another seed, other cases.")
@click.option("-o", "--output", required=True, metavar="FILE", type=click.Path(path_type=Path), help="Where to write.")
@click.option("--force", is_flag=True, help="Overwrite a file that is there.")
def command(
    work: Workspace, file: Path, count: int, by: str, seed: int, output: Path, force: bool, as_json: bool
) -> None:
    """A part of a dataset, drawn by seed: the same seed draws the same cases, and a case that is added to the file
    moves as few others as can be. Ids and records stay as they are."""
    part = sample(file, work.kit, output, count, by=by, seed=seed, force=force)
    if as_json:
        print_json(part)
        return
    groups = ", ".join(f"{name}: {share}" for name, share in part.groups.items())
    click.echo(f"wrote {part.path}: {part.cases:,} cases" + (f" ({groups})" if groups else ""))
