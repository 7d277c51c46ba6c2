"""`howsure sample`, `howsure split` and `howsure merge`: datasets in parts, and parts in one. Ids and records stay as
they are."""

from __future__ import annotations

import asyncio
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from howsure.cli.output import howsure_command, print_json
from howsure.errors import InputError
from howsure.reports.figures import pluralize
from howsure.services.convert.subsets import merge, sample, split_by_label, split_by_share
from howsure.services.trust import CodeUse
from howsure.services.workspace import Workspace

PATH = click.Path(path_type=Path)
INFORMATION = "information"
output_option = click.option("-o", "--output", required=True, metavar="FILE", type=PATH, help="Where to write.")
force_option = click.option("--force", is_flag=True, help="Overwrite a file that is there.")


@howsure_command("sample", code=CodeUse.OPTIONAL)
@click.argument("file", type=PATH)
@click.option("-n", "--count", type=int, required=True, metavar="N", help="How many cases.")
@click.option(
    "--by",
    default="",
    metavar="LABEL",
    help="From each group in proportion: `tag`, the name of a label; `information`.",
)
@click.option("--from", "runs", multiple=True, metavar="RUN", help="With --by information: whose verdicts [all runs].")
@click.option("--predict", default="", metavar="RUN", help="With --by information: what RUN would reach on all cases.")
@click.option("--seed", default=0, show_default=True, help="Another seed, other cases.")
@output_option
@force_option
def sample_command(work: Workspace, file: Path, by: str, output: Path, force: bool, as_json: bool, **rest: Any) -> None:
    """A part of a dataset, drawn by seed: the same seed draws the same cases, and a case that is added to the file
    moves as few others as can be. Ids and records stay as they are.

    With --by information, the cases that stand for all of them, by what stored candidates made of each: which tell
    nothing, what the part says about the whole, and how far that was off for candidates held out.
    """
    if by == INFORMATION:
        # The numbers library and the database take a while to import: other parts do without them.
        few = import_module("howsure.services.few_cases")
        found = asyncio.run(few.sample_by_information(work, file, output, few.SampleRequest(**rest), force=force))
        print_json(found) if as_json else click.echo("\n".join(few.sample_sentences(found)))
        return
    if rest.pop("runs") or rest.pop("predict"):
        raise InputError("--from and --predict go with --by information")
    part = sample(file, work.kit, output, by=by, force=force, **rest)
    if as_json:
        print_json(part)
        return
    groups = ", ".join(f"{name}: {share}" for name, share in part.groups.items())
    click.echo(f"wrote {part.path}: {pluralize(part.cases, 'case')}" + (f" ({groups})" if groups else ""))


@howsure_command("split", stores=False, code=CodeUse.OPTIONAL)
@click.argument("file", type=PATH)
@click.option("--by", default="", metavar="LABEL", help="A file for each value: `tag`, or the name of a label.")
@click.option("--share", type=float, metavar="0..1", help="Two files, the first with this share of the cases.")
@click.option("--seed", default=0, show_default=True, help="With --share: another seed, other cases.")
@click.option("-o", "--output", default=".", metavar="FOLDER", type=PATH, help="Where to write.")
@click.option("--force", is_flag=True, help="Overwrite files that are there.")
def split_command(
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
        click.echo(f"wrote {part.path}: {pluralize(part.cases, 'case')}")


@howsure_command("merge", stores=False, code=CodeUse.OPTIONAL)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=PATH)
@output_option
@force_option
def merge_command(work: Workspace, files: tuple[Path, ...], output: Path, force: bool, as_json: bool) -> None:
    """Several datasets of one dialect in one file. Ids and records stay as they are; a case that stands in two files
    word for word is kept once, and one id for two different cases is refused."""
    merged = merge(files, work.kit, output, force=force)
    if as_json:
        print_json(merged)
        return
    repeated = f", {merged.repeated} kept once" if merged.repeated else ""
    click.echo(f"wrote {merged.path}: {pluralize(merged.cases, 'case')}{repeated}")
    if merged.header_of:
        click.echo(f"the fields beside the list are those of {merged.header_of}")
