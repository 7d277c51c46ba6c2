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
from howsure.reports.document import BLANK, Block, Paragraph, ReportDocument, TextSpan, escaped, line, markdown_table
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
    Priority.AGENT: "Then the agent",
    Priority.RETRIEVAL: "Then what it searches",
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


def _group_size(group: TriageGroup) -> str:
    """`3 of 12`; where the whole is not known, `3`."""
    return f"{group.results:,}" if group.of is None else f"{group.results:,} of {group.of:,}"


def _by_kind(kinds: Iterable[K], entries: Sequence[E], kind_of: Callable[[E], K]) -> list[tuple[K, list[E]]]:
    """The entries of each kind, in the order of the kinds; kinds without any are left out."""
    sorted_out = ((kind, [entry for entry in entries if kind_of(entry) is kind]) for kind in kinds)
    return [(kind, own) for kind, own in sorted_out if own]


def triage_report(triage: Triage, written: bool = True) -> ReportDocument:
    """`written` False: without the written report, where nobody could have asked for one."""
    return ReportDocument(
        [
            Paragraph(line(triage.run_name or triage.run_id, style="bold")),
            Paragraph(triage_headline(triage)),
            *_causes(triage),
            *_divergences(triage),
            *_in_common(triage),
            *(_written(triage.written) if written else ()),
        ]
    )


def _causes(triage: Triage) -> Iterator[Block]:
    by_result = {finding.result: finding for finding in triage.findings}
    for priority, groups in _by_kind(Priority, triage.causes, lambda group: group.priority):
        yield BLANK
        yield Paragraph((TextSpan(f"{priority.value}  ", "bold"), TextSpan(PRIORITY_WORDS[priority], "bold")))
        for group in groups:
            size = TextSpan(pluralize(len(group.results), "result"), "dim")
            yield BLANK
            yield Paragraph((TextSpan(group.party.words, "cyan"), f"  {group.title}  ", size), indent=2)
            for finding in (by_result[result] for result in group.results[:SHOWN_FINDINGS]):
                confidence = TextSpan("  " + finding.confidence.value, "dim")
                yield Paragraph((_result_name(finding), confidence), indent=4)
                yield Paragraph(line(finding_reason(finding), REASON_LENGTH, "dim"), indent=6)
            yield from _more(len(group.results), SHOWN_FINDINGS)
            yield Paragraph(f"→ {group.advice}", indent=4)


def _result_name(about: Finding | Divergence) -> TextSpan:
    return line(f"{about.result}  {about.case_name}".rstrip(), style="bold")


def _more(count: int, shown: int, indent: int = 4) -> Iterator[Block]:
    if count > shown:
        yield Paragraph(f"… and {count - shown:,} more (--json lists all)", "dim", indent)


def _divergences(triage: Triage) -> Iterator[Block]:
    for kind, divergences in _by_kind(DivergenceKind, triage.divergences, lambda each: each.split):
        heading, advice = DIVERGENCE_WORDS[kind]
        size = TextSpan(pluralize(len(divergences), "result"), "dim")
        yield BLANK
        yield Paragraph((TextSpan("Divergence  ", "bold"), f"{heading}  ", size))
        for each in divergences[:SHOWN_DIVERGENCES]:
            yield Paragraph((_result_name(each), TextSpan("  " + each.party.words, "cyan")), indent=4)
            yield from (Paragraph(line(text, REASON_LENGTH, "dim"), indent=6) for text in each.failed)
        yield from _more(len(divergences), SHOWN_DIVERGENCES)
        yield Paragraph(f"→ {advice}", indent=4)


def _in_common(triage: Triage) -> Iterator[Block]:
    """Groups of one are of use to programs only; rules alone are shown whatever the size of their group."""
    shared = [
        (kind, [group for group in groups if group.results > 1 or kind is GroupKind.RULE])
        for kind, groups in _by_kind(GroupKind, triage.groups, lambda group: group.kind)
    ]
    if not any(groups for _, groups in shared):
        return
    yield BLANK
    yield Paragraph("In common", "bold")
    for kind, groups in shared:
        for place, group in enumerate(groups[:SHOWN_GROUPS]):
            heading = TextSpan(f"  {'' if place else KIND_WORDS[kind]:<15}", "dim")
            name = TextSpan(group.name or "unnamed", limit=-34, lines=1, least=20)
            more = len(group.cases) - SHOWN_CASES
            cases = ", ".join(group.cases[:SHOWN_CASES]) + (f" … and {more:,} more" if more > 0 else "")
            yield Paragraph((heading, name, TextSpan(f"  {_group_size(group)}", "bold")))
            yield Paragraph(line(cases, style="dim"), indent=17)
        yield from _more(len(groups), SHOWN_GROUPS, 17)


