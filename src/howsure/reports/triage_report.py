"""A triage on a terminal and as Markdown: causes by priority, divergences, what the failures have in common, and the
root causes that a judge wrote. The terminal shows the first of each; in Markdown every case id is there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from howsure.model.triage import (
    Divergence,
    DivergenceKind,
    Finding,
    GroupKind,
    Priority,
    RootCauseReport,
    Triage,
    TriageGroup,
)
from howsure.reports.document import (
    BLANK,
    Block,
    Heading,
    Notice,
    Paragraph,
    Parts,
    ReportDocument,
    Table,
    TextSpan,
    line,
    markdown,
    more_note,
)
from howsure.reports.figures import pluralize

K = TypeVar("K")
E = TypeVar("E")
SHOWN_FINDINGS = 8
SHOWN_DIVERGENCES = 12
SHOWN_GROUPS = 5
SHOWN_CASES = 6
REASON_LENGTH = 200
MARKDOWN_FINDINGS = 50
MARKDOWN_GROUPS = 20
PRIORITY_WORDS = {
    Priority.EVALUATION: "Mend the evaluation first: these results say nothing about the agent",
    Priority.AGENT: "Mend the agent",
    Priority.RETRIEVAL: "Mend what it searches",
}
DIVERGENCE_WORDS = {
    DivergenceKind.CRITERIA_FAIL: (
        "Criteria fail, every rule holds",
        "Are the criteria too strict? Read the answer: where it is good, change the criterion.",
    ),
    DivergenceKind.RUBRIC_FAIL: (
        "Criteria hold, a rule fails",
        "A real violation, or a rule that does not apply here? Narrow the rule in the second case.",
    ),
}
"""The heading, and what to do about it."""
KIND_WORDS = {
    GroupKind.RULE: "by rule",
    GroupKind.CRITERION: "by criterion",
    GroupKind.GRADER: "by grader",
    GroupKind.COMPONENT: "by component",
    GroupKind.TOOL: "by tool",
    GroupKind.TAG: "by tag",
    GroupKind.CANDIDATE: "by candidate",
    GroupKind.REASON: "reasons alike",
}


def triage_headline(triage: Triage) -> str:
    """`12 results: 8 passed, 3 failed, 1 errored.`"""
    parts = [f"{triage.passed:,} passed", f"{triage.failed:,} failed", f"{triage.errored:,} errored"]
    parts += [f"{triage.skipped:,} skipped"] if triage.skipped else []
    counts = f"{pluralize(triage.total, 'result')}: {', '.join(parts)}."
    if not triage.findings:
        return f"{counts} There is nothing to triage."
    parties: dict[str, int] = {}
    for finding in triage.findings:
        parties[finding.party.words] = parties.get(finding.party.words, 0) + 1
    ranked = sorted(parties.items(), key=lambda pair: (-pair[1], pair[0]))
    return f"{counts} Answerable: {', '.join(f'{party} {number:,}' for party, number in ranked)}."


def finding_reason(finding: Finding) -> str:
    """The reason and the evidence, without saying the same twice."""
    if finding.why in finding.evidence or not finding.evidence:
        return finding.evidence or finding.why
    return f"{finding.why}: {finding.evidence}"


def dropped_claims(report: RootCauseReport) -> str:
    """What was left out of a written report; empty when nothing was."""
    if not report.dropped:
        return ""
    unknown = f": {', '.join(report.unknown)}" if report.unknown else ""
    what = f"{pluralize(report.dropped, 'claim')} of the judge left out"
    return f"{what}: cited cases that did not fail in this run, or none{unknown}."


def _by_kind(kinds: Iterable[K], entries: Sequence[E], kind_of: Callable[[E], K]) -> list[tuple[K, list[E]]]:
    """The entries of each kind, in the order of the kinds; kinds without any are left out."""
    sorted_out = ((kind, [entry for entry in entries if kind_of(entry) is kind]) for kind in kinds)
    return [(kind, own) for kind, own in sorted_out if own]


def triage_report(triage: Triage, written: bool = True) -> ReportDocument:
    """`written` False: without the written report, where nobody could have asked for one."""
    title, head = Heading(triage.run_name or triage.run_id, level=1), Paragraph(triage_headline(triage))
    causes = _written(triage.written) if written else ()
    return ReportDocument([title, head, *_blocks(triage, whole=False), *causes])


def triage_markdown(triage: Triage) -> str:
    title, run = Heading(f"Triage of {triage.run_name or triage.run_id}", level=1), Paragraph(f"Run {triage.run_id}.")
    head = (title, Paragraph(triage_headline(triage), "bold"), run)
    return markdown([*head, *_written(triage.written), *_blocks(triage, whole=True)]) + "\n"


def _blocks(triage: Triage, *, whole: bool) -> Iterator[Block]:
    """`whole` False: the first of each kind, and of groups only those of several results."""
    by_result = {finding.result: finding for finding in triage.findings}
    most = MARKDOWN_FINDINGS if whole else SHOWN_FINDINGS
    for priority, causes in _by_kind(Priority, triage.causes, lambda group: group.priority):
        yield Heading(f"{priority.value}: {PRIORITY_WORDS[priority]}")
        for cause in causes:
            findings = [by_result[result] for result in cause.results[:most]]
            rows = [(_name(each), each.confidence.value, _reason(finding_reason(each))) for each in findings]
            yield Heading(f"{cause.title} ({cause.party.words}, {pluralize(len(cause.results), 'result')})", level=3)
            yield Paragraph(cause.advice)
            yield Table(("case", "how sure", "why"), rows, tight=True)
            if whole and cause.results[most:]:
                yield Paragraph(f"And {', '.join(cause.results[most:])}.")
            else:
                yield from more_note(len(cause.results), most)
    for split, divergences in _by_kind(DivergenceKind, triage.divergences, lambda each: each.split):
        heading, advice = DIVERGENCE_WORDS[split]
        most = len(divergences) if whole else SHOWN_DIVERGENCES
        failed = [(_name(each), each.party.words, _reason("; ".join(each.failed))) for each in divergences[:most]]
        yield Heading(f"Divergence: {heading.lower()}")
        yield Paragraph(advice)
        yield Table(("case", "answerable", "failed"), failed, tight=True)
        yield from more_note(len(divergences), most)
    for kind, groups in _by_kind(GroupKind, triage.groups, lambda group: group.kind):
        # Rules are shown whatever the size of their group.
        shared = [group for group in groups if whole or group.results > 1 or kind is GroupKind.RULE]
        if shared:
            yield Heading(f"In common: {KIND_WORDS[kind]}")
            yield _groups_table(shared, whole)
            yield from more_note(len(shared), MARKDOWN_GROUPS if whole else SHOWN_GROUPS)


def _groups_table(groups: Sequence[TriageGroup], whole: bool) -> Table:
    rows: list[tuple[Parts, ...]] = []
    for group in groups[: MARKDOWN_GROUPS if whole else SHOWN_GROUPS]:
        parties = ", ".join(f"{party.replace('_', ' ')} {number:,}" for party, number in group.parties.items())
        size = f"{group.results:,}" if group.of is None else f"{group.results:,} of {group.of:,}"
        most = len(group.cases) if whole else SHOWN_CASES
        more = f" … and {len(group.cases) - most:,} more" if len(group.cases) > most else ""
        rows.append((line(group.name or "unnamed"), size, parties, line(", ".join(group.cases[:most]) + more)))
    return Table(("", "results:", "answerable", "cases"), rows, tight=True)


def _name(about: Finding | Divergence) -> TextSpan:
    return line(f"{about.result} ({about.case_name})" if about.case_name else about.result, style="bold")


def _reason(text: str) -> TextSpan:
    return line(text, REASON_LENGTH, "dim")


def _written(report: RootCauseReport) -> Iterator[Block]:
    yield Heading("Root causes") if report.judge else BLANK
    if report.judge:
        prompt = f" ({report.prompt})" if report.prompt else ""
        yield Paragraph(f"Written by {report.judge}{prompt}.", "dim")
    if report.note:
        yield Notice(report.note)
    if report.summary:
        yield Paragraph(report.summary)
    for claim in report.claims:
        yield Heading(f"{claim.title} ({claim.party.words})", level=3)
        yield Paragraph(claim.explanation)
        yield Paragraph(f"Fix: {claim.fix}")
        yield Paragraph(f"Cases: {', '.join(claim.cases)}", "dim")
    if dropped := dropped_claims(report):
        yield Notice(dropped)
