"""`howsure runs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from howsure.cli.options import MAX_LIMIT
from howsure.cli.output import howsure_command, print_json, with_store
from howsure.cli.progress import console
from howsure.errors import NotFound
from howsure.model.run import Run, RunState
from howsure.model.summary import Summary
from howsure.reports.document import ReportDocument, Table
from howsure.reports.evaluations import evaluation_run
from howsure.reports.run_report import counts_table
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

    async def read(store: Store) -> list[Summary]:
        runs = await store.runs(limit=limit, agent_id=agent_id, states=[RunState(state)] if state else ())
        if as_json:
            return [await rule_on_gates(store, await store.summary(run.id)) for run in runs]
        return await store.summaries(runs)

    try:
        summaries = with_store(work, read, read_only=True)
    except NotFound:
        summaries = []
    if as_json:
        print_json([evaluation_run(summary) for summary in summaries])
    elif summaries:
        console().print(ReportDocument([_table([each.run for each in summaries])]))
    elif agent_id or state:
        click.echo("No run matches.")
    else:
        click.echo("No runs yet. `howsure demo` makes some; `howsure run DATASET` makes yours.")


def _table(runs: list[Run]) -> Table:
    """Counts that are zero in every run are not shown, nor the state when all are completed."""
    unfinished = any(run.state is not RunState.COMPLETED for run in runs)
    moments = [(run.started_at or run.created_at).strftime("%m-%d %H:%M") for run in runs]
    named = [
        ([run.id[:8], run.name, moment, *([run.state.value] if unfinished else [])], run.counts)
        for run, moment in zip(runs, moments, strict=True)
    ]
    return counts_table(["run", "name", "started (UTC)", *(["state"] if unfinished else [])], named, ranges=False)
