"""What a command prints about a run: its progress (a live bar on a terminal, else a plain line now and then; always on
stderr), and its summary and reports when it has ended."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from howsure.cli.exit_codes import run_exit_code
from howsure.cli.output import print_json, say, with_store
from howsure.model.result import Result
from howsure.model.run import RunState
from howsure.model.summary import Summary
from howsure.model.verdict import Verdict
from howsure.reports.evaluations import evaluation_run
from howsure.reports.figures import pluralize
from howsure.reports.run_facts import sure_text
from howsure.reports.run_report import SHOWN_RESULTS, run_report
from howsure.services.report import write_reports
from howsure.services.run.execute import Progress, RunHandle
from howsure.services.run.start import ProgressFactory
from howsure.services.workspace import Workspace

SHOWN_WARNINGS = 10
SECONDS_BETWEEN_LINES = 5.0


class ProgressTally:
    """Counts of verdicts and the rate since the start."""

    def __init__(self, total: int, done: int) -> None:
        self.total = total
        self.done = done
        self._already = done
        self._started = time.monotonic()
        self._verdicts: Counter[Verdict] = Counter()

    def add(self, results: Sequence[Result]) -> None:
        self.done += len(results)
        self._verdicts.update(result.verdict for result in results)

    @property
    def rate(self) -> float:
        return (self.done - self._already) / max(time.monotonic() - self._started, 1e-9)

    def words(self) -> str:
        counts = [f"{self._verdicts[verdict]:,} {verdict.value}" for verdict in Verdict if self._verdicts[verdict]]
        return ", ".join([*counts, f"{self.rate:,.0f}/s"])

    def left(self) -> str:
        if self.done >= self.total:
            return "done"
        return f"{(self.total - self.done) / self.rate:,.0f} s left" if self.rate else "time left unknown"


@contextmanager
def progress(total: int, done: int, *, quiet: bool = False) -> Iterator[Progress]:
    """A function to call with the results that are finished: it draws a bar on a terminal, else prints lines."""
    tally = ProgressTally(total, done)
    if quiet:
        yield tally.add
    else:
        with _bar(tally) if sys.stderr.isatty() else _lines(tally) as show:
            yield show


@contextmanager
def _bar(tally: ProgressTally) -> Iterator[Progress]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[words]}"),
        TimeRemainingColumn(),
    )
    with RichProgress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task("running", total=tally.total, completed=tally.done, words="")

        def show(results: Sequence[Result]) -> None:
            tally.add(results)
            bar.update(task, completed=tally.done, words=tally.words())

        yield show


@contextmanager
def _lines(tally: ProgressTally) -> Iterator[Progress]:
    """For a log file: a line every few seconds, and one at the end."""
    last = time.monotonic()

    def write_line() -> None:
        print(f"{tally.done:,} of {tally.total:,}: {tally.words()}, {tally.left()}", file=sys.stderr, flush=True)

    def show(results: Sequence[Result]) -> None:
        nonlocal last
        tally.add(results)
        if time.monotonic() - last >= SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            write_line()

    try:
        yield show
    finally:
        write_line()


@contextmanager
def show_progress(*, quiet: bool) -> Iterator[ProgressFactory]:
    """Print what starts, show how far it is, and remove the bar at the end, whatever happens."""
    with ExitStack() as stack:

        def watch(handle: RunHandle) -> Progress:
            run = handle.run
            for dataset in handle.plan.cases.datasets:
                if dataset.report.columns and not quiet:
                    say(f"{dataset.path.name}: {dataset.report.columns}")
            print_warnings(handle.plan.warnings)
            if not quiet:
                judge = run.pins.request.judge or "none: judged grades will say so"
                target = run.pins.target_text
                say(f"run {run.id[:8]} {run.name!r}: {pluralize(run.counts.total, 'attempt')}; target {target}")
                say(f"judge: {judge}")
            return stack.enter_context(progress(run.counts.total, handle.done, quiet=quiet))

        yield watch


def print_warnings(warnings: Sequence[str]) -> None:
    for warning in warnings[:SHOWN_WARNINGS]:
        say(f"warning: {warning}")
    if len(warnings) > SHOWN_WARNINGS:
        say(f"warning: … and {len(warnings) - SHOWN_WARNINGS} more (howsure validate shows all)")


def finish_run(work: Workspace, summary: Summary, outputs: Sequence[str], *, quiet: bool, as_json: bool) -> int:
    """Write the reports, print the summary, and return the exit code."""
    gates = tuple(dict.fromkeys(ruling.expression for ruling in summary.gates))
    written = asyncio.run(write_reports(work, summary.run.id, outputs, gates)) if outputs else []
    if as_json:
        print_json(evaluation_run(summary))
    elif not quiet:
        print_summary(work, summary)
    for path in written:
        say(f"written: {path}")
    if not quiet and (sure := sure_text(summary.run.pins)):
        say(sure)
    if summary.run.state is RunState.OUT_OF_BUDGET:
        say(f"The budget was reached: `howsure resume {summary.run.id[:8]} --budget MORE` goes on.")
    return run_exit_code(summary)


if TYPE_CHECKING:
    from howsure.store.store import Store

T = TypeVar("T")


def console() -> Console:
    """Standard output; colour where it is a terminal and NO_COLOR is unset."""
    return Console(file=sys.stdout, highlight=False)


def print_report(
    found: T, report: Callable[[T], RenderableType], shape: Callable[[T], Any] | None = None, *, as_json: bool
) -> None:
    """The report of what was found; or it as JSON, in the `shape` that other programs know."""
    if as_json:
        print_json(shape(found) if shape else found)
    else:
        console().print(report(found))


def print_summary(work: Workspace, summary: Summary, *, hints: bool = True, by: str = "") -> None:
    async def worst(store: Store) -> list[Result]:
        """The cases to look at first: what broke, then what failed."""
        broke = await store.results(summary.run.id, verdict=Verdict.ERRORED, limit=SHOWN_RESULTS // 2)
        failed = await store.results(summary.run.id, verdict=Verdict.FAILED, limit=SHOWN_RESULTS - len(broke))
        return [*failed, *broke]

    console().print(run_report(summary, with_store(work, worst, read_only=True), hints, by))
