"""A triage as a Markdown document. Foreign text is escaped: it cannot become markup. Every case id is in it; what was
said of them is cut where there are very many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from howsure.model.triage import CauseGroup, Claim, Finding, Group, Priority, Triage
from howsure.reports.figures import counted
from howsure.reports.markdown import escaped, table
from howsure.reports.triage_words import (
    KIND_WORDS,
    PRIORITY_WORDS,
    SPLIT_ADVICE,
    SPLIT_WORDS,
    dropped,
    headline,
    kinds,
    of,
    splits,
)

SHOWN_FINDINGS = 50
SHOWN_GROUPS = 20


def triage_markdown(found: Triage) -> str:
    """The whole document."""
    return "\n\n".join(_blocks(found)) + "\n"


def _blocks(found: Triage) -> Iterator[str]:
    yield f"# Triage of {escaped(found.run_name or found.run_id)}"
    yield f"**{escaped(headline(found))}**"
    yield f"Run {escaped(found.run_id)}."
    yield from _written(found)
    by_result = {finding.result: finding for finding in found.findings}
    for priority in Priority:
        some = [group for group in found.causes if group.priority is priority]
        if some:
            yield f"## {priority.value}: {PRIORITY_WORDS[priority]}"
        for group in some:
            yield from _cause(group, [by_result[result] for result in group.results[:SHOWN_FINDINGS]])
    yield from _divergences(found)
    for kind, groups in kinds(found):
        yield f"## In common: {KIND_WORDS[kind]}"
        yield table(("", "results:", "answerable", "cases"), [_group(group) for group in groups[:SHOWN_GROUPS]])
        if len(groups) > SHOWN_GROUPS:
            yield f"{len(groups) - SHOWN_GROUPS:,} more groups are not shown here; `--json` has all."


def _cause(group: CauseGroup, shown: Sequence[Finding]) -> Iterator[str]:
    yield f"### {group.title} ({group.party.words}, {counted(len(group.results), 'result')})"
    yield f"{group.advice}"
    lines = [
        [
            _named(finding.result, finding.case_name),
            finding.confidence.value,
            escaped(finding.why),
            escaped(finding.evidence),
        ]
        for finding in shown
    ]
    yield table(("case", "how sure", "why", "evidence"), lines)
    if len(group.results) > len(shown):
        yield f"And {', '.join(map(escaped, group.results[len(shown) :]))}."


def _divergences(found: Triage) -> Iterator[str]:
    for split, some in splits(found):
        yield f"## Divergence: {SPLIT_WORDS[split].lower()}"
        yield SPLIT_ADVICE[split]
        lines = [
            [_named(each.result, each.case_name), each.party.words, escaped("; ".join(each.failed))] for each in some
        ]
        yield table(("case", "answerable", "failed"), lines)


def _group(group: Group) -> list[str]:
    parties = ", ".join(f"{party.replace('_', ' ')} {number:,}" for party, number in group.parties.items())
    return [escaped(group.name or "unnamed"), of(group), parties, ", ".join(map(escaped, group.cases))]


def _written(found: Triage) -> Iterator[str]:
    report = found.written
    if not report.judge:
        if report.note:
            yield f"> {escaped(report.note)}"
        return
    yield "## Root causes"
    yield f"Written by {escaped(report.judge)} ({escaped(report.prompt)})."
    for text in (report.note, report.summary):
        if text:
            yield escaped(text)
    for claim in report.claims:
        yield from _claim(claim)
    if said := dropped(report):
        yield f"> {escaped(said)}"


def _claim(claim: Claim) -> Iterator[str]:
    yield f"### {escaped(claim.title)} ({claim.party.words})"
    yield escaped(claim.explanation)
    yield f"**Fix:** {escaped(claim.fix)}"
    yield f"Cases: {', '.join(map(escaped, claim.cases))}"


def _named(result: str, name: str) -> str:
    return escaped(result) + (f" ({escaped(name)})" if name else "")
