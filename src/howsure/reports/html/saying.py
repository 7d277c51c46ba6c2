"""The words of the page's head and of its tables, by the names its templates use."""

from __future__ import annotations

from howsure.model.run import Counts
from howsure.model.summary import GraderSummary, Summary, Tally
from howsure.reports.figures import Rate, counted, on_scale, utc
from howsure.reports.gates import LOOKS, conclusion, gate_name
from howsure.reports.header import facts, graders_together, notes, short_id, warning
from howsure.reports.marks import needed
from howsure.reports.sentence import rate_of, sentence

SHOWN = 300
"""Lines of a table; a run of many candidates by many graders has more."""
WIDE = 0.2
"""An interval wider than this leaves much open, and the page says so."""


def said(summary: Summary) -> dict[str, object]:
    run = summary.run
    graders = [grader_line(grader) for grader in graders_together(summary)]
    judged = [line for line in graders if line["marked"]]
    measured = [line for line in graders if not line["marked"]]
    candidates = [(name, counts, rate_of(counts)) for name, counts in summary.candidates.items()]
    left = sum(max(len(lines) - SHOWN, 0) for lines in (candidates, judged, measured))
    return {
        "summary": summary,
        "pins": run.pins,
        "sentence": sentence(summary),
        "meaning": meaning(summary),
        "warning": warning(summary),
        "facts": facts(run),
        "notes": list(notes(summary)),
        "gates": [(gate_name(each), each.outcome.value, LOOKS[each.outcome], each.reason) for each in summary.gates],
        "gates_said": conclusion(summary.gates) if summary.gates else "",
        "run_prefix": short_id(run),
        "created": (utc(run.created_at) or "")[:16].replace("T", " "),
        "counts": counted_verdicts(run.counts),
        "several": len(candidates) > 1,
        "candidates": candidates[:SHOWN],
        "judged": judged[:SHOWN],
        "measured": measured[:SHOWN],
        "rates_left_out": counted(left, "line") if left else "",
        "checks": check_lines(summary),
    }


def meaning(summary: Summary) -> str:
    """The interval in words; nothing where there is none, or one for each of several candidates."""
    rate = rate_of(summary.run.counts)
    if rate.interval is None or sum(bool(counts.total) for counts in summary.candidates.values()) > 1:
        return ""
    low, high = (f"{100 * end:.0f}" for end in rate.interval)
    between = f"about {low}" if low == high else f"between {low} and {high}"
    told = f"If it met many more cases like these, {between} of every 100 would likely pass."
    if rate.interval[1] - rate.interval[0] <= WIDE:
        return told
    return f"{told} {counted(rate.judged, 'decided case')} cannot say it more closely."


def counted_verdicts(counts: Counts) -> list[tuple[str, int, float, float]]:
    """Verdict, count, and where its stretch of the bar begins and how long it is, in percent."""
    numbers = {
        "passed": counts.passed,
        "failed": counts.failed,
        "errored": counts.errored,
        "skipped": counts.skipped,
        "pending": counts.pending,
    }
    stretches, start = [], 0.0
    for verdict, count in numbers.items():
        length = 100 * count / counts.total if counts.total else 0.0
        stretches.append((verdict, count, round(start, 3), round(length, 3)))
        start += length
    return stretches


def grader_line(grader: GraderSummary) -> dict[str, object]:
    """One line of the table of graders."""
    absent = [(grader.errored, "errored"), (grader.not_applicable, "not applicable"), (grader.no_judge, "no judge")]
    return {
        "name": grader.name,
        "candidate": grader.candidate,
        "n": grader.scored,
        "marked": grader.passed + grader.failed,
        "mean": on_scale(grader.mean, grader.scale),
        "needed": needed(grader.pass_mark, grader.direction),
        "rate": Rate(grader.passed, grader.passed + grader.failed),
        "absent": ", ".join(f"{count:,} {word}" for count, word in absent if count),
    }


def check_lines(summary: Summary) -> list[tuple[str, Tally, Rate, bool]]:
    """Criteria and rules one by one; True: the rules of one component."""
    named = [("each criterion", summary.criteria, False), ("each rubric rule", summary.rules, False)]
    scoped = [(f"about {name.replace('_', ' ')}", tally, True) for name, tally in summary.components.items()]
    return [
        (name, tally, Rate(tally.passed, tally.passed + tally.failed), about)
        for name, tally, about in [*named, *scoped]
        if tally
    ]
