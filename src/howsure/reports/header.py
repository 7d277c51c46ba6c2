"""What every report says of a run before its numbers: what was tried, against what, judged by whom; and, after them,
what to do next."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from howsure.model.run import Pins, Run, RunState, Spent
from howsure.model.summary import GraderSummary, Summary
from howsure.reports.figures import counted
from howsure.reports.simulated import notes as simulator_notes

NO_JUDGE = "no judge"
OFFLINE = "offline"


def short_id(run: Run) -> str:
    """Enough of the id to name the run on the command line."""
    return run.id[:8]


def judged_by(pins: Pins) -> str:
    """The judge's name; of a recording, the file's name without its folders."""
    kind, colon, path = pins.judge.partition(":")
    return f"{kind}:{PurePath(path).name}" if colon and kind == "recorded" else pins.judge or NO_JUDGE


def warning(summary: Summary) -> str:
    """What a reader must know before believing a number; empty when there is nothing."""
    judge = summary.run.pins.judge
    if judge == OFFLINE:
        return "Judged offline, by rules of thumb and not by a model: take judged grades as hints."
    if not judge and any(grader.no_judge for grader in summary.graders):
        return "This run had no judge: grades that need one were not given."
    return ""


def datasets(pins: Pins) -> list[str]:
    return [f"{pin.name or PurePath(pin.path).name}{_described(pin.dialect, pin.cases)}" for pin in pins.datasets]


def _described(dialect: str, cases: int) -> str:
    said = [part for part in (dialect, counted(cases, "case") if cases else "") if part]
    return f" ({', '.join(said)})" if said else ""


def facts(run: Run) -> list[tuple[str, str]]:
    """Name and value, in reading order; what was left at its default is not said."""
    pins = run.pins
    said = [
        ("dataset", ", ".join(datasets(pins))),
        ("criteria", f"pooled from {PurePath(pins.criteria_from.path).name}" if pins.criteria_from else ""),
        ("target", pins.target),
        ("agent", pins.agent.name if pins.agent else ""),
        ("user", _simulator(pins)),
        ("judge", judged_by(pins)),
        ("spent", spending(run.spent) if run.spent else ""),
        ("rubric", f"{pins.rubric.name} v{pins.rubric.version}" if pins.rubric else ""),
        ("profile", pins.profile),
        ("repeats", str(pins.repeat) if pins.repeat > 1 else ""),
        ("state", "" if run.state is RunState.COMPLETED else run.state.value),
        ("error", run.error),
    ]
    return [(name, value) for name, value in said if value]


def _simulator(pins: Pins) -> str:
    if not pins.simulator:
        return ""
    again = f", spoiled conversations played again up to {pins.replays} times" if pins.replays else ""
    if pins.replays == 1:
        again = ", a spoiled conversation played again"
    return f"simulated: {pins.simulator}{again}"


def spending(spent: Spent) -> str:
    """`207 calls (12 cached), 24,840 tokens, 0.0312 USD`; calls without a known price are said to be that."""
    said = [f"{counted(spent.calls, 'call')} ({spent.cached:,} cached)", f"{spent.tokens:,} tokens"]
    if spent.unpriced:
        said.append(f"cost unknown for {spent.unpriced:,}")
    return ", ".join([*said, f"{spent.usd:.4f} USD"] if spent.usd or not spent.unpriced else said)


def next_steps(summary: Summary, first_case: str = "") -> list[tuple[str, str]]:
    """Command and purpose, the most useful first."""
    run, counts = summary.run, summary.run.counts
    name = short_id(run)
    steps = []
    if run.state is RunState.OUT_OF_BUDGET:
        steps.append((f"howsure resume {name} --budget MORE", f"do the {counts.skipped:,} that the budget left out"))
    if counts.pending and run.state is not RunState.RUNNING:
        steps.append((f"howsure resume {name}", f"do the remaining {counts.pending:,}"))
    if first_case:
        steps.append((f"howsure show {name} {quoted(first_case)}", "see why, with the whole conversation"))
    if counts.errored:
        steps.append((f"howsure retry {name} --errors", f"try the {counts.errored:,} errored again"))
    steps.append((f"howsure report {name} --output report.html", "read it all in a browser, offline"))
    return steps


def graders_together(summary: Summary) -> list[GraderSummary]:
    """The candidates of one grader under each other; graders in the order of the summary."""
    order = {name: place for place, name in enumerate(dict.fromkeys(grader.name for grader in summary.graders))}
    return sorted(summary.graders, key=lambda grader: order[grader.name])


def notes(summary: Summary) -> Iterator[str]:
    """What bounds the numbers. Repeats of one case resemble each other: an interval that counts them apart promises
    too much."""
    if summary.run.pins.repeat > 1:
        times = summary.run.pins.repeat
        yield f"Each case was tried {times} times; repeats are alike, so the true intervals are wider."
    yield from simulator_notes(summary)


def quoted(word: str) -> str:
    """The word as a POSIX shell reads it back."""
    safe = word and all(sign.isalnum() or sign in "-_./:@%+=," for sign in word) and word.isascii()
    return word if safe else "'" + word.replace("'", "'\"'\"'") + "'"
