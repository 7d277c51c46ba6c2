"""`howsure demo`."""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from howsure.cli.interrupts import run_interruptible
from howsure.cli.output import howsure_command, print_json
from howsure.cli.progress import console
from howsure.errors import ConfigInvalid
from howsure.model.summary import Summary
from howsure.reports.evaluations import evaluation_run
from howsure.reports.figures import pass_rate_of
from howsure.services.demo import Demo, demo_commands, run_demos
from howsure.services.workspace import Workspace

PAGES = Path(".howsure/demo")


@howsure_command("demo")
def command(work: Workspace, as_json: bool) -> None:
    """Run the demo: one invented company, one dataset for each of the five dialects, no model and no network.

    Good, bad and broken answers are all in there: some cases pass, some fail, some cannot be judged, and each says why.
    """
    try:
        # No progress is shown.
        done = run_interruptible(work, run_demos(work, lambda _: lambda results: None, PAGES))
    except OSError as error:
        raise ConfigInvalid(
            f"{PAGES}: cannot be written: {error.strerror}; run the demo in a folder of yours"
        ) from error
    if as_json:
        print_json([evaluation_run(summary) for _, summary, _ in done])
    else:
        console().print(_table(done))
        _next(done)


def _table(done: list[tuple[Demo, Summary, Path]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("dialect", "cases", "passed", "failed", "errored", "skipped", "pass rate [95 %]"):
        table.add_column(heading)
    for demo, summary, _ in done:
        counts = summary.run.counts
        rate = pass_rate_of(counts)
        numbers = (counts.total, counts.passed, counts.failed, counts.errored, counts.skipped)
        shown = f"{rate.percent} [{rate.bounds}]" if rate.judged else "none judged"
        table.add_row(demo.dialect, *(f"{number:,}" for number in numbers), Text(shown))
    return table


def _next(done: list[tuple[Demo, Summary, Path]]) -> None:
    first, summary, page = done[-1]
    click.echo(f"\nreport: {page.resolve()}")
    click.echo("        (opens in a browser, offline; those of the other datasets lie beside it)\n")
    click.echo("What to try next:")
    for text, why in (
        (f"howsure show {summary.run.id[:8]}", "this run in numbers, with the cases to look at"),
        ("howsure runs", "all runs"),
        (" ".join(demo_commands(first)), "the same run, by hand"),
        ("howsure validate YOUR-FILE", "is your own data readable? every problem at once"),
        ("howsure run YOUR-FILE --output report.html", "and what does it say?"),
        ("howsure serve", "these runs as pages: then open http://127.0.0.1:8002"),
    ):
        click.echo(f"  {text}\n      {why}")
