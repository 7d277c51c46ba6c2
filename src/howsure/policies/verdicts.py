"""The rule behind every policy: which grades gate, which verdict follows, and the reasons in words. Each number stands
beside its mark.

A gating Score below its mark fails the case; else an error among the gating grades makes it errored; else a missing
judge makes it skipped. Without a gating grade there is nothing to decide. Grades that do not apply are left out. The
policies of the worlds are in worlds.py."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from msgspec.structs import replace

from howsure.model.case import Case
from howsure.model.rubric import Severity
from howsure.model.score import FREE, Direction, Grade, Score, Unscored, UnscoredReason
from howsure.model.verdict import Decision, Profile, Verdict
from howsure.policies.profiles import EXPLAIN_EVALS

CRITERIA = "criteria"
RUBRIC = "rubric"
COMPOSITE = "composite"
NOTHING_TO_DECIDE = "nothing to decide"
NEEDS_A_JUDGE = "needs a judge"
_LONGEST = 200
_MOST_DECIMALS = 6


def failure_reason(score: Score, profile: Profile, *, hard: bool) -> str:
    """Why this Score fails the case."""
    why = f": {_shorten(score.reason)}" if score.reason and score.name not in profile.weights else ""
    if score.name == CRITERIA and score.part:
        return f"criterion not met: {_shorten(score.part.text)}{why}"
    if score.name == RUBRIC and score.part:
        return f"high-severity rule {score.part.id} failed{why}"
    if hard:
        limit = profile.hard_fails[score.name]
        return f"hard fail: {_label(score)} {_compare_with_mark(score, limit, holds=False)}{why}"
    comparison = f"{_label(score)} {_compare_with_mark(score, score.pass_mark, holds=False)}"
    return comparison if score.name == COMPOSITE else f"{comparison}{why}"


def passing_reasons(gating: Sequence[Grade]) -> tuple[str, ...]:
    """What was checked, if all of it passed."""
    criteria = rules = evals = 0
    others: list[str] = []
    for score in gating:
        if not isinstance(score, Score):
            continue
        if score.part and score.name == CRITERIA:
            criteria += 1
        elif score.part and score.name == RUBRIC:
            rules += 1
        elif score.name in EXPLAIN_EVALS:
            evals += 1
        else:
            others.append(f"{_label(score)} {_compare_with_mark(score, score.pass_mark, holds=True)}")
    return (
        *([f"all {criteria} criteria met" if criteria > 1 else "the criterion is met"] if criteria else []),
        *([f"no high-severity rule failed ({rules} checked)"] if rules else []),
        *([f"all {evals} evals reached their marks" if evals > 1 else "the eval reached its mark"] if evals else []),
        *others,
    )


def _label(grade: Grade) -> str:
    """The grader, with the criterion or rule if the grade is about one."""
    if grade.part is None:
        return grade.name
    return f"{grade.name} {_shorten(grade.part.text or grade.part.id, 80)!r}"


def _compare_with_mark(score: Score, mark: float | None, *, holds: bool) -> str:
    """`3.00 < 3.70`, with enough decimals to show that two numbers differ."""
    if mark is None:
        return f"{score.value:.2f}"
    lower = score.direction is Direction.LOWER
    reached = score.value <= mark if lower else score.value >= mark
    sign = ("≤" if lower else "≥") if reached else (">" if lower else "<")
    decimals = 2
    while score.value != mark and f"{score.value:.{decimals}f}" == f"{mark:.{decimals}f}" and decimals < _MOST_DECIMALS:
        decimals += 1
    # `stated_pass` may win over the mark.
    stated = "" if reached is holds else f", and the judge says {'pass' if holds else 'fail'}"
    return f"{score.value:.{decimals}f} {sign} {mark:.{decimals}f}{stated}"


def _shorten(text: str, longest: int = _LONGEST) -> str:
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[:longest]}…"


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
"""Graders that do not measure how well the agent did (but spans, or the simulated user). They gate only if a profile
names them."""

_NO_PROFILE = Profile(name="")


def decide(grades: Iterable[Grade], profile: Profile | None, free: Collection[str] = ()) -> Decision:
    """The verdict on these grades, after the marks of the profile are set on them. The graders in `free` gate only if
    the profile names them."""
    profile = profile or _NO_PROFILE
    marked = _apply_marks(tuple(grades), profile)
    gating = _select_gating(marked, profile, free)
    failed = [
        grade
        for grade in gating
        if isinstance(grade, Score) and (grade.passed is False or is_hard_fail(grade, profile))
    ]
    without_value = [grade for grade in gating if isinstance(grade, Unscored)]
    if failed or without_value:
        # The verdict if a gating grade is below its mark or has no value.
        failed.sort(key=lambda score: not is_hard_fail(score, profile))
        broken = [grade for grade in without_value if grade.why is UnscoredReason.ERROR]
        unjudged = [grade for grade in without_value if grade.why is UnscoredReason.NO_JUDGE]
        verdict = Verdict.FAILED if failed else Verdict.ERRORED if broken else Verdict.SKIPPED
        names = dict.fromkeys(grade.name for grade in unjudged if grade.name != COMPOSITE)
        reasons = (
            *(failure_reason(score, profile, hard=is_hard_fail(score, profile)) for score in failed),
            *(f"{_label(grade)} could not be graded: {_shorten(grade.reason)}" for grade in broken),
            *([f"{NEEDS_A_JUDGE}: {', '.join(names) or COMPOSITE}"] if unjudged else []),
        )
        return Decision(verdict=verdict, reasons=reasons, grades=marked)
    if not gating:
        return Decision(verdict=Verdict.SKIPPED, reasons=(NOTHING_TO_DECIDE,), grades=marked)
    return Decision(verdict=Verdict.PASSED, reasons=passing_reasons(gating), grades=marked)


def is_hard_fail(score: Score, profile: Profile) -> bool:
    """Whether a score is below its hard-fail mark, under which nothing else counts."""
    limit = profile.hard_fails.get(score.name)
    if limit is None or (score.part is not None and score.name in (CRITERIA, RUBRIC)):
        return False
    return score.value > limit if score.direction is Direction.LOWER else score.value < limit


def _apply_marks(grades: tuple[Grade, ...], profile: Profile) -> tuple[Grade, ...]:
    """The grades with the marks of the profile. If a grader grades the whole case, the mark is for that grade only."""
    if not profile.marks and not profile.hard_fails:
        return grades
    wholes = _whole_case_names(grades)
    return tuple(grade if grade.part and grade.name in wholes else _with_mark(grade, profile) for grade in grades)


def _with_mark(grade: Grade, profile: Profile) -> Grade:
    mark = profile.marks.get(grade.name, grade.pass_mark)
    if mark is None:
        mark = profile.hard_fails.get(grade.name)
    return grade if mark == grade.pass_mark else replace(grade, pass_mark=mark)


def _select_gating(grades: Sequence[Grade], profile: Profile, free: Collection[str]) -> list[Grade]:
    with_parts = {grade.name for grade in grades if grade.part is not None}
    wholes = _whole_case_names(grades) if with_parts else ()
    gating = []
    for grade in grades:
        if not _decides(grade):
            continue
        named = grade.name in profile.marks or grade.name in profile.hard_fails
        if grade.name in (CRITERIA, RUBRIC) and grade.part is None:
            # The whole gates if a profile sets a mark for it, or if it broke before its parts were graded.
            gates = named or grade.name not in with_parts
        elif grade.name == CRITERIA:
            gates = not named
        elif grade.name == RUBRIC and grade.part:
            gates = grade.part.severity is Severity.HIGH
        else:
            gates = grade.part is None or grade.name not in wholes
            if grade.name in free or grade.name in MEASURES:
                gates = gates and named
        if gates:
            gating.append(grade)
    return gating


def _decides(grade: Grade) -> bool:
    """Whether a grade has a mark and a value, or should have had them."""
    if isinstance(grade, Score):
        return grade.pass_mark is not None
    return grade.why is not UnscoredReason.NOT_APPLICABLE and not (grade.pass_mark is None and FREE in grade.details)


def _whole_case_names(grades: Iterable[Grade]) -> set[str]:
    return {grade.name for grade in grades if grade.part is None}


class Policy(Protocol):
    """A pure function from grades to a verdict.

    `profile` None: the policy's own default (or the one the case names).
    """

    def __call__(self, case: Case, grades: Sequence[Grade], profile: Profile | None) -> Decision: ...
