"""`howsure plan`."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from howsure.cli.options import option_callback, read_share, read_whole_numbers
from howsure.cli.output import howsure_command, print_json
from howsure.cli.summary import console
from howsure.reports.sizing_report import sizing_report, sizing_shape
from howsure.services.sample_size import REPEATS, SampleSizeRequest, plan_sample_size
from howsure.services.workspace import Workspace


@howsure_command("plan")
@click.option(
    "--difference",
    required=True,
    callback=option_callback(read_share),
    metavar="SHARE",
    help="The difference to see: 5% or 0.05.",
)
@click.option(
    "--rate",
    default=None,
    callback=option_callback(read_share),
    metavar="SHARE",
    help="The pass rate to start from [80%].",
)
@click.option(
    "--power",
    default="80%",
    show_default=True,
    callback=option_callback(read_share),
    metavar="SHARE",
    help="The chance to see it.",
)
@click.option("--paired", is_flag=True, help="Both runs try the same cases (as `howsure compare` takes them).")
@click.option(
    "--from", "runs", multiple=True, metavar="RUN", help="Learn from this run; twice: count where the two differ."
)
@click.option("--candidate", default=None, metavar="NAME", help="The candidate of --from, where it has several.")
@click.option(
    "--discordance",
    default=None,
    callback=option_callback(read_share),
    metavar="SHARE",
    help="Cases on which paired runs differ.",
)
@click.option(
    "--correlation", type=float, default=None, metavar="R", help="How alike two tries of one case are, 0 to 1."
)
@click.option(
    "--repeats",
    default=",".join(map(str, REPEATS)),
    show_default=True,
    callback=option_callback(read_whole_numbers),
    metavar="N,M",
    help="Tries of each case to plan for.",
)
def command(work: Workspace, difference: float, rate: float | None, power: float, as_json: bool, **rest: Any) -> None:
    """How many cases, and tries of each, does it take to see a difference between two runs?

    With --from RUN the pass rate, and from its repeats how often a case comes out differently by chance, are those of
    that run; what is not known is assumed, and listed.
    """
    found = asyncio.run(
        plan_sample_size(work, SampleSizeRequest(difference=difference, rate=rate, power=power, **rest))
    )
    if as_json:
        print_json(sizing_shape(found))
    else:
        console().print(sizing_report(found))
