"""Progress of a run: a live bar on a terminal, a plain line now and then elsewhere. Always on stderr."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from howsure.model.result import Result
from howsure.model.verdict import Verdict

SECONDS_BETWEEN_LINES = 5.0


class Shown(Protocol):
    """Something that shows how far a run is."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None: ...

    def __call__(self, results: Sequence[Result]) -> None: ...


class Tally:
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


class Bar:
    """For a person at a terminal."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._bar = Progress(
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


class Lines:
    """For a log file: a line every few seconds, and one at the end."""

    def __init__(self, tally: Tally) -> None:
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


class Silent:
    """For `--quiet`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        return None

    def __call__(self, results: Sequence[Result]) -> None:
        return None


def progress(total: int, done: int, *, quiet: bool = False) -> Shown:
    if quiet:
        return Silent()
    tally = Tally(total, done)
    return Bar(tally) if sys.stderr.isatty() else Lines(tally)
