"""`howsure compare`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click
import msgspec

from howsure.cli.options import option_callback, storable_text, storable_texts
from howsure.cli.output import howsure_command, print_json, say
from howsure.cli.summary import console
from howsure.errors import ConfigInvalid, PlanRefused
from howsure.model.comparison import Comparison
from howsure.reports.atomic_files import atomic_bytes, atomic_text
from howsure.reports.comparison_report import comparison_markdown, comparison_report
from howsure.reports.comparisons import comparison_shape
from howsure.services.compare.compare import CompareRequest, compare_runs
from howsure.services.files import clean_text
from howsure.services.workspace import Workspace

ENDINGS = (".md", ".json")
NONE = "none"


def read_candidate_pairs(texts: tuple[str, ...], option: str) -> tuple[tuple[str, str], ...]:
    """`A=B`: the first run's candidate A with the other's B; a name alone is meant on both sides."""
    pairs: list[tuple[str, str]] = []
    for text in map(clean_text, texts):
        first, equals, second = text.partition("=")
        if not first.strip() or (equals and not second.strip()):
            raise ConfigInvalid(f"{option} expects A=B, two candidates, not {text!r}")
        pairs.append((first.strip(), second.strip() if equals else first.strip()))
    return tuple(pairs)


@howsure_command("compare")
@click.argument("runs", nargs=-1, required=True, metavar="RUN [RUN...]", callback=option_callback(storable_texts))
@click.option(
    "--by",
    multiple=True,
    callback=option_callback(storable_texts),
    metavar="LABEL",
    help="Also by this label of the cases.",
)
@click.option(
    "--pair",
    default="",
    callback=option_callback(storable_text),
    metavar="LABEL",
    help="Inside one RUN: pair groups by this.",
)
@click.option(
    "--base",
    default="",
    callback=option_callback(storable_text),
    metavar="VALUE",
    help="With --pair: the group to start from.",
)
@click.option(
    "--candidate",
    "candidates",
    multiple=True,
    callback=option_callback(read_candidate_pairs),
    metavar="A=B",
    help="The first run's candidate A with the other's B [the same names].",
)
@click.option(
    "--cluster",
    default=None,
    callback=option_callback(storable_text),
    metavar="LABEL",
    help="Cases with one value of LABEL belong together [explain: scenario_id; `none`].",
)
@click.option(
    "--margin", default=0.05, show_default=True, metavar="SHARE", help="A difference up to this counts as none."
)
@click.option("--confidence", default=0.95, show_default=True, metavar="SHARE", help="How sure intervals are to be.")
@click.option("--output", "-o", "outputs", multiple=True, metavar="FILE", help="Also write .md or .json.")
def command(
    work: Workspace, runs: tuple[str, ...], cluster: str | None, outputs: tuple[str, ...], as_json: bool, **rest: object
) -> None:
    """Compare runs case by case: is the second better than the first, worse, the same, or can nobody tell yet?

    Each RUN is an id, the beginning of one, a name, or `latest`; every one after the first is compared with the first.
    Differences in the setup (test set, rubric, judge, simulator, policy) are listed, and cases that flipped are named.

    \b
    howsure compare before after
    howsure compare before after --by area --output compare.md
    howsure compare RUN --candidate small=large
    howsure compare RUN --by agent_name --pair scenario_id
    """
    for path in map(Path, outputs):
        if path.suffix.lower() not in ENDINGS:
            raise PlanRefused(f"--output {path}: the ending must be one of {', '.join(ENDINGS)}")
        if not path.parent.is_dir():
            raise PlanRefused(f"--output {path}: there is no folder {path.parent}")
    request = msgspec.convert({"runs": runs, "cluster": "" if cluster == NONE else cluster, **rest}, CompareRequest)
    comparison = asyncio.run(compare_runs(work, request))
    for path in map(Path, outputs):
        _write(comparison, path)
    if as_json:
        print_json(comparison_shape(comparison))
    else:
        console().print(comparison_report(comparison))
    for output in outputs:
        say(f"written: {output}")


def _write(comparison: Comparison, path: Path) -> None:
    try:
        if path.suffix.lower() == ".json":
            with atomic_bytes(path) as binary:
                binary.write(msgspec.json.format(msgspec.json.encode(comparison_shape(comparison)), indent=2) + b"\n")
        else:
            with atomic_text(path) as file:
                file.write(comparison_markdown(comparison))
    except OSError as error:
        raise PlanRefused(f"--output {path}: cannot be written: {error.strerror}") from error
