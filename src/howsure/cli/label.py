"""`howsure label`: which answers people label next, and keeping what they say."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click
import msgspec

from howsure.cli.options import labels_option
from howsure.cli.output import howsure_command, print_json, say
from howsure.errors import PlanRefused
from howsure.reports.atomic_files import atomic_bytes
from howsure.reports.figures import pluralize
from howsure.reports.safe_text import one_line
from howsure.services.host.label_draws import LabelDraw, draw_next, save_labels
from howsure.services.judge.draw_labels import DrawKind
from howsure.services.workspace import Workspace

SHOWN = 40
NEXT = "Fill in `label` (pass or fail), then: howsure judge calibrate {file} --run {run}"


@click.group("label", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """People's labels: which answers to label next, and keeping them."""


@howsure_command("next")
@click.argument("run", default="latest")
@click.option("--number", "-n", default=20, show_default=True, metavar="N", help="How many answers.")
@click.option(
    "--by",
    type=click.Choice([kind.value for kind in DrawKind]),
    default=DrawKind.VERDICT.value,
    show_default=True,
    help="What makes an answer likelier: nothing, a rare verdict, or a grade near its pass mark.",
)
@labels_option
@click.option("--output", "-o", default="", metavar="FILE", help="Write the lines to fill in, with the answers.")
def next_command(
    work: Workspace, run: str, number: int, by: str, labels: tuple[str, ...], output: str, as_json: bool
) -> None:
    """Draw the answers of RUN to label next.

    They are drawn at random, each with a probability that is stored with its label. Labels of hand-picked answers
    tell nothing about the others; these do, and correct the judge: `howsure judge correct`, `howsure gate
    --labels`, `howsure compare --labels`. Answers that are labelled already, in the database or in --labels, are
    not drawn again.

    \b
    howsure label next RUN --number 40 -o labels.jsonl
    howsure label next RUN --by doubt --labels labels.jsonl -o more.jsonl
    """
    drawn = asyncio.run(draw_next(work, run, number, DrawKind(by), labels))
    lines = [msgspec.json.encode(each) for each in drawn.lines()]
    if output:
        try:
            with atomic_bytes(Path(output)) as file:
                file.write(b"".join(line + b"\n" for line in lines))
        except OSError as error:
            raise PlanRefused(f"--output {output}: cannot be written: {error.strerror}") from error
    if as_json:
        counts = {"run_id": drawn.run, "answers": drawn.answers, "labelled": drawn.before, "of": drawn.all}
        print_json({**counts, "questions": [msgspec.json.decode(line) for line in lines]})
        return
    _print(drawn)
    if output:
        say(f"written: {output}. " + NEXT.format(file=output, run=drawn.run[:8]))


def _print(drawn: LabelDraw) -> None:
    click.echo(
        f"{pluralize(drawn.answers, 'answer')} to label, {pluralize(len(drawn.questions), 'question')}"
        f" ({drawn.before:,} of {drawn.all:,} are labelled already)"
    )
    for line in drawn.lines()[:SHOWN]:
        who = f" {line.candidate}" if line.candidate else ""
        again = f" repeat {line.repeat}" if line.repeat > 1 else ""
        click.echo("  " + one_line(f"{line.case_id}{who}{again}: {line.question}", 77))
    if len(drawn.questions) > SHOWN:
        click.echo(f"  … and {len(drawn.questions) - SHOWN:,} more: -o FILE writes them all")


@howsure_command("save")
@click.argument("file")
@click.argument("run", default="latest")
def save_command(work: Workspace, file: str, run: str, as_json: bool) -> None:
    """Store the labels of FILE, as labels of RUN.

    The pages show them, and `--labels stored` uses them. A label by the same person on the same grade replaces the
    earlier one.
    """
    number = asyncio.run(save_labels(work, Path(file), run))
    if as_json:
        print_json({"labels": number})
    else:
        click.echo(f"{pluralize(number, 'label')} kept")


for each in (next_command, save_command):
    command.add_command(each)
