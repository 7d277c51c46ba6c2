"""`howsure compare`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click
import msgspec

from howsure.cli.options import labels_option, option_callback, parsed_option, storable_text, storable_texts
from howsure.cli.output import howsure_command, print_json, say, with_runs
from howsure.cli.progress import print_report
from howsure.errors import ConfigInvalid, PlanRefused
from howsure.model.comparison import Comparison
from howsure.reports.atomic_files import atomic_bytes, atomic_text
from howsure.reports.comparisons import comparison_markdown, comparison_report, comparison_shape
from howsure.reports.document import markdown
from howsure.reports.judge_reports import corrected_differences_report
from howsure.services.compare.compare import CompareRequest, compare_runs
from howsure.services.compare.label_correction import CorrectedDifference, correct_comparison
from howsure.services.compare.watch import watch_difference
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
@parsed_option(storable_texts, "--by", multiple=True, metavar="LABEL", help="Also by this label of the cases.")
@parsed_option(storable_text, "--pair", default="", metavar="LABEL", help="Inside one RUN: pair groups by this.")
@parsed_option(storable_text, "--base", default="", metavar="VALUE", help="With --pair: the group to start from.")
@parsed_option(
    read_candidate_pairs,
    "--candidate",
    "candidates",
    multiple=True,
    metavar="A=B",
    help="The first run's candidate A with the other's B [the same names].",
)
@parsed_option(
    storable_text,
    "--cluster",
    default=None,
    metavar="LABEL",
    help="Cases with one value of LABEL belong together [explain: scenario_id; `none`].",
)
@click.option(
    "--margin", default=0.05, show_default=True, metavar="SHARE", help="A difference up to this counts as none."
)
@click.option("--confidence", default=0.95, show_default=True, metavar="SHARE", help="How sure intervals are to be.")
@labels_option
@click.option("--output", "-o", "outputs", multiple=True, metavar="FILE", help="Also write .md or .json.")
@click.option("--watch", "watched", is_flag=True, help="Look while two runs go on, until it is sure or they end.")
def command(
    work: Workspace,
    runs: tuple[str, ...],
    cluster: str | None,
    labels: tuple[str, ...],
    outputs: tuple[str, ...],
    watched: bool,
    as_json: bool,
    **rest: object,
) -> None:
    """Compare runs case by case: is the second better than the first, worse, the same, or is it too early to tell?

    Each RUN is an id, the beginning of one, a name, or `latest`, or a file of another tool's results, which is read and
    not stored (`howsure import` stores it); every one after the first is compared with the first.
    Differences in the setup (test set, rubric, judge, simulator, policy) are listed, and cases that flipped are named.

    \b
    howsure compare before after
    howsure compare before after --by area --output compare.md
    howsure compare before.eval after.eval
    howsure compare RUN --candidate small=large
    howsure compare RUN --by agent_name --pair scenario_id
    howsure compare before after --labels labels.jsonl
    howsure compare before after --watch
    """
    for path in map(Path, outputs):
        if path.suffix.lower() not in ENDINGS:
            raise PlanRefused(f"--output {path}: the ending must be one of {', '.join(ENDINGS)}")
        if not path.parent.is_dir():
            raise PlanRefused(f"--output {path}: there is no folder {path.parent}")
    request = msgspec.convert({"runs": runs, "cluster": "" if cluster == NONE else cluster, **rest}, CompareRequest)
    if watched:
        found = asyncio.run(watch_difference(work, request, lambda seen: say(str(seen))))
        if as_json:
            print_json({"differences": found})
        else:
            click.echo("\n".join(map(str, found)))
        return

    async def compare(place: Workspace, called: list[str]) -> tuple[Comparison, tuple[CorrectedDifference, ...]]:
        compared = await compare_runs(place, msgspec.structs.replace(request, runs=tuple(called)))
        return compared, await correct_comparison(place, compared, labels) if labels else ()

    comparison, people = with_runs(work, runs, compare)
    for path in map(Path, outputs):
        _write(comparison, people, path)
    if as_json:
        print_json(_shape(comparison, people))
    else:
        print_report(comparison, comparison_report, as_json=False)
        if people:
            print_report(people, corrected_differences_report, as_json=False)
    for output in outputs:
        say(f"written: {output}")


def _shape(comparison: Comparison, people: tuple[CorrectedDifference, ...]) -> dict[str, object]:
    shape = comparison_shape(comparison)
    return {**shape, "people": msgspec.to_builtins(people)} if people else shape


def _write(comparison: Comparison, people: tuple[CorrectedDifference, ...], path: Path) -> None:
    try:
        if path.suffix.lower() == ".json":
            with atomic_bytes(path) as binary:
                binary.write(msgspec.json.format(msgspec.json.encode(_shape(comparison, people)), indent=2) + b"\n")
        else:
            with atomic_text(path) as file:
                corrected = f"\n{markdown(corrected_differences_report(people).blocks)}" if people else ""
                file.write(comparison_markdown(comparison) + corrected)
    except OSError as error:
        raise PlanRefused(f"--output {path}: cannot be written: {error.strerror}") from error
