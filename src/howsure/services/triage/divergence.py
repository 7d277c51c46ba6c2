"""Where the case's own criteria and the agent's standing rules disagree about one result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from howsure.model.triage import Divergence, Finding, Split
from howsure.model.verdict import Verdict
from howsure.services.triage.facts import CRITERIA, RUBRIC, Facts


def divergences(facts: Sequence[Facts], findings: Sequence[Finding]) -> tuple[Divergence, ...]:
    """Criteria that fail beside rules that all hold, then the reverse."""
    found = list(_found(facts, findings))
    splits = list(Split)
    return tuple(sorted(found, key=lambda each: splits.index(each.split)))


def _found(facts: Sequence[Facts], findings: Sequence[Finding]) -> Iterator[Divergence]:
    for each, finding in zip(facts, findings, strict=True):
        if each.verdict is not Verdict.FAILED:
            continue
        unmet, broken = each.of(CRITERIA), each.of(RUBRIC)
        judged = not any(name in (CRITERIA, RUBRIC) for name, _ in each.errors)
        if unmet and not broken and each.passed_rules:
            yield _made(Split.CRITERIA_FAIL, finding, tuple(part.text for part in unmet), each.passed_rules)
        elif broken and not unmet and each.passed_criteria and judged:
            failed = tuple(f"{part.id}: {part.text}" for part in broken)
            yield _made(Split.RUBRIC_FAIL, finding, failed, each.passed_criteria)


def _made(split: Split, finding: Finding, failed: tuple[str, ...], passed: int) -> Divergence:
    return Divergence(
        split=split,
        case_id=finding.case_id,
        case_name=finding.case_name,
        candidate=finding.candidate,
        repeat=finding.repeat,
        party=finding.party,
        failed=failed,
        passed=passed,
    )
