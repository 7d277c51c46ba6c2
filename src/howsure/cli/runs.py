"""`howsure runs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.console import JustifyMethod
from rich.table import Table
from rich.text import Text

from howsure.cli.options import MAX_LIMIT
from howsure.cli.output import howsure_command, print_json, with_store
from howsure.cli.summary import console
from howsure.errors import NotFound
from howsure.model.run import Run, RunState
from howsure.model.summary import Summary
from howsure.reports.evaluations import evaluation_run
from howsure.reports.figures import pass_rate_of
from howsure.reports.safe_text import one_line
from howsure.services.gate.gate import rule_on_gates
from howsure.services.workspace import Workspace

if TYPE_CHECKING:
    from howsure.store.store import Store


@howsure_command("runs")
@click.option(
    "--limit", type=click.IntRange(1, MAX_LIMIT), default=20, show_default=True, metavar="N", help="The newest N."
)
@click.option("--agent-id", default=None, metavar="ID", help="Only runs of this agent.")
@click.option("--state", type=click.Choice([each.value for each in RunState]), help="Only runs in this state.")
def command(work: Workspace, limit: int, agent_id: str | None, state: str | None, as_json: bool) -> None:
    """List the runs, newest first."""

    async def read(store: Store) -> tuple[list[Run], list[Summary]]:
        runs = await store.runs(limit=limit, agent_id=agent_id, states=[RunState(state)] if state else ())
        summaries = [await rule_on_gates(store, await store.summary(run.id)) for run in runs] if as_json else []
        return runs, summaries

    try:
        runs, summaries = with_store(work, read, read_only=True)
    except NotFound:
        runs, summaries = [], []
    if as_json:
        print_json([evaluation_run(summary) for summary in summaries])
    elif runs:
        console().print(_table(runs))
    elif agent_id or state:
        click.echo("No run is like that.")
    else:
        click.echo("No runs yet. `howsure demo` makes some; `howsure run DATASET` makes yours.")


def _table(runs: list[Run]) -> Table:
    """Counts that are zero in every run are not shown, nor the state when all are completed."""
    kinds = [
        kind
        for kind in ("passed", "failed", "errored", "skipped", "pending")
        if any(getattr(run.counts, kind) for run in runs)
    ]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    unfinished = any(run.state is not RunState.COMPLETED for run in runs)
    for heading in ("run", "name", "started (UTC)", *(["state"] if unfinished else []), *kinds, "pass rate [95 %]"):
        least = 12 if heading == "name" else None
        side: JustifyMethod = "right" if heading in kinds else "left"
        table.add_column(heading, no_wrap=heading != "name", justify=side, min_width=least)
    for run in runs:
        rate = pass_rate_of(run.counts)
        table.add_row(
            run.id[:8],
            Text(one_line(run.name)),
            (run.started_at or run.created_at).strftime("%m-%d %H:%M"),
            *([run.state.value] if unfinished else []),
            *(f"{getattr(run.counts, kind):,}" for kind in kinds),
            f"{rate.percent} [{rate.bounds}]" if rate.judged else "none judged",
        )
    return table
