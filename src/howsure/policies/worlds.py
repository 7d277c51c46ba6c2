"""The golden rule: every programmatic grader that has a reference reaches its mark. Measures and judged evals are
shown, and gate only where a profile names them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from howsure.model.case import Case, World
from howsure.model.score import Grade, Score
from howsure.model.verdict import Decision, Normalization, Profile
from howsure.policies.explain import explain
from howsure.policies.verdicts import Policy, decide

JUDGED_TO_FIVE = (
    "tool_usage_accuracy_judged",
    "trajectory_accuracy_judged",
    "state_management_fidelity_judged",
    "response_correctness",
    "capability_honesty",
    "pipeline_integrity",
)
"""Judged on 0 to 5."""

JUDGED_SHARES = (
    "general_quality",
    "text_quality",
    "instruction_following",
    "grounding",
    "hallucination",
    "safety",
    "final_response_quality",
    "tool_use_quality",
    "multi_turn_general_quality",
    "multi_turn_text_quality",
)
"""Judged on 0 to 1, as shares of verdicts on a rubric that the judge writes itself."""

_GOLDEN_NOT_GATING = frozenset({*JUDGED_TO_FIVE, *JUDGED_SHARES})


def golden(case: Case, grades: Sequence[Grade], profile: Profile | None) -> Decision:
    """The verdict on a golden question or a simulated conversation."""
    return decide(grades, profile, _GOLDEN_NOT_GATING)


WEIGHTED = "weighted_criteria"
DEFAULT_MARK = 0.7

_DEFAULTS = (WEIGHTED, "reference_answer")


def legal(case: Case, grades: Sequence[Grade], profile: Profile | None) -> Decision:
    """The verdict on one case of the benchmark."""
    return decide(map(_with_default_mark, apply_normalization(grades, profile)), profile)


def apply_normalization(grades: Iterable[Grade], profile: Profile | None) -> Iterable[Grade]:
    """The weighted sums under the profile's normalisation. Their grader does not know the profile: it reports both
    values among the details, and `points` as its value."""
    if profile is None or profile.normalization is Normalization.POINTS:
        return grades
    return [_normalize_grade(grade, profile.normalization) for grade in grades]


def _normalize_grade(grade: Grade, normalization: Normalization) -> Grade:
    chosen = normalization.value
    if not isinstance(grade, Score) or grade.name != WEIGHTED or grade.details.get("normalization") == chosen:
        return grade
    details = {**grade.details, "normalization": chosen}
    return replace(grade, value=grade.details[chosen], reason=f"{grade.reason}, as {chosen}", details=details)


def _with_default_mark(grade: Grade) -> Grade:
    if grade.part is None and grade.pass_mark is None and grade.name in _DEFAULTS:
        return replace(grade, pass_mark=DEFAULT_MARK)
    return grade


_TEST_SET_NOT_GATING = frozenset({"tools_used", "forbidden_tools", "expected_outcome"})


def criteria_and_rules(case: Case, grades: Sequence[Grade], profile: Profile | None) -> Decision:
    """The verdict on one case of a test set."""
    return decide(grades, profile, _TEST_SET_NOT_GATING)


def plain(case: Case, grades: Sequence[Grade], profile: Profile | None) -> Decision:
    """The verdict on any other case."""
    return decide(apply_normalization(grades, profile), profile)


def builtin_policies() -> dict[str, Policy]:
    """By world; `plain` is also for the worlds of plug-ins."""
    return {
        World.EXPLAIN: explain,
        World.GOLDEN: golden,
        World.TEST_SET: criteria_and_rules,
        World.LEGAL: legal,
        World.PLAIN: plain,
    }
