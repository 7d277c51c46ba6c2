"""`howsure judge`: calibrate, test, migrate, about."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace
from rich.text import Text

from howsure.cli.exit_codes import DONE, GATE_FAILED, GATE_INCONCLUSIVE
from howsure.cli.interrupts import run_interruptible
from howsure.cli.judge_pairs import drift_command, pairs_command, raters_command
from howsure.cli.options import no_cache_option, parsed_option, read_names
from howsure.cli.output import howsure_command, print_json, say
from howsure.cli.progress import console, print_report, show_progress
from howsure.errors import ConfigInvalid
from howsure.judges.offline.opinions import agreement_rows
from howsure.model.run_request import OFFLINE, RunRequest
from howsure.reports.judge_reports import (
    calibration_line,
    calibration_report,
    corrected_report,
    judge_test_report,
    measurements_report,
    migration_report,
)
from howsure.services.judge.calibrate import CalibrationRequest, calibrate, choose_run
from howsure.services.judge.judge_records import about_judge, save_judge_test
from howsure.services.judge.judge_tests import LIMIT, try_judge
from howsure.services.judge.labels import looks_like_labels
from howsure.services.judge.migrate import MARGIN, MigrationRequest, MigrationSide, migrate, run_judge
from howsure.services.trust import CodeUse
from howsure.services.workspace import Workspace

WHO = "Who judges: offline (default), recorded:FILE, provider:model."


def answer_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Which answers are judged, and with what beside them."""
    for option in (
        click.option(
            "--max-concurrency", "concurrency", type=int, default=None, metavar="N", help="Cases at a time [8]."
        ),
        click.option("--budget", default="", metavar="AMOUNT", help="Most to spend on models: 2USD, 500ktok, 10m."),
        no_cache_option,
        click.option("--profile", default="", metavar="NAME", help="Pass marks to use instead of the cases' own."),
        click.option("--agent", default="", metavar="FILE", help="Who is under test (a BotContext)."),
        click.option("--rubric", default="", metavar="FILE", help="The agent's standing rules."),
        click.option("--candidate", "candidates", multiple=True, metavar="NAME", help="Only this candidate."),
        click.option("--responses", multiple=True, metavar="FILE", help="Recorded answers, or `run:RUN`."),
        click.option("--dialect", default="", metavar="NAME", help="Read the datasets as this dialect."),
    ):
        command = option(command)
    return command


def options_from(work: Workspace, judge: str | None, rest: dict[str, Any]) -> RunRequest:
    chosen = (work.settings.judge or OFFLINE) if judge is None else judge
    options = RunRequest(judge=chosen, batch_criteria=work.settings.batch_criteria, **rest)
    return options if options.concurrency is not None else replace(options, concurrency=work.settings.max_concurrency)


