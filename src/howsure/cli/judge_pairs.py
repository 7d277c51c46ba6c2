"""`howsure judge pairs`, `howsure judge raters` and `howsure judge drift`."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from howsure.cli.exit_codes import CASES_ERRORED, DONE, GATE_FAILED, GATE_INCONCLUSIVE
from howsure.cli.interrupts import run_interruptible
from howsure.cli.options import no_cache_option
from howsure.cli.output import howsure_command, say
from howsure.cli.progress import print_report, show_progress
from howsure.model.run_request import RunRequest
from howsure.reports.leaderboards import drift_report, pairs_report, raters_report
from howsure.services.judge.pairs import judge_pairs
from howsure.services.run.start import apply_settings
from howsure.services.trust import CodeUse
from howsure.services.workspace import Workspace


@howsure_command("pairs", code=CodeUse.NEEDED)
@click.argument("runs", nargs=-1, required=True, metavar="RUN [RUN...]")
@click.option("--judge", default="", metavar="SPEC", help="Who compares: recorded:FILE, provider:model, panel.")
@click.option("--candidate", "candidates", multiple=True, metavar="NAME", help="Only these candidates.")
@click.option("--limit", type=click.IntRange(1), default=None, metavar="N", help="Only N cases, drawn at random.")
@click.option("--seed", default=0, show_default=True, help="With --limit: another seed, other cases.")
@click.option("--budget", default="", metavar="AMOUNT", help="Most to spend on the judge: 2USD, 500ktok, 10m.")
@no_cache_option
@click.option("--record-judge", default="", metavar="FILE", help="Append the judge's replies to FILE.")
@click.option(
    "--max-concurrency", "concurrency", type=click.IntRange(1), default=None, metavar="N", help="Pairs at once."
)
def pairs_command(work: Workspace, runs: tuple[str, ...], seed: int, as_json: bool, **rest: Any) -> int:
    """Have a judge compare answers two by two.

    It compares the answers of all candidates of the RUNs, case by case. The judge does not learn whose answer is
    whose, and sees each pair in both orders. Equal answers tie without it, and an empty answer loses. Its
    judgements are stored, and `howsure rank` makes a leaderboard of them.

    Exit code: 0, or 3 where some pairs have no judgement.
    """
    request = apply_settings(work, RunRequest(**rest))
    done = run_interruptible(work, judge_pairs(work, runs, request, say, seed=seed))
    print_report(done, pairs_report, as_json=as_json)
    return CASES_ERRORED if done.failures else DONE


@howsure_command("raters")
@click.argument("labels", required=False, type=click.Path(path_type=Path), metavar="[LABELS]")
@click.option(
    "--run", default="", metavar="RUN", help="Also the judges of this run: its panel, and labels given on it."
)
@click.option(
    "--limit", type=click.IntRange(0), default=10, show_default=True, help="How many disputed answers to list."
)
def raters_command(work: Workspace, labels: Path | None, run: str, limit: int, as_json: bool) -> None:
    """Find out which of several raters is reliable.

    It also tells which answer is right, and how surely, when the truth is unknown. It takes three raters or more:
    the annotators of LABELS (the file that `howsure judge calibrate` reads), and with --run the members of its
    panel. Disputed answers are listed, the least sure first. All of it holds if raters err independently of one
    another.
    """
    # The numbers library takes a while to import: the other commands here do without it.
    raters = import_module("howsure.services.judge.raters")
    found = run_interruptible(work, raters.rate_raters(work, labels, run))
    print_report(found, partial(raters_report, shown=limit), as_json=as_json)


@howsure_command("drift", code=CodeUse.NEEDED)
@click.argument("anchors")
@click.argument("run", required=False, default="")
@click.option("--judge", default="", metavar="SPEC", help="Who judges now [the judge of RUN, else of ANCHORS].")
@click.option("--limit", type=click.IntRange(1), default=None, metavar="N", help="Only the first N cases.")
@click.option("--budget", default="", metavar="AMOUNT", help="Most to spend on the judge: 2USD, 500ktok, 10m.")
def drift_command(work: Workspace, as_json: bool, **rest: Any) -> int:
    """Find out whether the judge has changed.

    The answers of ANCHORS, a stored run, are judged again and compared with their grades. Same answers, other
    grades: that is the judge. With RUN, the agent's change is told apart from it: the new answers against the
    anchors as they are judged today. Nothing is taken from the cache.

    Exit code: 0 the judge has not changed, 100 it has, 101 the anchors are too few to tell.
    """
    # The numbers library takes a while to import: the other commands here do without it.
    drift = import_module("howsure.services.judge.drift")
    with show_progress(quiet=as_json) as watch:
        found = run_interruptible(work, drift.judge_drift(work, drift.DriftRequest(**rest), watch))
    print_report(found, drift_report, as_json=as_json)
    return {False: DONE, True: GATE_FAILED, None: GATE_INCONCLUSIVE}[found.has_changed]
