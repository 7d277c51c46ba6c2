"""What `run`, `resume` and `retry` share: progress while it runs, the summary and the exit code when it has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click

from howsure.cli.output import CASES_ERRORED, DONE, USER_MUST_ACT, gate_code, gravest, print_json, say
from howsure.cli.parsing import gates, read
from howsure.cli.progress import progress
from howsure.cli.summary import print_summary
from howsure.model.run import RunState
from howsure.model.summary import Summary
from howsure.reports.wire import evaluation_run
from howsure.services.reporting import write_reports
from howsure.services.running import Progress
from howsure.services.runs import Started, Watching
from howsure.services.workspace import Workspace

SHOWN_WARNINGS = 10


def judge_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What may be said of judging, at the start of a run or when it goes on."""
    for option in (
        click.option(
            "--record-judge", type=click.Path(path_type=Path), metavar="FILE", help="Append judge replies to FILE."
        ),
        click.option(
            "--trace", type=click.Path(path_type=Path), metavar="FILE", help="Append every model call to FILE."
        ),
        click.option("--no-cache", "cache", is_flag=True, default=True, flag_value=False, help="Ask models anew."),
    ):
        command = option(command)
    return command


def engine_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--engine",
        type=click.Choice(["local", "ray"]),
        callback=lambda _, __, chosen: chosen or "",
        metavar="local|ray",
        help="Who makes the attempts: this machine (default), or a Ray cluster (docs/scale.md).",
    )(command)


def again_options(command: Callable[..., Any]) -> Callable[..., Any]:
    budget = click.option("--budget", default=None, metavar="AMOUNT", help="A new budget, for all of the run.")
    return gate_option(budget(engine_option(judge_options(command))))


def gate_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """What a run is held to."""
    told = "Hold the run to this (repeatable): pass_rate >= 0.9, p95_latency <= 3s, no_regression vs main by 2% …"
    return click.option("--gate", "gates", multiple=True, callback=read(gates), metavar="EXPR", help=told)(command)


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What becomes of a run's results."""
    quiet = click.option("--quiet", "-q", is_flag=True, help="No progress and no summary.")
    endings = "Also write .html .md .xml .csv .jsonl .parquet … (see `howsure report -h`)."
    output = click.option("--output", "-o", "outputs", multiple=True, metavar="FILE", help=endings)
    return output(quiet(command))


@contextmanager
def watching(*, quiet: bool) -> Iterator[Watching]:
    """Says what starts, shows how far it is, and takes the bar away again whatever happens."""
    with ExitStack() as stack:

        def watch(started: Started) -> Progress:
            run = started.run
            _warn(started.warnings)
            if not quiet:
                judge = run.pins.judge or "none: judged grades will say so"
                say(f"run {run.id[:8]} {run.name!r}: {run.counts.total:,} attempts; target {run.pins.target}")
                say(f"judge: {judge}")
            return stack.enter_context(progress(run.counts.total, started.done, quiet=quiet))

        yield watch


def _warn(warnings: Sequence[str]) -> None:
    for warning in warnings[:SHOWN_WARNINGS]:
        say(f"warning: {warning}")
    if len(warnings) > SHOWN_WARNINGS:
        say(f"warning: … and {len(warnings) - SHOWN_WARNINGS} more (howsure validate shows all)")


def finish(work: Workspace, summary: Summary, outputs: Sequence[str], *, quiet: bool, as_json: bool) -> int:
    asked = tuple(dict.fromkeys(ruling.expression for ruling in summary.gates))
    written = asyncio.run(write_reports(work, summary.run.id, outputs, asked)) if outputs else []
    if as_json:
        print_json(evaluation_run(summary))
    elif not quiet:
        print_summary(work, summary)
    for path in written:
        say(f"written: {path}")
    if summary.run.state is RunState.OUT_OF_BUDGET:
        say(f"The budget was reached: `howsure resume {summary.run.id[:8]} --budget MORE` goes on.")
    return code_of(summary)


def code_of(summary: Summary) -> int:
    """How a run that has ended ends the program."""
    budget = USER_MUST_ACT if summary.run.state is RunState.OUT_OF_BUDGET else DONE
    return gravest(budget, gate_code(summary.gates), CASES_ERRORED if summary.run.counts.errored else DONE)
