"""`howsure ci`."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import click
import msgspec

from howsure.cli.exit_codes import DONE, GATE_INCONCLUSIVE
from howsure.cli.options import gate_option
from howsure.cli.output import howsure_command, print_json, say
from howsure.reports.run_facts import gate_name, gate_shape
from howsure.reports.safe_text import one_line
from howsure.services.ci.check import CiRequest, CiResult, RunStopped, check_change, write_outputs
from howsure.services.ci.forges import detect_forge
from howsure.services.trust import CodeUse
from howsure.services.workspace import Workspace


@howsure_command("ci", code=CodeUse.NEEDED)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="DATASET... [RUN OPTIONS]")
@click.option("--base", default="", metavar="REF", help="The branch to compare with [the pull request's].")
@click.option("--base-run", default="", metavar="RUN", help="Compare with this stored run instead of running the base.")
@gate_option
@click.option("--inconclusive-ok", is_flag=True, help="Exit with 0 where a gate cannot be decided yet (not 101).")
@click.option("--comment", default="howsure-comment.md", show_default=True, metavar="FILE", help="Where to write it.")
@click.option("--report", default="howsure-report.html", show_default=True, metavar="FILE", help="The page to upload.")
def command(work: Workspace, inconclusive_ok: bool, as_json: bool, **rest: Any) -> int:
    """Check a proposed change: run the base branch and the change, compare, write a comment, and gate.

    What follows is given to `howsure run`, on both sides; the base is checked out beside the change as it was. Without
    any gate (here or in howsure.yaml) the change is held to `no_regression vs BASE by 5%`. The comment is posted by
    `howsure comment`, in a job that runs nothing of the change.

    \b
    howsure ci cases.jsonl --target function:bot.py:answer --base main
    howsure ci cases.jsonl --target agent --gate "pass_rate >= 0.8"
    """
    # Settings and plug-ins are those of both sides.
    params = click.get_current_context().params
    config = ["--config", params["config"]] if params.get("config") else []
    config += ["--no-config"] if params.get("no_config") else []
    plugins = [word for file in params.get("plugins", ()) for word in ("--plugin", file)]
    request = msgspec.convert({**rest, "words": (*rest["words"], *config, *plugins)}, CiRequest)
    try:
        checked = asyncio.run(check_change(work, request, detect_forge(os.environ), say))
    except RunStopped as stopped:
        say(f"error: {stopped}")
        return stopped.code
    write_outputs(checked, os.environ)
    code = DONE if inconclusive_ok and checked.code == GATE_INCONCLUSIVE else checked.code
    if code != checked.code:
        say("howsure ci: a gate cannot be decided yet, and that is let pass")
    checked = msgspec.structs.replace(checked, code=code)
    if as_json:
        print_json(_shape(checked))
    else:
        _tell(checked)
    return code


command.context_settings["ignore_unknown_options"] = True


def _tell(checked: CiResult) -> None:
    click.echo(one_line(checked.sentence))
    for ruling in checked.gates:
        click.echo(f"{ruling.outcome.value}: {one_line(gate_name(ruling))}: {one_line(ruling.reason)}")
    say(f"written: {checked.comment}, {checked.report}")


def _shape(checked: CiResult) -> dict[str, Any]:
    return {
        "exit_code": checked.code,
        "sentence": checked.sentence,
        "run_id": checked.run.id,
        "base_run_id": checked.base.id if checked.base else None,
        "gates": [gate_shape(ruling) for ruling in checked.gates],
        "comment": checked.comment,
        "report": checked.report,
    }
