"""`howsure gate`."""

from __future__ import annotations

import click

from howsure.cli.exit_codes import gate_exit_code
from howsure.cli.options import gate_option, labels_option
from howsure.cli.output import howsure_command, with_runs
from howsure.cli.progress import print_report
from howsure.errors import ConfigInvalid, PlanRefused
from howsure.reports.evaluations import evaluation_run
from howsure.reports.run_report import gate_report
from howsure.services.gate.gate import decide_gates
from howsure.services.workspace import Workspace


@howsure_command("gate")
@click.argument("run", default="latest")
@gate_option
@labels_option
@click.option("--anytime", is_flag=True, help="With intervals that hold however often one looks.")
def command(
    work: Workspace, run: str, gates: tuple[str, ...], labels: tuple[str, ...], anytime: bool, as_json: bool
) -> int:
    """Hold RUN (an id, a unique prefix, a name, `latest`, or a file of another tool's results) to gates: nothing is run
    again.

    Without --gate, to those it was started with, or else to those of howsure.yaml. A gate is decided on the whole 95 %
    interval, not on the value alone. With --labels, pass rates are decided by what people would say, from labels on
    some answers; the judge's own ruling is told beside it. Exit code: 0 all held, 100 one failed, 101 none failed but
    one is inconclusive.
    """
    if labels and anytime:
        raise PlanRefused("--labels and --anytime do not go together: labels are drawn from a run that has ended")
    summary = with_runs(
        work, [run], lambda place, called: decide_gates(place, called[0], gates, labels, anytime=anytime)
    )
    if gates and not summary.run.counts.total:
        raise PlanRefused(f"run {summary.run.name!r} has no results: there is nothing to hold to a gate")
    if not summary.gates:
        raise ConfigInvalid(
            f"run {summary.run.name!r} has no gate: say what to hold it to, such as --gate 'pass_rate >= 0.9'"
        )
    print_report(summary, gate_report, evaluation_run, as_json=as_json)
    return gate_exit_code(summary.gates)
