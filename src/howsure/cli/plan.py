"""`howsure plan`."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from howsure.cli.options import parsed_option, read_share, read_whole_numbers
from howsure.cli.output import howsure_command
from howsure.cli.progress import print_report
from howsure.reports.sizing_report import sizing_report, sizing_shape
from howsure.services.sample_size import REPEATS, SampleSizeRequest, plan_sample_size
from howsure.services.workspace import Workspace


@howsure_command("plan")
@parsed_option(read_share, "--difference", required=True, metavar="SHARE", help="The difference to see: 5% or 0.05.")
@parsed_option(read_share, "--rate", default=None, metavar="SHARE", help="The pass rate to start from [80%].")
@parsed_option(read_share, "--power", default="80%", show_default=True, metavar="SHARE", help="The chance to see it.")
@click.option("--paired", is_flag=True, help="Both runs try the same cases (as `howsure compare` takes them).")
@click.option(
    "--from", "runs", multiple=True, metavar="RUN", help="Learn from this run; twice: count where the two differ."
)
@click.option("--candidate", default=None, metavar="NAME", help="The candidate of --from, where it has several.")
@parsed_option(read_share, "--discordance", default=None, metavar="SHARE", help="Cases on which paired runs differ.")
@click.option(
    "--correlation", type=float, default=None, metavar="R", help="How alike two tries of one case are, 0 to 1."
)
@parsed_option(
    read_whole_numbers,
    "--repeats",
    default=",".join(map(str, REPEATS)),
    show_default=True,
    metavar="N,M",
    help="Tries of each case to plan for.",
)
def command(work: Workspace, difference: float, rate: float | None, power: float, as_json: bool, **rest: Any) -> None:
    """How many cases, and tries of each, does it take to see a difference between two runs?

    With --from RUN the pass rate, and from its repeats how often a case comes out differently by chance, are those of
    that run; what is not known is assumed, and listed.
    """
    request = SampleSizeRequest(difference=difference, rate=rate, power=power, **rest)
    found = asyncio.run(plan_sample_size(work, request))
    print_report(found, sizing_report, sizing_shape, as_json=as_json)
