"""The answer of a run as one sentence: the same words on the page, in the terminal and in every file."""

from __future__ import annotations

from howsure.model.run import Counts
from howsure.model.summary import Summary
from howsure.reports.figures import Rate, counted, percent

NAMED_CANDIDATES = 3


def sentence(summary: Summary) -> str:
    """What came of the run, and how sure that is."""
    counts = summary.run.counts
    if not counts.total:
        return "There were no cases to try."
    named = {name: own for name, own in summary.candidates.items() if own.total}
    said = _candidates(named) if len(named) > 1 else _outcome(counts)
    return f"{said}{_unjudged(counts)}{_unfinished(counts)}"


def rate_of(counts: Counts) -> Rate:
    return Rate(counts.passed, counts.passed + counts.failed)


def _candidates(named: dict[str, Counts]) -> str:
    """Each by name, the best first; a pooled rate would say nothing about any of them."""
    ranked = sorted(named.items(), key=lambda pair: (-(rate_of(pair[1]).value or 0.0), pair[0]))
    said = [f"{name or 'unnamed'} passed {_share(own)}" for name, own in ranked[:NAMED_CANDIDATES]]
    more = len(ranked) - len(said)
    return "; ".join(said) + (f"; and {counted(more, 'more candidate')}." if more else ".")


def _outcome(counts: Counts) -> str:
    rate = rate_of(counts)
    if rate.interval is None:
        return "No case could be decided."
    if not counts.failed:
        rest = percent(1 - rate.interval[0])
        decided = "" if counts.passed == counts.total else " that could be decided"
        whole = f"All {counts.passed:,}" if counts.passed > 1 else "The one case"
        return f"{whole}{decided} passed; with no more than that, up to about {rest} could still fail."
    return f"{rate.passed:,} of {rate.judged:,} passed ({rate.percent}, likely {rate.bounds} %)."


def _share(counts: Counts) -> str:
    rate = rate_of(counts)
    if not rate.judged:
        return "none (nothing could be decided)"
    return f"{rate.passed:,} of {rate.judged:,} ({rate.percent}, likely {rate.bounds} %)"


def _unjudged(counts: Counts) -> str:
    parts = [(counts.errored, "errored"), (counts.skipped, "skipped")]
    said = " and ".join(f"{count:,} {word}" for count, word in parts if count)
    return f" {said[:1].upper()}{said[1:]}: not counted as failures." if said else ""


def _unfinished(counts: Counts) -> str:
    return f" Not finished: {counts.pending:,} of {counts.total:,} still to do." if counts.pending else ""
