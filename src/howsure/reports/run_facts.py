"""What every report says of a run in words: the answer as one sentence, what was tried against what and judged by whom,
what limits the numbers, how the gates were ruled on, and what to do next. case_facts.py has the words about one
result."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from typing import Any

from msgspec import json

from howsure.model.comparison import Difference
from howsure.model.flag import UnreadableKind
from howsure.model.result import DECIDED_EARLY
from howsure.model.run import Counts, ModelSpending, Pins, Run, RunState
from howsure.model.run_request import OFFLINE
from howsure.model.summary import (
    AnswerTotals,
    GateOutcome,
    GateRuling,
    GraderSummary,
    SliceCounts,
    Summary,
    worst_outcome,
)
from howsure.model.tool_runs import ToolRun
from howsure.reports.figures import (
    ERRORED,
    FAILED,
    NOTHING,
    PASSED,
    Rate,
    VerdictMark,
    format_dollars,
    format_percent,
    format_seconds,
    pass_mark_text,
    pass_rate_of,
    pluralize,
)
from howsure.reports.headlines import grader_name
from howsure.reports.safe_text import one_line

FIDELITY = "simulator_fidelity"
NO_JUDGE = "no judge"
NAMED_CANDIDATES = 3
OPTION_LENGTH = 60
SIGNED = re.compile(r"(?<!\w)\w+$")
"""A grader that is asked for, after its sign."""
UNREADABLE = {kind.flag: kind.value for kind in UnreadableKind}
"""The flags of judges' replies that cannot be read, with their words."""


def short_id(run: Run) -> str:
    """Enough of the id to name the run on the command line."""
    return run.id[:8]


def judge_name(pins: Pins) -> str:
    """The judge's name; of a recording, the file's name without its folders."""
    return without_folders(pins.request.judge) or NO_JUDGE


def without_folders(judge: str) -> str:
    kind, colon, path = judge.partition(":")
    return f"{kind}:{PurePath(path).name}" if colon and kind == "recorded" else judge


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


FOLDERS = re.compile(r"(?<![\w/.~-])/(?!/)(?:[^\s/,]+/)+|\b[A-Za-z]:\\(?:[^\s\\,]+\\)+")
"""The folders of an absolute path; of an address on the web, none."""


def run_facts(run: Run, *, in_words: bool = False) -> list[tuple[str, str]]:
    """Name and value, in reading order, without options at their default. `in_words`: as people read them, with the
    names of graders in words and files without their folders."""
    pins, replays = run.pins, run.pins.request.replays
    again = f", spoiled conversations played again up to {replays} times" if replays else ""
    again = ", a spoiled conversation played again" if replays == 1 else again
    facts = [
        ("dataset", ", ".join(dataset_names(pins))),
        ("criteria", f"pooled from {PurePath(pins.criteria_from.path).name}" if pins.criteria_from else ""),
        ("target", FOLDERS.sub("", pins.target_text) if in_words else pins.target_text),
        ("agent", pins.agent.name if pins.agent else ""),
        ("user", f"simulated: {pins.request.simulator}{again}" if pins.request.simulator else ""),
        ("judge", "" if pins.imported else judge_name(pins)),
        ("imported", tool_run_text(pins.imported) if pins.imported else ""),
        ("spent", spending_text(run.spent) if run.spent else ""),
        ("rubric", f"{pins.rubric.name} v{pins.rubric.version}" if pins.rubric else ""),
        *_request_facts(pins, grader_name if in_words else str),
        ("state", "" if run.state is RunState.COMPLETED else run.state.value),
        ("error", run.error),
    ]
    return [(name, value) for name, value in facts if value]


def tool_run_text(tool: ToolRun) -> str:
    """`inspect 0.3.58: popularity`."""
    return " ".join(filter(None, (tool.tool, tool.version))) + (f": {tool.name}" if tool.name else "")


