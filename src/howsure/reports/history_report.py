"""A history on a terminal: what changed and when as sentences, a small curve for each rate, and the runs one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import to_builtins

from howsure.model.run_history import History, HistoryLine, HistoryPoint, RateChange
from howsure.reports.document import BLANK, Block, Paragraph, Parts, ReportDocument, Table, line
from howsure.reports.figures import NOTHING, format_percent, iso_utc, pluralize

BARS = "▁▂▃▄▅▆▇█"
SHOWN_RUNS = 30


def history_report(history: History) -> ReportDocument:
    return ReportDocument([Paragraph(history_sentence(history), "bold"), *_curves(history), *_runs(history)])


def history_sentence(history: History) -> str:
    """What became of the pass rate."""
    count, rates = len(history.runs), history.lines[0]
    last = rates.points[-1] if rates.points else HistoryPoint(passed=0, judged=0)
    if last.rate is None:
        return f"{history.whose}: {pluralize(count, 'completed run')}; the last one decided no case."
    now = f"{format_percent(last.rate)} now" + (f" (likely {_bounds(last)} %)" if last.interval else "")
    if count < 2:
        return f"{history.whose}: one completed run, {now}; a trend takes two."
    if not rates.turnings:
        few = "; two are compared by `howsure compare`" if count == 2 else ""
        return f"{history.whose}: {count} runs, {now}; no change of the pass rate can be told from chance{few}."
    return f"{history.whose}: {count} runs, {now}. {' '.join(_turned(history, each) for each in rates.turnings)}"


def _turned(history: History, turning: RateChange) -> str:
    run = history.runs[turning.index]
    verb = "rose" if turning.after > turning.before else "fell"
    rates = f"from {format_percent(turning.before)} to {format_percent(turning.after)}"
    unlike = f"; but that run is not like the one before ({'; '.join(turning.unlike)})" if turning.unlike else ""
    return f"It {verb} {rates} with the run of {run.at:%Y-%m-%d %H:%M}{unlike}."


def _bounds(point: HistoryPoint) -> str:
    return "" if point.interval is None else f"{100 * point.interval[0]:.0f}–{100 * point.interval[1]:.0f}"


def _curves(history: History) -> Iterator[Block]:
    rows: list[tuple[Parts, ...]] = []
    for each in history.lines:
        known = [point.rate for point in each.points if point.rate is not None]
        ends = [format_percent(rate) for rate in (known[0], known[-1])] if known else [NOTHING, NOTHING]
        changes = pluralize(len(each.turnings), "change") if each.turnings else ""
        rows.append((line(each.name), curve(each), *ends, changes))
    yield BLANK
    yield Table(("rate", "oldest to newest", "first:", "last:", ""), rows)


def curve(rates: HistoryLine) -> str:
    """A bar for each run on an axis from 0 to 100 %; `|` where the rate changes, a blank where nothing was judged."""
    turned = {turning.index for turning in rates.turnings}
    drawn = []
    for place, point in enumerate(rates.points):
        bar = " " if point.rate is None else BARS[min(len(BARS) - 1, int(point.rate * len(BARS)))]
        drawn.append(f"|{bar}" if place in turned else bar)
    return "".join(drawn)


def _runs(history: History) -> Iterator[Block]:
    turned = {turning.index for turning in history.lines[0].turnings}
    first = max(0, len(history.runs) - SHOWN_RUNS)
    rows: list[tuple[Parts, ...]] = []
    for place, run in enumerate(history.runs[first:], start=first):
        point = history.lines[0].points[place]
        rate = f"{format_percent(point.rate)} [{_bounds(point)}]" if point.rate is not None else NOTHING
        marks = ["changed"] if place in turned else []
        marks += [f"not comparable: {', '.join(each.partition(':')[0] for each in run.unlike)}"] if run.unlike else []
        started = f"{run.at:%Y-%m-%d %H:%M}"
        rows.append((run.run_id[:8], line(run.name, 24), started, f"{point.judged:,}", rate, "; ".join(marks)))
    yield BLANK
    yield Table(("run", "name", "started (UTC)", "n:", "pass rate [95 %]", ""), rows, tight=True)
    if left := first + history.left_out:
        yield Paragraph(f"{pluralize(left, 'more run')} not shown: older, or not completed.", "dim")


def history_shape(history: History) -> dict[str, Any]:
    """As `howsure trend --json` prints it."""
    shape: dict[str, Any] = to_builtins(history)
    shape["runs"] = [{**to_builtins(run), "at": iso_utc(run.at)} for run in history.runs]
    return {"sentence": history_sentence(history), **shape}
