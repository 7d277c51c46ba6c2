"""What every report says of a run in words: the answer as one sentence, what was tried against what and judged by whom,
what limits the numbers, how the gates were ruled on, and what to do next. case_facts.py has the words about one
result."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from pathlib import PurePath
from typing import Any

from howsure.model.run import Counts, ModelSpending, Pins, Run, RunState
from howsure.model.run_request import OFFLINE
from howsure.model.summary import GateOutcome, GateRuling, GraderSummary, Summary, worst_outcome
from howsure.reports.figures import ERRORED, FAILED, PASSED, Rate, VerdictMark, format_percent, pass_rate_of, pluralize

FIDELITY = "simulator_fidelity"
NO_JUDGE = "no judge"
NAMED_CANDIDATES = 3


def short_id(run: Run) -> str:
    """Enough of the id to name the run on the command line."""
    return run.id[:8]


def judge_name(pins: Pins) -> str:
    """The judge's name; of a recording, the file's name without its folders."""
    kind, colon, path = pins.request.judge.partition(":")
    return f"{kind}:{PurePath(path).name}" if colon and kind == "recorded" else pins.request.judge or NO_JUDGE


def run_warning(summary: Summary) -> str:
    """What a reader must know before believing a number; empty when there is nothing."""
    judge = summary.run.pins.request.judge
    if judge == OFFLINE:
        return "Judged offline, by rules of thumb and not by a model: take judged grades as hints."
    if not judge and any(grader.no_judge for grader in summary.graders):
        return "This run had no judge: grades that need one were not given."
    return ""


def dataset_names(pins: Pins) -> list[str]:
    """`refunds.json (golden, 12 cases)`."""
    names = []
    for pin in pins.datasets:
        known = [part for part in (pin.dialect, pluralize(pin.cases, "case") if pin.cases else "") if part]
        names.append((pin.name or PurePath(pin.path).name) + (f" ({', '.join(known)})" if known else ""))
    return names


def run_facts(run: Run) -> list[tuple[str, str]]:
    """Name and value, in reading order; what was left at its default is not there."""
    pins, replays = run.pins, run.pins.request.replays
    again = f", spoiled conversations played again up to {replays} times" if replays else ""
    again = ", a spoiled conversation played again" if replays == 1 else again
    facts = [
        ("dataset", ", ".join(dataset_names(pins))),
        ("criteria", f"pooled from {PurePath(pins.criteria_from.path).name}" if pins.criteria_from else ""),
        ("target", pins.request.target),
        ("agent", pins.agent.name if pins.agent else ""),
        ("user", f"simulated: {pins.request.simulator}{again}" if pins.request.simulator else ""),
        ("judge", judge_name(pins)),
        ("spent", spending_text(run.spent) if run.spent else ""),
        ("rubric", f"{pins.rubric.name} v{pins.rubric.version}" if pins.rubric else ""),
        ("profile", pins.request.profile),
        ("repeats", str(pins.request.repeat) if pins.request.repeat > 1 else ""),
        ("state", "" if run.state is RunState.COMPLETED else run.state.value),
        ("error", run.error),
    ]
    return [(name, value) for name, value in facts if value]


def spending_text(spent: ModelSpending) -> str:
    """`207 calls (12 cached), 24,840 tokens, 0.0312 USD`; calls without a known price are counted."""
    parts = [f"{pluralize(spent.calls, 'call')} ({spent.cached:,} cached)", f"{spent.tokens:,} tokens"]
    if spent.unpriced:
        parts.append(f"cost unknown for {spent.unpriced:,}")
    return ", ".join([*parts, f"{spent.usd:.4f} USD"] if spent.usd or not spent.unpriced else parts)


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
        steps.append((f"howsure show {name} {shell_quote(first_case)}", "see why, with the whole conversation"))
    if counts.errored:
        steps.append((f"howsure retry {name} --errors", f"try the {counts.errored:,} errored again"))
    steps.append((f"howsure report {name} --output report.html", "read it all in a browser, offline"))
    return steps


def graders_by_name(summary: Summary) -> list[GraderSummary]:
    """The candidates of one grader under each other; graders in the order of the summary."""
    order = {name: place for place, name in enumerate(dict.fromkeys(grader.name for grader in summary.graders))}
    return sorted(summary.graders, key=lambda grader: order[grader.name])


def run_notes(summary: Summary) -> Iterator[str]:
    """What limits the numbers: repeats of one case resemble each other, so that an interval that counts them as
    separate cases is too narrow; and a simulated user may spoil conversations."""
    request = summary.run.pins.request
    if request.repeat > 1:
        yield f"Each case was tried {request.repeat} times; repeats are alike, so the true intervals are wider."
    graded = [grader for grader in summary.graders if grader.name == FIDELITY]
    spoiled, fair = sum(grader.failed for grader in graded), sum(grader.passed for grader in graded)
    if spoiled + fair:
        share, user = Rate(spoiled, spoiled + fair), request.simulator or "of an earlier run"
        yield f"The simulated user ({user}) spoiled {spoiled:,} of {spoiled + fair:,} conversations: {share}."
    if summary.faults:
        parties = ", ".join(f"{party} {number:,}" for party, number in summary.faults.items())
        yield f"Answerable for the scenarios that did not pass: {parties}."


def shell_quote(word: str) -> str:
    """The word as a POSIX shell reads it back."""
    safe = word and all(sign.isalnum() or sign in "-_./:@%+=," for sign in word) and word.isascii()
    return word if safe else "'" + word.replace("'", "'\"'\"'") + "'"


def run_sentence(summary: Summary) -> str:
    """What came of the run, and how sure that is: the same words in every report."""
    counts = summary.run.counts
    if not counts.total:
        return "There were no cases to try."
    candidates = {name: own for name, own in summary.candidates.items() if own.total}
    answer = _candidates_sentence(candidates) if len(candidates) > 1 else _outcome_sentence(counts)
    parts = [(counts.errored, "errored"), (counts.skipped, "skipped")]
    unjudged = " and ".join(f"{count:,} {word}" for count, word in parts if count)
    if unjudged:
        answer += f" {unjudged[:1].upper()}{unjudged[1:]}: not counted as failures."
    if counts.pending:
        answer += f" Not finished: {counts.pending:,} of {counts.total:,} still to do."
    return answer


def _candidates_sentence(candidates: dict[str, Counts]) -> str:
    """Each by name, the best first; a pooled rate would say nothing about any of them."""
    ranked = sorted(candidates.items(), key=lambda pair: (-(pass_rate_of(pair[1]).value or 0.0), pair[0]))
    parts = []
    for name, counts in ranked[:NAMED_CANDIDATES]:
        rate = pass_rate_of(counts)
        share = f"{rate.passed:,} of {rate.judged:,} ({rate.percent}, likely {rate.bounds} %)"
        parts.append(f"{name or 'unnamed'} passed {share if rate.judged else 'none (nothing could be decided)'}")
    more = len(ranked) - len(parts)
    return "; ".join(parts) + (f"; and {pluralize(more, 'more candidate')}." if more else ".")


def _outcome_sentence(counts: Counts) -> str:
    rate = pass_rate_of(counts)
    if rate.interval is None:
        return "No case could be decided."
    if not counts.failed:
        rest = format_percent(1 - rate.interval[0])
        decided = "" if counts.passed == counts.total else " that could be decided"
        whole = f"All {counts.passed:,}" if counts.passed > 1 else "The one case"
        return f"{whole}{decided} passed; with no more than that, up to about {rest} could still fail."
    return f"{rate.passed:,} of {rate.judged:,} passed ({rate.percent}, likely {rate.bounds} %)."


OUTCOME_MARKS = {
    GateOutcome.HELD: VerdictMark(PASSED.sign, PASSED.plain, "held", PASSED.style),
    GateOutcome.FAILED: VerdictMark(FAILED.sign, FAILED.plain, "failed", FAILED.style),
    GateOutcome.INCONCLUSIVE: VerdictMark(ERRORED.sign, ERRORED.plain, "inconclusive", "bold yellow"),
}
OUTCOME_CLASSES = {GateOutcome.HELD: "passed", GateOutcome.FAILED: "failed", GateOutcome.INCONCLUSIVE: "errored"}
"""CSS classes."""


def gate_name(ruling: GateRuling) -> str:
    return f"{ruling.expression} ({ruling.candidate})" if ruling.candidate else ruling.expression


def gates_conclusion(rulings: tuple[GateRuling, ...]) -> str:
    """All gates in one sentence; one that several candidates are held to counts as one gate."""
    worst = worst_outcome(rulings)
    count = len({each.expression for each in rulings})
    alike = len({each.expression for each in rulings if each.outcome is worst})
    match worst:
        case GateOutcome.HELD:
            return "The gate held." if count == 1 else f"All {count} gates held."
        case GateOutcome.FAILED:
            return f"{alike} of {pluralize(count, 'gate')} failed."
        case GateOutcome.INCONCLUSIVE:
            return f"No gate failed, but {alike} of {pluralize(count, 'gate')} cannot be decided."


def gate_shape(ruling: GateRuling) -> dict[str, Any]:
    """One entry of `gates`. An infinite end of an interval is null."""
    shape: dict[str, Any] = {
        "expression": ruling.expression,
        "outcome": ruling.outcome.value,
        "value": _known(ruling.value),
        "interval": None if ruling.interval is None else [_known(end) for end in ruling.interval],
        "n": ruling.n,
        "unjudged": ruling.unjudged,
        "reason": ruling.reason,
        "needed_cases": ruling.needed_cases,
    }
    return shape | ({"candidate": ruling.candidate} if ruling.candidate else {})


def _known(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None
