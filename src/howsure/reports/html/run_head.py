"""The head of a run in reports and pages: the answer, its interval in words, counts, facts, notes, gates, and all
rates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from howsure.model.run import Counts, RunState
from howsure.model.summary import GateOutcome, GateRuling, GraderSummary, SliceCounts, Summary
from howsure.reports.figures import Rate, format_on_scale, pass_mark_text, pass_rate_of, pluralize
from howsure.reports.headlines import note_words
from howsure.reports.run_facts import (
    OUTCOME_CLASSES,
    answer_facts,
    asked_judge,
    gate_name,
    gates_conclusion,
    graders_by_name,
    run_facts,
    run_notes,
    run_sentence,
    run_warning,
    slice_groups,
)

WIDE_INTERVAL = 0.2
"""Where an interval is wider than this, the page says that the cases are too few."""
LIVE = (RunState.PENDING, RunState.RUNNING)


class RunHead(Struct, frozen=True, kw_only=True):
    """The head of a run in reports and pages."""

    answer: str
    meaning: str
    warning: str
    counts: tuple[tuple[str, int, float, float], ...]
    total: int
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    gates: tuple[GateRow, ...]
    gates_said: str
    candidates: tuple[tuple[str, Counts, Rate], ...]
    checks: tuple[GraderRow, ...]
    graders: tuple[GraderRow, ...]
    slices: tuple[tuple[str, tuple[tuple[SliceCounts, Rate], ...]], ...]


def head_fields(summary: Summary) -> dict[str, Any]:
    """The fields of a `RunHead`."""
    run, known = summary.run, {*summary.run.pins.marks, *(each.name for each in summary.graders)}
    gates = gates_conclusion(summary.gates) if summary.gates else ""
    request, asked = run.pins.request, asked_judge(summary)
    if run.state in LIVE and (number := len(request.gates) + bool(request.until_sure)):
        gates = f"{pluralize(number, 'gate')}: decided when the run has ended."
    return {
        "answer": run_sentence(summary),
        "meaning": interval_in_words(summary),
        "warning": run_warning(summary),
        "counts": tuple(verdict_segments(run.counts)),
        "total": run.counts.total,
        "facts": (
            *(fact for fact in run_facts(run, in_words=True) if fact[0] != "judge" or asked),
            *answer_facts(summary.answers),
        ),
        "notes": tuple(note_words(note, known) for note in run_notes(summary)),
        "gates": tuple(map(gate_row, summary.gates)),
        "gates_said": gates,
        "candidates": tuple((name, counts, pass_rate_of(counts)) for name, counts in summary.candidates.items()),
        "checks": tuple(check_rows(summary)),
        "graders": tuple(map(grader_row, graders_by_name(summary))),
        "slices": tuple(
            (label, tuple((each, pass_rate_of(each.counts)) for each in own)) for label, own in slice_groups(summary)
        ),
    }


def interval_in_words(summary: Summary) -> str:
    """The interval in words; nothing where there is none, or one for each of several candidates."""
    rate = pass_rate_of(summary.run.counts)
    if rate.interval is None or sum(bool(counts.total) for counts in summary.candidates.values()) > 1:
        return ""
    sure = [each.interval for each in summary.run.pins.sure if re.match(r"pass_rate\s*[<>≤≥]", each.expression)]
    # If the gate was decided by looks, the interval that holds at every look.
    interval = next(filter(None, sure), rate.interval)
    low, high = (f"{100 * end:.0f}" for end in interval)
    between = f"about {low}" if low == high else f"between {low} and {high}"
    meaning = f"If it met many more cases like these, {between} of every 100 would likely pass."
    if interval[1] - interval[0] <= WIDE_INTERVAL:
        return meaning
    return f"{meaning} {pluralize(rate.judged, 'decided case')} cannot say it more closely."


def verdict_segments(counts: Counts) -> list[tuple[str, int, float, float]]:
    """Verdict, count, and where its segment of the bar begins and how long it is, in percent."""
    segments, start = [], 0.0
    for verdict in ("passed", "failed", "errored", "skipped", *(["damaged"] if counts.damaged else []), "pending"):
        count = getattr(counts, verdict)
        length = 100 * count / counts.total if counts.total else 0.0
        segments.append((verdict, count, round(start, 3), round(length, 3)))
        start += length
    return segments


class GateRow(Struct, frozen=True, kw_only=True):
    name: str
    outcome: str
    looks: str
    reason: str


def gate_row(gate: GateRuling) -> GateRow:
    # Inconclusive is doubt, not an error.
    looks = "doubtful" if gate.outcome is GateOutcome.INCONCLUSIVE else OUTCOME_CLASSES[gate.outcome]
    return GateRow(name=gate_name(gate), outcome=gate.outcome.value, looks=looks, reason=note_words(gate.reason))


class GraderRow(Struct, frozen=True, kw_only=True):
    """A grader over all cases, or all criteria, all rules or (`scoped`) the rules of one component: one line of the
    table of rates."""

    name: str
    candidate: str = ""
    rate: Rate
    mean: str = ""
    needed: str = ""
    n: int
    absent: str
    scoped: bool = False


def grader_row(grader: GraderSummary) -> GraderRow:
    return GraderRow(
        name=grader.name,
        candidate=grader.candidate,
        rate=pass_rate_of(grader),
        mean=format_on_scale(grader.mean, grader.scale),
        needed=pass_mark_text(grader.pass_mark, grader.direction),
        n=grader.scored,
        absent=_counted(errored=grader.errored, not_applicable=grader.not_applicable, no_judge=grader.no_judge),
    )


def check_rows(summary: Summary) -> Iterator[GraderRow]:
    named = [("each criterion", summary.criteria), ("each rubric rule", summary.rules)]
    scoped = [(f"about {name.replace('_', ' ')}", tally) for name, tally in summary.components.items()]
    for place, (name, tally) in enumerate([*named, *scoped]):
        if tally:
            rate, absent = pass_rate_of(tally), _counted(errored=tally.errored, skipped=tally.skipped)
            yield GraderRow(name=name, rate=rate, n=rate.judged, absent=absent, scoped=place >= len(named))


def _counted(**numbers: int) -> str:
    """`2 errored, 1 not applicable`."""
    return ", ".join(f"{number:,} {word.replace('_', ' ')}" for word, number in numbers.items() if number)
