"""A history on a terminal: what changed and when as sentences, a small curve for each rate, and the runs one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, to_builtins
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from howsure.model.history import History, Line, Point, Turning
from howsure.reports.figures import NOTHING, counted, percent, utc
from howsure.reports.screen import Screen

BARS = "▁▂▃▄▅▆▇█"
PLAIN_BARS = "_.-=+*#@"
SHOWN_RUNS = 30


class HistoryReport(Struct, frozen=True):
    """Something rich can print."""

    history: History

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        screen, history = Screen.of(options), self.history
        yield screen.text(history_sentence(history), "bold")
        yield from _curves(screen, history)
        yield from _runs(screen, history)


def history_sentence(history: History) -> str:
    """What became of the pass rate."""
    count, line = len(history.runs), history.lines[0]
    last = line.points[-1] if line.points else Point(passed=0, judged=0)
    if last.rate is None:
        return f"{history.whose}: {counted(count, 'completed run')}; the last one decided no case."
    now = f"{percent(last.rate)} now{_likely(last)}"
    if count < 2:
        return f"{history.whose}: one completed run, {now}; a trend takes two."
    if not line.turnings:
        return f"{history.whose}: {count} runs, {now}; no change of the pass rate that chance would not make."
    return f"{history.whose}: {count} runs, {now}. {' '.join(_turned(history, each) for each in line.turnings)}"


def _turned(history: History, turning: Turning) -> str:
    run = history.runs[turning.index]
    way = "rose" if turning.after > turning.before else "fell"
    said = (
        f"It {way} from {percent(turning.before)} to {percent(turning.after)} with the run of {run.at:%Y-%m-%d %H:%M}"
    )
    if not turning.unlike:
        return f"{said}."
    return f"{said}; but that run is not like the one before ({'; '.join(turning.unlike)})."


def _likely(point: Point) -> str:
    if point.interval is None:
        return ""
    low, high = point.interval
    return f" (likely {100 * low:.0f}–{100 * high:.0f} %)"


def _curves(screen: Screen, history: History) -> Iterator[Text | Table]:
    table = screen.table(
        ("rate", "left"), ("oldest to newest", "left"), ("first", "right"), ("last", "right"), ("", "")
    )
    for line in history.lines:
        known = [point.rate for point in line.points if point.rate is not None]
        ends = [percent(rate) for rate in (known[0], known[-1])] if known else [NOTHING, NOTHING]
        changes = f"{counted(len(line.turnings), 'change')}" if line.turnings else ""
        table.add_row(screen.line(line.name), screen.text(curve(line, plain=screen.ascii_only)), *ends, changes)
    yield Text()
    yield table


def curve(line: Line, *, plain: bool = False) -> str:
    """A bar for each run on an axis from 0 to 100 %; `|` where the rate changes, a blank where nothing was judged."""
    bars, turned = PLAIN_BARS if plain else BARS, {turning.index for turning in line.turnings}
    drawn = []
    for place, point in enumerate(line.points):
        bar = " " if point.rate is None else bars[min(len(bars) - 1, int(point.rate * len(bars)))]
        drawn.append(f"|{bar}" if place in turned else bar)
    return "".join(drawn)


def _runs(screen: Screen, history: History) -> Iterator[Text | Table]:
    table = screen.table(("run", "left"), ("name", "left"), ("started (UTC)", "left"), ("n", "right"),
                         ("pass rate [95 %]", "left"), ("", "left"))  # fmt: skip
    turned = {turning.index for turning in history.lines[0].turnings}
    first = max(0, len(history.runs) - SHOWN_RUNS)
    for place, run in enumerate(history.runs[first:], start=first):
        point = history.lines[0].points[place]
        rate = f"{percent(point.rate)} [{_bounds(point)}]" if point.rate is not None else NOTHING
        marks = ["changed"] if place in turned else []
        marks += [f"not comparable: {', '.join(each.partition(':')[0] for each in run.unlike)}"] if run.unlike else []
        table.add_row(
            run.run_id[:8],
            screen.line(run.name, 24),
            f"{run.at:%Y-%m-%d %H:%M}",
            f"{point.judged:,}",
            screen.text(rate),
            screen.text("; ".join(marks)),
        )
    yield Text()
    yield table
    left = first + history.left_out
    if left:
        yield screen.text(f"{counted(left, 'more run')} not shown: older, or not completed.", "dim")


def _bounds(point: Point) -> str:
    return "" if point.interval is None else f"{100 * point.interval[0]:.0f}–{100 * point.interval[1]:.0f}"


def history_shape(history: History) -> dict[str, Any]:
    """As `howsure trend --json` prints it."""
    shape: dict[str, Any] = to_builtins(history)
    shape["runs"] = [{**to_builtins(run), "at": utc(run.at)} for run in history.runs]
    return {"sentence": history_sentence(history), **shape}
