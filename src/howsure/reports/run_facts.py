"""What every report says of a run in words: the answer as one sentence, what was tried against what and judged by whom,
what limits the numbers, how the gates were ruled on, and what to do next. case_facts.py has the words about one
result."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from msgspec import json

from howsure.model.run import Counts, ModelSpending, Pins, Run, RunState
from howsure.model.run_request import OFFLINE
from howsure.model.summary import GateOutcome, GateRuling, GraderSummary, SliceCounts, Summary, worst_outcome
from howsure.reports.figures import (
    ERRORED,
    FAILED,
    PASSED,
    Rate,
    VerdictMark,
    format_percent,
    pass_mark_text,
    pass_rate_of,
    pluralize,
)
from howsure.reports.safe_text import one_line

FIDELITY = "simulator_fidelity"
NO_JUDGE = "no judge"
NAMED_CANDIDATES = 3
OPTION_LENGTH = 60


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
    if judge == OFFLINE and asked_judge(summary):
        return "Judged offline, by rules of thumb and not by a model: take judged grades as hints."
    if not judge and any(grader.no_judge for grader in summary.graders):
        return "This run had no judge: grades that need one were not given."
    return ""


def asked_judge(summary: Summary) -> bool:
    """Whether a grader asked the judge. Where that is not known, as in runs of older versions: yes."""
    known = summary.run.pins.judged
    asked = (each.name for each in summary.graders if each.scored or each.errored or each.not_applicable)
    return known is None or not set(known).isdisjoint(asked)


def dataset_names(pins: Pins) -> list[str]:
    """`refunds.json (golden, 12 cases)`; where not all are in the run: `refunds.json (golden, 2 of 12 cases)`."""
    names = []
    for pin in pins.datasets:
        some = "" if pin.selected in (None, pin.cases) else f"{pin.selected:,} of "
        known = [part for part in (pin.dialect, some + pluralize(pin.cases, "case") if pin.cases else "") if part]
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
        ("target", pins.target_text),
        ("agent", pins.agent.name if pins.agent else ""),
        ("user", f"simulated: {pins.request.simulator}{again}" if pins.request.simulator else ""),
        ("judge", judge_name(pins)),
        ("spent", spending_text(run.spent) if run.spent else ""),
        ("rubric", f"{pins.rubric.name} v{pins.rubric.version}" if pins.rubric else ""),
        *_request_facts(pins),
        ("state", "" if run.state is RunState.COMPLETED else run.state.value),
        ("error", run.error),
    ]
    return [(name, value) for name, value in facts if value]


def _request_facts(pins: Pins) -> list[tuple[str, str]]:
    """What was asked for and shaped the run."""
    request = pins.request
    marks = ", ".join(f"{name} {pass_mark_text(mark)}" for name, mark in pins.marks.items())
    components = [*([request.component_scope] if request.component_scope else []), *request.component_ids]
    settings = [f"{name} {_option_text(value)}" for name, value in pins.settings.items()]
    return [
        ("profile", f"{request.profile} ({marks})" if marks else request.profile),
        ("graders", ", ".join(request.graders or ())),
        ("evals", ", ".join(PurePath(pin.path).name for pin in pins.evals)),
        ("filter", "; ".join(f"{key}: {' or '.join(values)}" for key, values in request.filters.items())),
        ("limit", f"the first {pluralize(request.limit, 'case')}" if request.limit else ""),
        ("repeats", str(request.repeat) if request.repeat > 1 else ""),
        ("normalization", request.normalization.value if request.normalization else ""),
        ("components", ", ".join(components)),
        ("batched", "all criteria of a case in one call" if request.batch_criteria else ""),
        ("session", f"starts with {', '.join(request.state)}" if request.state else ""),
        ("budget", request.budget),
        ("settings", "; ".join(settings)),
    ]


def _option_text(value: Any) -> str:
    """`temperature 0.2, top_p 0.9`."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_option_text(each)}" for name, each in value.items())
    return str(value).lower() if isinstance(value, bool) else one_line(str(value), OPTION_LENGTH)


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
    """The candidates of one grader under each other, in their order; graders in the order of the summary."""
    order = {name: place for place, name in enumerate(dict.fromkeys(grader.name for grader in summary.graders))}
    rank = {name: place for place, name in enumerate(summary.candidates)}
    return sorted(summary.graders, key=lambda grader: (order[grader.name], rank.get(grader.candidate, 0)))


USUAL_SLICES = ("agent", "agent_name", "quality_band", "difficulty", "file", "dataset", "task_type", "type", "tag")
"""The labels that a run is broken down by unasked."""
SliceGroups = list[tuple[str, list[SliceCounts]]]


def slice_groups(summary: Summary, label: str = "") -> SliceGroups:
    """By label: the usual ones, or only this. Values of which least is certain come first."""
    groups: SliceGroups = []
    ranks = {name: place for place, name in enumerate(summary.candidates)}
    for name in (label,) if label else USUAL_SLICES:
        own = [each for each in summary.slices if each.label == name]
        least: dict[str, float] = {}
        for each in own:
            least[each.value] = min(least.get(each.value, 1.0), each.counts.certain_rate)
        own.sort(key=lambda each: (least[each.value], each.value, ranks.get(each.candidate, 0)))
        groups += [(name, own)] if own else []
    return groups


def run_notes(summary: Summary) -> Iterator[str]:
    """What a reader must know besides the numbers: what was known before the run, what was asked for and had no effect,
    what results are flagged, and what limits the numbers: repeats of one case resemble each other, so that an interval
    that counts them as separate cases is too narrow; and a simulated user may spoil conversations."""
    pins, request = summary.run.pins, summary.run.pins.request
    yield from pins.notes
    if summary.run.state is RunState.COMPLETED and summary.candidates:
        known = {each.name for each in summary.graders if each.scored or each.errored}
        if idle := [name for name in pins.marks if name not in known]:
            yield f"No case was graded by {', '.join(idle)}: the profile {request.profile} sets marks there in vain."
        if request.judge not in ("", OFFLINE) and not asked_judge(summary):
            yield f"The judge {judge_name(pins)} was never asked: no grader here asks one (--graders +NAME adds one)."
    if summary.flags:
        yield f"Flagged: {', '.join(f'{kind} {number:,}' for kind, number in summary.flags.items())}."
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
    rate = pass_rate_of(counts)
    if rate.judged and rate.of_all and len(candidates) < 2:
        answer += f" Counted either way: {rate.of_all}."
    if counts.pending:
        answer += f" Not finished: {counts.pending:,} of {counts.total:,} still to do."
    return answer


def _candidates_sentence(candidates: dict[str, Counts]) -> str:
    """Each by name, what is certain first; a pooled rate would say nothing about any of them."""
    ranked = sorted(candidates.items(), key=lambda pair: (-pair[1].certain_rate, pair[0]))
    parts = []
    for name, counts in ranked[:NAMED_CANDIDATES]:
        rate = pass_rate_of(counts)
        among = f"; {rate.of_all}" if rate.errored else ""
        share = f"{rate.passed:,} of {rate.judged:,} ({rate.percent}, likely {rate.bounds} %{among})"
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
    shape: dict[str, Any] = json.decode(json.encode(ruling))
    if not ruling.candidate:
        del shape["candidate"]
    return shape
