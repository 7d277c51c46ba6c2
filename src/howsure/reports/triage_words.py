"""What both forms of a triage say alike: headings, counts, and how cases are listed."""

from __future__ import annotations

from collections.abc import Sequence

from howsure.model.triage import Divergence, Finding, Group, GroupKind, Priority, Split, Triage, Written
from howsure.reports.figures import counted

PRIORITY_WORDS = {
    Priority.EVALUATION: "Mend the evaluation first: these results say nothing about the agent",
    Priority.AGENT: "Then the agent",
    Priority.RETRIEVAL: "Then what it searches",
}
SPLIT_WORDS = {
    Split.CRITERIA_FAIL: "Criteria fail, every rule holds",
    Split.RUBRIC_FAIL: "Criteria hold, a rule fails",
}
SPLIT_ADVICE = {
    Split.CRITERIA_FAIL: "Are the criteria too strict? Read the answer: where it is good, change the criterion.",
    Split.RUBRIC_FAIL: "A real violation, or a rule that does not apply here? Narrow the rule in the second case.",
}
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


def headline(found: Triage) -> str:
    """`12 results: 8 passed, 3 failed, 1 errored.`"""
    parts = [f"{found.passed:,} passed", f"{found.failed:,} failed", f"{found.errored:,} errored"]
    parts += [f"{found.skipped:,} skipped"] if found.skipped else []
    said = f"{counted(found.total, 'result')}: {', '.join(parts)}."
    if not found.findings:
        return f"{said} There is nothing to triage."
    parties: dict[str, int] = {}
    for finding in found.findings:
        parties[finding.party.words] = parties.get(finding.party.words, 0) + 1
    ranked = sorted(parties.items(), key=lambda each: (-each[1], each[0]))
    return f"{said} Answerable: {', '.join(f'{party} {number:,}' for party, number in ranked)}."


def because(finding: Finding) -> str:
    """Why, and what shows it, said once."""
    if finding.why in finding.evidence or not finding.evidence:
        return finding.evidence or finding.why
    return f"{finding.why}: {finding.evidence}"


def of(group: Group) -> str:
    """`3 of 12`; where the whole is not known, `3`."""
    return f"{group.results:,}" if group.of is None else f"{group.results:,} of {group.of:,}"


def splits(found: Triage) -> list[tuple[Split, list[Divergence]]]:
    """The divergences, each kind with its own."""
    sorted_out = ((split, [each for each in found.divergences if each.split is split]) for split in Split)
    return [(split, some) for split, some in sorted_out if some]


def kinds(found: Triage) -> list[tuple[GroupKind, list[Group]]]:
    sorted_out = ((kind, [group for group in found.groups if group.kind is kind]) for kind in GroupKind)
    return [(kind, some) for kind, some in sorted_out if some]


def listed(names: Sequence[str], most: int) -> str:
    """The first of them, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" … and {more:,} more" if more > 0 else "")


def dropped(written: Written) -> str:
    """What was left out of a written report, aloud; empty when nothing was."""
    if not written.dropped:
        return ""
    what = f"{counted(written.dropped, 'claim')} of the judge left out"
    why = "cited cases that did not fail in this run, or none"
    strange = f": {', '.join(written.unknown)}" if written.unknown else ""
    return f"{what}: {why}{strange}."
