"""Progress of a run: a live bar on a terminal, a plain line now and then elsewhere. Always on stderr."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from howsure.cli.exit_codes import run_exit_code
from howsure.cli.output import print_json, say
from howsure.cli.summary import print_summary
from howsure.model.result import Result
from howsure.model.run import RunState
from howsure.model.summary import Summary
from howsure.model.verdict import Verdict
from howsure.reports.run_wire import evaluation_run
from howsure.services.report import write_reports
from howsure.services.run.execute import Progress, RunHandle
from howsure.services.run.start import ProgressFactory
from howsure.services.workspace import Workspace

SHOWN_WARNINGS = 10
SECONDS_BETWEEN_LINES = 5.0


class ProgressDisplay(Protocol):
    """Something that shows how far a run is."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None: ...

    def __call__(self, results: Sequence[Result]) -> None: ...


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
        said = [f"{self._verdicts[verdict]:,} {verdict.value}" for verdict in Verdict if self._verdicts[verdict]]
        return ", ".join([*said, f"{self.rate:,.0f}/s"])

    def left(self) -> str:
        if self.done >= self.total:
            return "done"
        return f"{(self.total - self.done) / self.rate:,.0f} s left" if self.rate else "time left unknown"


class ProgressBar:
    """For a person at a terminal."""

    def __init__(self, tally: ProgressTally) -> None:
        self._tally = tally
        self._bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[words]}"),
            TimeRemainingColumn(),
            console=Console(file=sys.stderr),
            transient=True,
        )
        self._task = self._bar.add_task("running", total=tally.total, completed=tally.done, words="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._bar.stop()

    def __call__(self, results: Sequence[Result]) -> None:
        self._tally.add(results)
        self._bar.update(self._task, completed=self._tally.done, words=self._tally.words())


class ProgressLines:
    """For a log file: a line every few seconds, and one at the end."""

    def __init__(self, tally: ProgressTally) -> None:
        self._tally = tally
        self._last = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._line()

    def __call__(self, results: Sequence[Result]) -> None:
        self._tally.add(results)
        if time.monotonic() - self._last >= SECONDS_BETWEEN_LINES:
            self._last = time.monotonic()
            self._line()

    def _line(self) -> None:
        tally = self._tally
        print(f"{tally.done:,} of {tally.total:,}: {tally.words()}, {tally.left()}", file=sys.stderr, flush=True)


class NoProgress:
    """For `--quiet`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        return None

    def __call__(self, results: Sequence[Result]) -> None:
        return None


def progress(total: int, done: int, *, quiet: bool = False) -> ProgressDisplay:
    if quiet:
        return NoProgress()
    tally = ProgressTally(total, done)
    return ProgressBar(tally) if sys.stderr.isatty() else ProgressLines(tally)


@contextmanager
def show_progress(*, quiet: bool) -> Iterator[ProgressFactory]:
    """Says what starts, shows how far it is, and takes the bar away again whatever happens."""
    with ExitStack() as stack:

        def watch(handle: RunHandle) -> Progress:
            run = handle.run
            print_warnings(handle.plan.warnings)
            if not quiet:
                judge = run.pins.request.judge or "none: judged grades will say so"
                say(f"run {run.id[:8]} {run.name!r}: {run.counts.total:,} attempts; target {run.pins.request.target}")
                say(f"judge: {judge}")
            return stack.enter_context(progress(run.counts.total, handle.done, quiet=quiet))

        yield watch


def print_warnings(warnings: Sequence[str]) -> None:
    for warning in warnings[:SHOWN_WARNINGS]:
        say(f"warning: {warning}")
    if len(warnings) > SHOWN_WARNINGS:
        say(f"warning: … and {len(warnings) - SHOWN_WARNINGS} more (howsure validate shows all)")


def finish_run(work: Workspace, summary: Summary, outputs: Sequence[str], *, quiet: bool, as_json: bool) -> int:
    asked = tuple(dict.fromkeys(ruling.expression for ruling in summary.gates))
    written = asyncio.run(write_reports(work, summary.run.id, outputs, asked)) if outputs else []
    if as_json:
        print_json(evaluation_run(summary))
    elif not quiet:
        print_summary(work, summary)
    for path in written:
        say(f"written: {path}")
    if summary.run.state is RunState.OUT_OF_BUDGET:
        say(f"The budget was reached: `howsure resume {summary.run.id[:8]} --budget MORE` goes on.")
    return run_exit_code(summary)