def _request_facts(pins: Pins, named: Callable[[str], str]) -> list[tuple[str, str]]:
    """What was asked for and shaped the run."""
    request = pins.request
    marks = ", ".join(f"{named(name)} {pass_mark_text(mark)}" for name, mark in pins.marks.items())
    components = [*([request.component_scope] if request.component_scope else []), *request.component_ids]
    settings = [f"{name} {_option_text(value)}" for name, value in pins.settings.items()]
    return [
        ("profile", f"{request.profile} ({marks})" if marks else request.profile),
        ("graders", ", ".join(SIGNED.sub(lambda found: named(found[0]), name) for name in request.graders or ())),
        ("evals", ", ".join(PurePath(pin.path).name for pin in pins.evals)),
        ("filter", "; ".join(f"{key}: {' or '.join(values)}" for key, values in request.filters.items())),
        ("limit", f"the first {pluralize(request.limit, 'case')}" if request.limit else ""),
        ("repeats", str(request.repeat) if request.repeat > 1 else ""),
        ("normalization", request.normalization.value if request.normalization else ""),
        ("components", ", ".join(components)),
        ("partial", "only what was recorded is graded" if request.partial else ""),
        ("batched", "all criteria of a case in one call" if request.batch_criteria else ""),
        ("session", f"starts with {', '.join(request.state)}" if request.state else ""),
        ("budget", request.budget),
        ("until sure", f"{request.until_sure} (order {pins.order_seed})" if request.until_sure else ""),
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


def answers_cost(answers: AnswerTotals | None) -> str:
    """What the agent's answers cost, as they report it; "" if none does."""
    if answers is None or not answers.priced:
        return ""
    return f"{'' if answers.priced == answers.answers else '≥ '}{format_dollars(answers.usd)}"


def answer_time(answers: AnswerTotals | None) -> str:
    """How long the agent took for an answer on average; a dash where nobody recorded it."""
    return format_seconds(answers.seconds / answers.timed) if answers and answers.timed else NOTHING


def answer_facts(answers: AnswerTotals | None) -> list[tuple[str, str]]:
    """Time and cost of the agent's answers; the cost of judges is under `spent`."""
    timed = f"{answer_time(answers)} each" if answers and answers.timed else ""
    tokens = pluralize(answers.tokens, "token") if answers and answers.counted else ""
    told = ", ".join(filter(None, (timed, tokens, answers_cost(answers))))
    return [("answers", told)] if told else []


def next_steps(summary: Summary, first_case: str = "") -> list[tuple[str, str]]:
    """Command and purpose, the most useful first."""
    run, counts = summary.run, summary.run.counts
    name = short_id(run)
    steps = []
    if run.state is RunState.OUT_OF_BUDGET:
        steps.append((f"howsure resume {name} --budget MORE", f"do the {counts.skipped:,} that the budget left out"))
    if unasked := summary.flags.get(DECIDED_EARLY):
        steps.append((f"howsure resume {name}", f"ask the other {unasked:,} too, in the same order"))
    if counts.pending and run.state is not RunState.RUNNING:
        steps.append((f"howsure resume {name}", f"do the remaining {counts.pending:,}"))
    if first_case:
        steps.append((f"howsure show {name} {shell_quote(first_case)}", "see why, with the whole conversation"))
    asked = run.pins.request
    fixed = run.pins.imported or (asked.target in ("", "recorded") and asked.judge in ("", OFFLINE))
    if counts.errored and not fixed:
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
    yield from sure_notes(summary)
    yield from drift_notes(pins)
    if unread := unreadable_text(summary.flags):
        yield f"Judge replies that cannot be read, by results: {unread}."
    if flags := {kind: number for kind, number in summary.flags.items() if kind not in (DECIDED_EARLY, *UNREADABLE)}:
        yield f"Flagged: {', '.join(f'{grader_name(kind)} {number:,}' for kind, number in flags.items())}."
    if request.repeat > 1:
        wider = "and the intervals of run and graders allow for that, those of criteria, rules and labels do not."
        if not summary.run.counts.pass_rate_interval:
            wider = "so the true intervals are wider."
        yield f"Each case was tried {request.repeat} times; repeats are alike, {wider}"
    graded = [grader for grader in summary.graders if grader.name == FIDELITY]
    spoiled, fair = sum(grader.failed for grader in graded), sum(grader.passed for grader in graded)
    if spoiled + fair:
        share, user = Rate(spoiled, spoiled + fair), request.simulator or "of an earlier run"
        yield f"The simulated user ({user}) spoiled {spoiled:,} of {spoiled + fair:,} conversations: {share}."
    if summary.faults:
        parties = ", ".join(f"{party} {number:,}" for party, number in summary.faults.items())
        yield f"Answerable for the scenarios that did not pass: {parties}."


def unreadable_text(flags: Mapping[str, int]) -> str:
    """`3 off the scale, 1 cut off`: judges' replies that cannot be read, by kind; empty where there are none."""
    return ", ".join(f"{flags[flag]:,} {words}" for flag, words in UNREADABLE.items() if flags.get(flag))


DRIFT = {
    True: "The judge has changed: it grades the same answers otherwise than before.",
    False: "The judge has not changed by more than counts as a difference.",
    None: "Cannot tell whether the judge has changed: more anchors would.",
}


def drift_notes(pins: Pins) -> Iterator[str]:
    """The drift measured by the anchors of the run: whether the judge has changed, and how much of a difference comes
    from the judge and from the agent."""
    if (drift := pins.drift) is None:
        return
    yield f"{DRIFT[drift.has_changed]} By the anchors, judged again in run {drift.judged_again[:8]}:"
    for each in drift.candidates:
        agent = f"; by today's judge the agent differs by {points_text(each.agent)}" if each.agent else ""
        who = f"{each.candidate}: " if each.candidate else ""
        graders = ", ".join(grader_name(other.name) for other in each.graders)
        moved = f"; other values by {graders}" if graders else ""
        yield f"{who}pass rate of the same answers {points_text(each.judge)}{moved}{agent}."


def points_text(difference: Difference) -> str:
    """`−25.0 points (−35.5 to −15.5)`, of a difference of pass rates."""
    if difference.difference is None:
        return "not known"
    low, high = difference.interval or (None, None)
    likely = "" if low is None or high is None else f" ({100 * low:+.1f} to {100 * high:+.1f})"
    return f"{100 * difference.difference:+.1f} points{likely}".replace("-", "−")


def sure_text(pins: Pins) -> str:
    """`Sure after 84 of 301 cases: pass_rate >= 0.8 held (81–97 % at every look).`; "" for a run that was not to be
    sure, or has not ended."""
    texts = []
    for ruling in pins.sure:
        looked, cases = ruling.looks or (0, 0)
        ends = ruling.interval or ()
        if ruling.expression.startswith("pass"):
            likely = "–".join(f"{100 * end:.0f}" for end in ends) + " %"
        elif ruling.expression.startswith("no_regression"):
            likely = " to ".join(f"{100 * end:+.1f}" for end in ends) + " points"
        else:
            likely = " to ".join(f"{end:.3g}" for end in ends)
        how = "Sure" if ruling.is_sure else "Not sure"
        outcome = ruling.outcome.value if ruling.is_sure else "is undecided"
        at = f" ({likely} at every look)" if ends else ""
        texts.append(f"{how} after {looked:,} of {cases:,} cases: {gate_name(ruling)} {outcome}{at}.")
    return " ".join(texts)


def sure_notes(summary: Summary) -> Iterator[str]:
    """What a run that stopped when it was sure left out and saved, and what its intervals do not allow for."""
    run, unasked = summary.run, summary.flags.get(DECIDED_EARLY, 0)
    if unasked:
        left_out = f"Stopped early: {unasked:,} of {pluralize(run.counts.total, 'attempt')} were not asked"
        yield f"{left_out}{savings_text(summary, unasked)}."
    if run.pins.sure:
        yield (
            "Somebody looked after every case. The interval of what it was to be sure of allows for that; all others"
            " are those of a fixed number of cases."
        )


def savings_text(summary: Summary, unasked: int) -> str:
    """`, which saved about 0.43 USD`: as much for each as those that were asked have cost; "" if no cost is known."""
    run, answers = summary.run, summary.answers
    # The run itself pays for the models under test.
    own = answers if answers and not run.pins.models else None
    usd = (run.spent.usd if run.spent else 0.0) + (own.usd if own else 0.0)
    tokens = (run.spent.tokens if run.spent else 0) + (own.tokens if own else 0)
    share = unasked / max(run.counts.completed - unasked, 1)
    if usd:
        return f", which saved about {usd * share:,.4f} USD"
    return f", which saved about {tokens * share:,.0f} tokens" if tokens else ""


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
    unasked = summary.flags.get(DECIDED_EARLY, 0)
    skipped = max(counts.skipped - unasked, 0)
    parts = [(counts.errored, "errored"), (skipped, "skipped"), (unasked, "not asked"), (counts.damaged, "damaged")]
    unjudged = " and ".join(f"{count:,} {word}" for count, word in parts if count)
    if unjudged:
        answer += f" {unjudged[:1].upper()}{unjudged[1:]}: not counted as failures."
    rate = pass_rate_of(counts)
    if rate.judged and rate.of_all and len(candidates) < 2:
        answer += f" Counted either way: {rate.of_all}."
    if counts.pending:
        answer += f" Not finished: {counts.pending:,} of {counts.total:,} still to do."
    if sure := sure_text(summary.run.pins):
        answer += f" {sure}"
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
    for name in ("candidate", "looks"):
        if not getattr(ruling, name):
            del shape[name]
    return shape