@click.group("judge", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """How far a judge can be trusted: against people's labels, under attack, and compared with a successor."""


@howsure_command("calibrate", code=CodeUse.NEEDED)
@click.argument("files", nargs=-1, metavar="[LABELS] [DATASET...]")
@click.option("--run", default="", metavar="RUN", help="A stored run, instead of datasets to judge now.")
@click.option("--by", default="", metavar="KEY", help="Also by this key of the cases; quality_band needs no labels.")
@click.option("--judge", default=None, metavar="SPEC", help=WHO)
@parsed_option(read_names, "--graders", metavar="A,B", help="With --by alone: only these graders.")
@click.option("--limit", type=int, default=None, metavar="N", help="Only the first N cases.")
@click.option("--evals", multiple=True, metavar="FILE", help="Evals of your own that the labels are about.")
@answer_options
def calibrate_command(
    work: Workspace,
    files: tuple[str, ...],
    run: str,
    by: str,
    judge: str | None,
    evals: tuple[str, ...],
    as_json: bool,
    **rest: Any,
) -> int:
    """Compare a judge's grades with people's LABELS.

    They show how often both agree, beyond chance, criterion by criterion.

    LABELS is JSON lines: case_id, grader, label (a number, true, false, "pass" or "fail"), and, where needed,
    candidate, repeat, criterion_id, annotator, drawn (`howsure label next` writes such lines to fill in).
    The grades are those of --run, or of DATASETs judged now.
    What was measured is kept as a calibration of that judge version; `howsure judge about` shows it.
    """
    labels, datasets = _divided(files, by)
    options = options_from(work, judge, {"datasets": datasets, **rest}) if datasets else None
    if run and judge is not None:
        raise ConfigInvalid("--run has its judge already; --judge goes with datasets")
    request = CalibrationRequest(labels=labels, run=run, options=options, by=by, evals=evals)
    with show_progress(quiet=as_json) as watch:
        name = run_interruptible(work, choose_run(work, request, watch))
    done = run_interruptible(work, calibrate(work, request, name))
    for warning in done.warnings:
        say(f"warning: {warning}")
    print_report(done.calibration, calibration_report, as_json=as_json)
    if not as_json:
        say(f"kept in {done.path}")
    return DONE


def _divided(files: tuple[str, ...], by: str) -> tuple[Path | None, tuple[str, ...]]:
    """LABELS comes first. With --by it may be left out, and then the first file is a dataset."""
    if not files:
        return None, ()
    if by and not looks_like_labels(Path(files[0])):
        return None, files
    return Path(files[0]), files[1:]


@howsure_command("test", code=CodeUse.NEEDED)
@click.argument("datasets", nargs=-1, required=True, metavar="DATASET...")
@click.option("--judge", default=None, metavar="SPEC", help=WHO)
@parsed_option(read_names, "--graders", metavar="A,B|+A,-B", help="As in `howsure run`.")
@click.option("--limit", type=int, default=LIMIT, show_default=True, metavar="N", help="Only the first N cases.")
@answer_options
def test_command(work: Workspace, judge: str | None, as_json: bool, **rest: Any) -> int:
    """Test a judge by changed and by hostile answers.

    Shaken: the same question again, and answers with other spacing, markdown, capitals, padding, words or order of
    criteria. Its verdicts ought not to change. Attacked: an off-topic answer that tells the judge to pass it, in some
    thirty ways. It ought to fail all the same.
    """
    options = options_from(work, judge, rest)
    done = run_interruptible(work, try_judge(work, options, say))
    path = save_judge_test(work, done)
    print_report(done, judge_test_report, as_json=as_json)
    if not as_json:
        say(f"kept in {path}")
    return DONE


@howsure_command("migrate", code=CodeUse.NEEDED)
@click.argument("old")
@click.argument("new")
@click.argument("labels")
@click.argument("datasets", nargs=-1, required=True, metavar="DATASET...")
@click.option("--limit", type=int, default=None, metavar="N", help="Only the first N cases.")
@click.option(
    "--margin",
    default=MARGIN,
    show_default=True,
    metavar="SHARE",
    help="How much less often NEW may agree with people.",
)
@answer_options
def migrate_command(work: Workspace, old: str, new: str, labels: str, margin: float, as_json: bool, **rest: Any) -> int:
    """Tell whether the judge NEW may replace OLD.

    Both judge the same answers and are compared with people's LABELS. NEW may replace OLD if the whole 95 %
    interval says that it agrees with people at most --margin less often than OLD.
    Exit code: 0 it may, 100 it is worse than that, 101 the labels are too few to tell.
    """
    options = options_from(work, "", rest)
    swap = MigrationRequest(old=old, new=new, labels=Path(labels), options=options, margin=margin)
    runs = []
    for which in MigrationSide:
        with show_progress(quiet=as_json) as watch:
            runs.append(run_interruptible(work, run_judge(work, swap, which, watch)))
    done = run_interruptible(work, migrate(work, swap, *runs))
    print_report(done, migration_report, as_json=as_json)
    return {True: DONE, False: GATE_FAILED, None: GATE_INCONCLUSIVE}[done.may_replace]


@howsure_command("about", stores=False, code=CodeUse.OPTIONAL)
@click.argument("spec", metavar="JUDGE")
def about_command(work: Workspace, spec: str, as_json: bool) -> None:
    """Show what has been measured about JUDGE.

    That is every calibration made here, and for `offline` the figures it comes with.
    """
    found = asyncio.run(about_judge(work, spec, dict(os.environ)))
    if as_json:
        print_json(found)
    else:
        shown = console()
        if found.measured:
            shown.print(measurements_report(agreement_rows(found.measured), found.not_measured))
            shown.print(Text())
        for known in found.calibrations:
            shown.print(calibration_line(known.calibration, known.current))
        if not found.calibrations:
            click.echo(f"No calibration of {found.judge} is kept here: `howsure judge calibrate LABELS ...` makes one.")


@howsure_command("correct")
@click.argument("run")
@click.option(
    "--method",
    type=click.Choice(["prediction_powered", "sensitivity_specificity"]),
    default="prediction_powered",
    show_default=True,
    help="How; labels of other cases than the run's allow the second only.",
)
def correct_command(work: Workspace, run: str, method: str, as_json: bool) -> None:
    """Correct the pass rates of RUN by people's labels.

    The labels are those of the newest calibration of its judge. `howsure judge calibrate LABELS --run RUN` makes
    one from labels on some of the run's cases, chosen at random.
    """
    # The numbers library takes a fifth of a second to import: the other commands here do without it.
    correcting = import_module("howsure.services.judge.correct")
    correction = import_module("howsure.stats.rate_correction").Correction(method)
    found = asyncio.run(correcting.correct_rates(work, run, correction))
    print_report(found, corrected_report, as_json=as_json)


for each in (
    calibrate_command,
    test_command,
    migrate_command,
    about_command,
    correct_command,
    pairs_command,
    raters_command,
    drift_command,
):
    command.add_command(each)
