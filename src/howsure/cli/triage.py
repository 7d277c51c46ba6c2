"""`howsure triage`."""

from __future__ import annotations

from pathlib import Path

import click

from howsure.cli.exit_codes import CASES_ERRORED, DONE
from howsure.cli.options import no_cache_option
from howsure.cli.output import howsure_command, print_json, say, with_runs
from howsure.cli.progress import console
from howsure.errors import ConfigInvalid
from howsure.model.run_request import OFFLINE, RunRequest
from howsure.model.triage import Triage
from howsure.reports.atomic_files import atomic_text
from howsure.reports.triage_report import triage_markdown, triage_report
from howsure.services.triage.root_causes import triage_with_report
from howsure.services.trust import CodeUse
from howsure.services.workspace import Workspace

ENDINGS = (".md", ".markdown")


@howsure_command("triage", code=CodeUse.OPTIONAL)
@click.argument("run", default="latest")
@click.option(
    "--judge",
    default=None,
    metavar="SPEC",
    help="Who writes the root causes: offline (none), recorded:FILE, provider:model.",
)
@click.option("--record-judge", "record", default="", metavar="FILE", help="Append the judge's reply to FILE.")
@click.option("--budget", default="", metavar="AMOUNT", help="Most to spend on the judge: 2USD, 500ktok, 10m.")
@no_cache_option
@click.option("--output", "-o", default="", metavar="FILE.md", help="Write it as Markdown.")
def command(
    work: Workspace, run: str, judge: str | None, record: str, budget: str, cache: bool, output: str, as_json: bool
) -> int:
    """Why did the failed and errored results of RUN not pass, and who is answerable?

    Each is given one cause and one party (agent, evaluation, test design, retrieval, simulator, environment, judge),
    with a word on how sure that is. P1 mends the evaluation, P2 the agent, P3 what it searches. Where criteria and
    rules disagree, the report says so. With a judge model, the root causes are written out; claims that cite no case of
    the run are left out and counted. RUN may also be a file of another tool's results, which is read and not stored.

    Exit code: 0, or 3 when a judge was asked and no report came of it.
    """
    # Before a judge is asked and paid for.
    if output and Path(output).suffix.lower() not in ENDINGS:
        raise ConfigInvalid(f"--output {output}: the ending must be .md")
    if output and not Path(output).parent.is_dir():
        raise ConfigInvalid(f"--output {output}: there is no folder {Path(output).parent}")
    chosen = (work.settings.judge or OFFLINE) if judge is None else judge
    request = RunRequest(judge=chosen, budget=budget, cache=cache, record_judge=record)
    triage = with_runs(work, [run], lambda place, called: triage_with_report(place, called[0], request))
    if as_json:
        print_json(triage)
    elif not output:
        console().print(triage_report(triage))
    if output:
        _write(triage, Path(output))
    return CASES_ERRORED if triage.written.judge and triage.written.note else DONE


def _write(triage: Triage, path: Path) -> None:
    try:
        with atomic_text(path) as file:
            file.write(triage_markdown(triage))
    except OSError as error:
        raise ConfigInvalid(f"--output {path}: cannot be written: {error.strerror}") from error
    say(f"written: {path}")
