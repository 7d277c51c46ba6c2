"""`howsure gate`."""

from __future__ import annotations

import asyncio

import click

from howsure.cli.exit_codes import gate_exit_code
from howsure.cli.options import gate_option
from howsure.cli.output import howsure_command, print_json
from howsure.cli.summary import console
from howsure.errors import ConfigInvalid
from howsure.reports.evaluations import evaluation_run
from howsure.reports.run_report import gate_report
from howsure.services.gate.gate import decide_gates
from howsure.services.workspace import Workspace


@howsure_command("gate")
@click.argument("run", default="latest")
@gate_option
def command(work: Workspace, run: str, gates: tuple[str, ...], as_json: bool) -> int:
    """Hold RUN (an id, a unique prefix, a name, or `latest`) to gates, without running anything again.

    Without --gate, to those it was started with, or else to those of howsure.yaml. A gate is decided on the whole 95 %
    interval, not on the value alone. Exit code: 0 all held, 100 one failed, 101 none failed but one is inconclusive.
    """
    summary = asyncio.run(decide_gates(work, run, gates))
    if not summary.gates:
        raise ConfigInvalid(
            f"run {summary.run.name!r} has no gate: say what to hold it to, such as --gate 'pass_rate >= 0.9'"
        )
    if as_json:
        print_json(evaluation_run(summary))
    else:
        console().print(gate_report(summary))
    return gate_exit_code(summary.gates)
