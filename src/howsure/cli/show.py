"""`howsure show`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TextIO

import click
from msgspec.structs import replace

from howsure.cli.options import option_callback, parsed_option, storable_text
from howsure.cli.output import howsure_command, print_json, with_store
from howsure.cli.progress import console, print_summary
from howsure.errors import NotFound
from howsure.model.leaderboard import ShrunkenSlice
from howsure.model.result import Result
from howsure.model.run import Run
from howsure.model.summary import Summary
from howsure.reports.evaluations import evaluation_result, evaluation_run
from howsure.reports.leaderboards import slices_report
from howsure.reports.run_report import MOST_SLICES, case_report
from howsure.services.gate.gate import rule_on_gates
from howsure.services.workspace import Workspace

if TYPE_CHECKING:
    from howsure.store.store import Store


@howsure_command("show")
@click.argument("run", default="latest")
@click.argument("case", required=False, callback=option_callback(storable_text))
@parsed_option(
    storable_text, "--candidate", default=None, metavar="NAME", help="Only what this candidate made of the case."
)
@parsed_option(storable_text, "--by", default="", metavar="LABEL",
    help="Break RUN down by this label of its cases, by tag, file or candidate.",
)  # fmt: skip
@click.option("--plain", is_flag=True, help="Print, even where a terminal could be browsed.")
def command(
    work: Workspace, run: str, case: str | None, candidate: str | None, by: str, plain: bool, as_json: bool
) -> None:
    """Show RUN in numbers, or one CASE of it in full: what was asked, said and done, every grade and its reason.

    On a terminal, the failures of RUN can be browsed: arrow keys or j and k, Enter opens one, n and p go to the next
    and the previous, f filters by verdict, / searches, s and t show the run in numbers and its triage, q leaves. With
    --plain, --json, a CASE, or in a pipe, it is printed.
    """
    if case is None and not (plain or as_json or by) and can_browse(sys.stdin, sys.stdout, os.environ):
        # A terminal needs modules that not every system has.
        import_module("howsure.cli.browser").browse(work, run)
        return

    async def read(store: Store) -> tuple[Summary, list[Result]]:
        stored = await store.find_run(run)
        results = await store.results(stored.id, case_id=case, candidate=candidate) if case else []
        summary = await rule_on_gates(store, await store.summary(stored.id))
        return replace(summary, slices=await store.slices(stored, by)) if by else summary, results

    summary, results = with_store(work, read, read_only=True)
    if case is not None and not results:
        raise NotFound(f"run {summary.run.name!r} has no result for the case {case!r}")
    if as_json:
        shrunken = {"shrunken": _shrink_slices(summary, by)} if by else {}
        print_json([_in_full(summary.run, each) for each in results] if case else evaluation_run(summary) | shrunken)
    elif case is None:
        print_summary(work, summary, by=by)
        if by and (slices := _shrink_slices(summary, by)):
            console().print(slices_report(slices[:MOST_SLICES]))
    else:
        for each in results:
            console().print(case_report(each))


def _shrink_slices(summary: Summary, by: str) -> list[ShrunkenSlice]:
    # With the numbers library, which nothing else here needs.
    found: list[ShrunkenSlice] = import_module("howsure.services.few_cases").shrink_slices(summary, by)
    return found


def _in_full(run: Run, result: Result) -> dict[str, Any]:
    """The EvaluationResult, with the case and what was sent."""
    sent = result.transcript.sent if result.transcript else None
    return {**evaluation_result(run, result), "case": replace(result.case, recorded=None), "sent": sent}


def can_browse(stdin: TextIO, stdout: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether somebody sits at a terminal that can be drawn on."""
    if environ.get("TERM", "dumb") in ("dumb", "") or find_spec("termios") is None:
        return False
    return stdin.isatty() and stdout.isatty()
