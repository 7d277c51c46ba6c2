"""The rule that every world's policy rests on: which grades gate, and what verdict follows. reasons.py has the words.

A gating Score below its mark fails the case; else an error among the gating grades makes it errored; else one that had
no judge makes it skipped; nothing that gates is nothing to decide. What does not apply is left out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from msgspec.structs import replace

from howsure.model.profile import Profile
from howsure.model.rubric import Severity
from howsure.model.score import FREE, Direction, Grade, Score, Unscored, Why
from howsure.model.verdict import Decision, Verdict
from howsure.policies.reasons import (
    CRITERIA,
    NOTHING_TO_DECIDE,
    RUBRIC,
    error_reasons,
    failure_reason,
    judge_reason,
    passing_reasons,
)

MEASURES = frozenset(
    {
        "token_usage",
        "latency_metrics",
        "cache_efficiency",
        "thinking_metrics",
        "tool_utilization",
        "tool_success_rate",
        "grounding_utilization",
        "context_saturation",
        "agent_handoffs",
        "output_density",
        "sandbox_usage",
        "simulator_fidelity",
        "simulator_fidelity_judged",
    }
)
"""What measures something else than whether the agent did well (spans, the simulated user): it gates in no world
unless a profile names it."""

_NO_PROFILE = Profile(name="")


def decide(grades: Iterable[Grade], profile: Profile | None, free: Collection[str] = ()) -> Decision:
    """The verdict over these grades, with the profile's marks set on them. `free` graders gate only where it names
    them."""
    profile = profile or _NO_PROFILE
    marked = _marked(tuple(grades), profile)
    gating = _gating(marked, profile, free)
    failed = [grade for grade in gating if isinstance(grade, Score) and _fails(grade, profile)]
    lacking = [grade for grade in gating if isinstance(grade, Unscored)]
    if failed or lacking:
        return _not_passed(marked, failed, lacking, profile)
    if not gating:
        return Decision(verdict=Verdict.SKIPPED, reasons=(NOTHING_TO_DECIDE,), grades=marked)
    return Decision(verdict=Verdict.PASSED, reasons=passing_reasons(gating), grades=marked)


def _not_passed(
    marked: tuple[Grade, ...], failed: list[Score], lacking: Sequence[Unscored], profile: Profile
) -> Decision:
    """Something that gates is below its mark, or has no value."""
    failed.sort(key=lambda score: not hard_failed(score, profile))
    broken = [grade for grade in lacking if grade.why is Why.ERROR]
    unjudged = [grade for grade in lacking if grade.why is Why.NO_JUDGE]
    verdict = Verdict.FAILED if failed else Verdict.ERRORED if broken else Verdict.SKIPPED
    reasons = (
        *(failure_reason(score, profile, hard=hard_failed(score, profile)) for score in failed),
        *error_reasons(broken),
        *judge_reason(unjudged),
    )
    return Decision(verdict=verdict, reasons=reasons, grades=marked)


def hard_failed(score: Score, profile: Profile) -> bool:
    """Below the mark under which nothing else counts."""
    limit = profile.hard_fails.get(score.name)
    if limit is None or (score.part is not None and score.name in (CRITERIA, RUBRIC)):
        return False
    return score.value > limit if score.direction is Direction.LOWER else score.value < limit


def _fails(score: Score, profile: Profile) -> bool:
    return score.passed is False or hard_failed(score, profile)


def _marked(grades: tuple[Grade, ...], profile: Profile) -> tuple[Grade, ...]:
    """The grades with the marks that apply. A mark is for the whole case where a grader grades it as a whole."""
    if not profile.marks and not profile.hard_fails:
        return grades
    wholes = _wholes(grades)
    return tuple(grade if grade.part and grade.name in wholes else _with_mark(grade, profile) for grade in grades)


def _with_mark(grade: Grade, profile: Profile) -> Grade:
    mark = profile.marks.get(grade.name, grade.pass_mark)
    if mark is None:
        mark = profile.hard_fails.get(grade.name)
    return grade if mark == grade.pass_mark else replace(grade, pass_mark=mark)


def _gating(grades: Sequence[Grade], profile: Profile, free: Collection[str]) -> list[Grade]:
    divided = {grade.name for grade in grades if grade.part is not None}
    wholes = _wholes(grades) if divided else ()
    gating = []
    for grade in grades:
        if not _decides(grade):
            continue
        named = grade.name in profile.marks or grade.name in profile.hard_fails
        if grade.name == CRITERIA:
            gates = _criteria_gate(grade, named, whole_alone=CRITERIA not in divided)
        elif grade.name == RUBRIC:
            gates = _rule_gates(grade, named, whole_alone=RUBRIC not in divided)
        else:
            gates = grade.part is None or grade.name not in wholes
            if grade.name in free or grade.name in MEASURES:
                gates = gates and named
        if gates:
            gating.append(grade)
    return gating


def _decides(grade: Grade) -> bool:
    """A value with a mark; or that there should have been one."""
    if isinstance(grade, Score):
        return grade.pass_mark is not None
    return grade.why is not Why.NOT_APPLICABLE and not (grade.pass_mark is None and FREE in grade.details)


def _criteria_gate(grade: Grade, named: bool, *, whole_alone: bool) -> bool:
    """Each criterion gates; or, where a profile sets a mark, the share of them that is met."""
    return (named or whole_alone) if grade.part is None else not named


def _rule_gates(grade: Grade, named: bool, *, whole_alone: bool) -> bool:
    """High-severity rules gate; the rubric as a whole when it broke before its rules, or where a profile marks it."""
    return (named or whole_alone) if grade.part is None else grade.part.severity is Severity.HIGH


def _wholes(grades: Iterable[Grade]) -> set[str]:
    return {grade.name for grade in grades if grade.part is None}
