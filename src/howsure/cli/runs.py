"""`howsure runs`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import click
from rich.console import JustifyMethod
from rich.table import Table
from rich.text import Text

from howsure.cli.options import MAX_LIMIT
from howsure.cli.output import howsure_command, print_json
from howsure.cli.summary import console
from howsure.errors import NotFound
from howsure.model.run import Run, RunState
from howsure.model.summary import Summary
from howsure.reports.evaluations import evaluation_run
from howsure.reports.figures import pass_rate_of
from howsure.reports.safe_text import one_line
from howsure.services.gate.gate import rule_on_gates
from howsure.services.workspace import Workspace


@howsure_command("runs")
@click.option(
    "--limit", type=click.IntRange(1, MAX_LIMIT), default=20, show_default=True, metavar="N", help="The newest N."
)
@click.option("--agent-id", default=None, metavar="ID", help="Only runs of this agent.")
@click.option("--state", type=click.Choice([each.value for each in RunState]), help="Only runs in this state.")
def command(
    work: Workspace,
    limit: int,
    agent_id: str | None,
    state: str | None,
    as_json: bool,
) -> None:
    """List the runs, newest first."""
    chosen = RunState(state) if state else None
    try:
        found = asyncio.run(_runs(work, limit, agent_id, chosen, full=as_json))
    except NotFound:
        found = []
    if as_json:
        print_json([evaluation_run(each) for each in found if isinstance(each, Summary)])
    elif found:
        console().print(_table([each for each in found if isinstance(each, Run)]))
    elif agent_id or state:
        click.echo("No run is like that.")
    else:
        click.echo("No runs yet. `howsure demo` makes some; `howsure run DATASET` makes yours.")


async def _runs(
    work: Workspace, limit: int, agent_id: str | None, state: RunState | None, *, full: bool
) -> Sequence[Run | Summary]:
    """The runs with their counts; or, `full`, with all that was counted."""
    async with await work.store(read_only=True) as store:
        runs = await store.runs(limit=limit, agent_id=agent_id, states=[state] if state else ())
        return [await rule_on_gates(store, await store.summary(run.id)) for run in runs] if full else runs


def _table(runs: list[Run]) -> Table:
    """Counts that are zero in every run are not shown, nor the state when all are completed."""
    kinds = [kind for kind in ("passed", "failed", "errored", "skipped", "pending") if _any(runs, kind)]
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


def _any(runs: list[Run], kind: str) -> bool:
    return any(getattr(run.counts, kind) for run in runs)