def _written(report: RootCauseReport) -> Iterator[Block]:
    yield BLANK
    if not report.judge:
        yield Paragraph(report.note, "dim")
        return
    yield Paragraph((TextSpan("Root causes  ", "bold"), line(f"written by {report.judge}", style="dim")))
    if report.note:
        yield Paragraph(report.note, "magenta", 2)
    if report.summary:
        yield Paragraph(report.summary, indent=2)
    for claim in report.claims:
        yield BLANK
        yield Paragraph((TextSpan(claim.party.words, "cyan"), "  ", line(claim.title, style="bold")), indent=2)
        yield Paragraph(claim.explanation, indent=4)
        yield Paragraph(f"→ {claim.fix}", indent=4)
        yield Paragraph(line(f"cases: {', '.join(claim.cases)}", style="dim"), indent=4)
    if dropped := dropped_claims(report):
        yield BLANK
        yield Paragraph(dropped, "magenta", 2)


def triage_markdown(triage: Triage) -> str:
    """The whole document. Foreign text is escaped: it cannot become markup."""
    return "\n\n".join(_markdown_blocks(triage)) + "\n"


def _markdown_blocks(triage: Triage) -> Iterator[str]:
    yield f"# Triage of {escaped(triage.run_name or triage.run_id)}"
    yield f"**{escaped(triage_headline(triage))}**"
    yield f"Run {escaped(triage.run_id)}."
    yield from _markdown_written(triage.written)
    yield from _markdown_causes(triage)
    for kind, divergences in _by_kind(DivergenceKind, triage.divergences, lambda each: each.split):
        heading, advice = DIVERGENCE_WORDS[kind]
        yield f"## Divergence: {heading.lower()}"
        yield advice
        rows = [(_markdown_name(each), each.party.words, escaped("; ".join(each.failed))) for each in divergences]
        yield markdown_table(("case", "answerable", "failed"), rows)
    for group_kind, groups in _by_kind(GroupKind, triage.groups, lambda group: group.kind):
        yield f"## In common: {KIND_WORDS[group_kind]}"
        group_rows = []
        for group in groups[:MARKDOWN_GROUPS]:
            parties = ", ".join(f"{party.replace('_', ' ')} {number:,}" for party, number in group.parties.items())
            cases = ", ".join(map(escaped, group.cases))
            group_rows.append((escaped(group.name or "unnamed"), _group_size(group), parties, cases))
        yield markdown_table(("", "results:", "answerable", "cases"), group_rows)
        if len(groups) > MARKDOWN_GROUPS:
            yield f"{len(groups) - MARKDOWN_GROUPS:,} more groups are not shown here; `--json` has all."


def _markdown_causes(triage: Triage) -> Iterator[str]:
    by_result = {finding.result: finding for finding in triage.findings}
    for priority, groups in _by_kind(Priority, triage.causes, lambda group: group.priority):
        yield f"## {priority.value}: {PRIORITY_WORDS[priority]}"
        for group in groups:
            findings = [by_result[result] for result in group.results[:MARKDOWN_FINDINGS]]
            rows = [
                (_markdown_name(each), each.confidence.value, escaped(each.why), escaped(each.evidence))
                for each in findings
            ]
            yield f"### {group.title} ({group.party.words}, {pluralize(len(group.results), 'result')})"
            yield group.advice
            yield markdown_table(("case", "how sure", "why", "evidence"), rows)
            if rest := group.results[MARKDOWN_FINDINGS:]:
                yield f"And {', '.join(map(escaped, rest))}."


def _markdown_name(about: Finding | Divergence) -> str:
    return escaped(about.result) + (f" ({escaped(about.case_name)})" if about.case_name else "")


def _markdown_written(report: RootCauseReport) -> Iterator[str]:
    if not report.judge:
        if report.note:
            yield f"> {escaped(report.note)}"
        return
    yield "## Root causes"
    yield f"Written by {escaped(report.judge)} ({escaped(report.prompt)})."
    yield from (escaped(text) for text in (report.note, report.summary) if text)
    for claim in report.claims:
        yield f"### {escaped(claim.title)} ({claim.party.words})"
        yield escaped(claim.explanation)
        yield f"**Fix:** {escaped(claim.fix)}"
        yield f"Cases: {', '.join(map(escaped, claim.cases))}"
    if dropped := dropped_claims(report):
        yield f"> {escaped(dropped)}"
