"""`assay runs`."""

from __future__ import annotations

import asyncio

import click
from rich.table import Table
from rich.text import Text

from assay.cli.output import assay_command, print_json
from assay.cli.summary import console
from assay.model.run import Run, RunState
from assay.model.summary import Summary
from assay.reports.figures import Rate
from assay.reports.wire import evaluation_run
from assay.services.workplace import Workplace


@assay_command("runs")
@click.option("--limit", default=20, show_default=True, metavar="N", help="The newest N.")
@click.option("--agent-id", default=None, metavar="ID", help="Only runs of this agent.")
@click.option("--state", type=click.Choice([each.value for each in RunState]), help="Only runs in this state.")
def command(
    work: Workplace,
    limit: int,
    agent_id: str | None,
    state: str | None,
    as_json: bool,
) -> None:
    """List the runs, newest first."""
    found = asyncio.run(_runs(work, limit, agent_id, RunState(state) if state else None))
    if as_json:
        print_json([evaluation_run(summary) for summary in found])
    elif found:
        console().print(_table([summary.run for summary in found]))
    else:
        click.echo("No runs yet. `assay demo` makes some; `assay run DATASET` makes yours.")


async def _runs(work: Workplace, limit: int, agent_id: str | None, state: RunState | None) -> list[Summary]:
    async with await work.store() as store:
        return [await store.summary(run.id) for run in await store.runs(limit=limit, agent_id=agent_id, state=state)]


def _table(runs: list[Run]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in (
        "run",
        "name",
        "started",
        "state",
        "pass rate",
        "passed",
        "failed",
        "errored",
        "skipped",
        "pending",
    ):
        table.add_column(heading)
    for run in runs:
        counts = run.counts
        numbers = (counts.passed, counts.failed, counts.errored, counts.skipped, counts.pending)
        rate = Rate(counts.passed, counts.passed + counts.failed)
        table.add_row(
            run.id[:8],
            Text(run.name),
            (run.started_at or run.created_at).strftime("%Y-%m-%d %H:%M UTC"),
            run.state.value,
            f"{rate.percent} [{rate.bounds}]" if rate.judged else "none judged",
            *(f"{number:,}" for number in numbers),
        )
    return table
