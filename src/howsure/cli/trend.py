"""`howsure trend`."""

from __future__ import annotations

import asyncio

import click

from howsure.cli.options import MAX_LIMIT
from howsure.cli.output import howsure_command
from howsure.cli.progress import print_report
from howsure.reports.history_report import history_report, history_shape
from howsure.services.trend import ENOUGH, TrendQuery, run_history
from howsure.services.workspace import Workspace


@howsure_command("trend")
@click.argument("agent", default="")
@click.option("--dataset", default="", metavar="NAME", help="The runs over this dataset (file or test set name).")
@click.option("--candidate", default=None, metavar="NAME", help="Only this candidate.")
@click.option(
    "--limit", type=click.IntRange(1, MAX_LIMIT), default=ENOUGH, show_default=True, metavar="N", help="The newest N."
)
def command(work: Workspace, agent: str, dataset: str, candidate: str | None, limit: int, as_json: bool) -> None:
    """The completed runs of AGENT (its id, or a name that runs share) over time: pass rate and graders.

    A change is reported where chance alone would rarely make it. Runs that changed in more than the agent
    (judge, rubric, test set, pass marks) are marked: what changed there may not be the agent.
    """
    found = asyncio.run(run_history(work, TrendQuery(whose=agent, dataset=dataset, candidate=candidate, limit=limit)))
    print_report(found, history_report, history_shape, as_json=as_json)
