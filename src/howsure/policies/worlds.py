"""The pass rules of the worlds.

Explain: no hard fail, every eval reaches its own mark, and the weighted composite reaches the mark of the profile; a
contract violation is a hard fail under every profile, and `tool_calls` does not gate. Golden: every grader without a
judge that has a reference reaches its mark; measures and judged evals gate only if a profile names them. Legal:
`choice`, `weighted_criteria` and `reference_answer` reach their marks (0.7 by default). Test sets: every criterion
holds and no high-severity rule fails; `tools_used` and `expected_outcome` gate only if a profile names them. Plain:
every Score with a mark reaches it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum

from msgspec.structs import replace

from howsure.model.case import Case, World
from howsure.model.score import LIKERT, Grade, Score, Unscored, UnscoredReason
from howsure.model.verdict import Decision, Normalization, Profile, Verdict
from howsure.policies.profiles import CONTRACT, DEFAULT_PROFILE, EXPLAIN_EVALS, builtin_profiles
from howsure.policies.verdicts import COMPOSITE, Policy, decide

_BUILTIN = {profile.name: profile for profile in builtin_profiles()}
_NOT_GATING = frozenset({*EXPLAIN_EVALS, "tool_calls"})


def explain(case: Case, grades: Sequence[Grade], profile: Profile | None) -> Decision:
    """The verdict on an Explain case. `profile` overrides the profile of the case."""
    chosen = profile if profile is not None and profile.name else _BUILTIN.get(case.profile or DEFAULT_PROFILE)
    if chosen is None:
        reason = f"the profile {case.profile!r} is not known; known: {', '.join(_BUILTIN)}"
        return Decision(verdict=Verdict.ERRORED, reasons=(reason,), grades=tuple(grades))
    if CONTRACT not in chosen.hard_fails:
        chosen = replace(chosen, hard_fails={**chosen.hard_fails, CONTRACT: 1.0})
    total = composite(grades, chosen)
    return decide(grades if total is None else (*grades, total), chosen, _NOT_GATING)


def composite(grades: Sequence[Grade], profile: Profile) -> Grade | None:
    """Σ(score · weight) / Σ(weight) over the evals; None if there are none. If an eval has no value, the composite has
    none either: it is never made of the others alone."""
    weighted = [grade for grade in grades if grade.name in profile.weights and grade.part is None]
    scores = [grade for grade in weighted if isinstance(grade, Score)]
    missing = {grade.name: grade.why for grade in weighted if isinstance(grade, Unscored)}
    if missing:
        unjudged = set(missing.values()) == {UnscoredReason.NO_JUDGE}
        return Unscored(
            name=COMPOSITE,
            why=UnscoredReason.NO_JUDGE if unjudged else UnscoredReason.ERROR,
            reason=f"no value for {', '.join(missing)}",
            scale=LIKERT,
            pass_mark=profile.composite_mark,
        )
    weight = fsum(profile.weights[score.name] for score in scores)
    if weight <= 0:
        return None
    # Rounded, so that a sum of exactly 3.65 reaches 3.65 in spite of binary fractions.
    value = round(fsum(score.value * profile.weights[score.name] for score in scores) / weight, 9)
    return Score(
        name=COMPOSITE,
        value=value,
        scale=LIKERT,
        pass_mark=profile.composite_mark,
        reason=f"{len(scores)} evals under {profile.name}",
        details={"profile": profile.name, "weights": {score.name: profile.weights[score.name] for score in scores}},
    )


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
"""Judged on 0 to 1, as the share of verdicts on a rubric that the judge writes itself."""

_GOLDEN_NOT_GATING = frozenset({*JUDGED_TO_FIVE, *JUDGED_SHARES, "expected_outcome"})


def golden(case: Case, grades: Sequence[Grade], profile: Profile | None) -> Decision:
    """The verdict on a golden question or a simulated conversation."""
    return decide(grades, profile, _GOLDEN_NOT_GATING)


WEIGHTED = "weighted_criteria"
DEFAULT_MARK = 0.7

_DEFAULTS = (WEIGHTED, "reference_answer")


def legal(case: Case, grades: Sequence[Grade], profile: Profile | None) -> Decision:
    """The verdict on a case of the legal benchmark."""
    return decide(map(_with_default_mark, apply_normalization(grades, profile)), profile)


def apply_normalization(grades: Iterable[Grade], profile: Profile | None) -> Iterable[Grade]:
    """The weighted sums with the normalization of the profile. Their grader does not know the profile: it reports both
    values in the details, and `points` as the value. Single criteria have the sum's name and stay as they are."""
    if profile is None or profile.normalization is Normalization.POINTS:
        return grades
    return [_normalize_grade(grade, profile.normalization.value) for grade in grades]


def _normalize_grade(grade: Grade, chosen: str) -> Grade:
    is_sum = isinstance(grade, Score) and grade.name == WEIGHTED and grade.part is None
    if not is_sum or grade.details.get("normalization") == chosen:
        return grade
    details = {**grade.details, "normalization": chosen}
    return replace(grade, value=grade.details[chosen], reason=f"{grade.reason}, as {chosen}", details=details)


def _with_default_mark(grade: Grade) -> Grade:
    if grade.part is None and grade.pass_mark is None and grade.name in _DEFAULTS:
        return replace(grade, pass_mark=DEFAULT_MARK)
    return grade


_TEST_SET_NOT_GATING = frozenset({"tools_used", "forbidden_tools", "expected_outcome"})


def criteria_and_rules(case: Case, grades: Sequence[Grade], profile: Profile | None) -> Decision:
    """The verdict on a case of a test set."""
    return decide(grades, profile, _TEST_SET_NOT_GATING)


def plain(case: Case, grades: Sequence[Grade], profile: Profile | None) -> Decision:
    """The verdict on a case of any other world."""
    return decide(apply_normalization(grades, profile), profile)


def builtin_policies() -> dict[str, Policy]:
    """The policy of each world. `plain` is also for the worlds of plug-ins."""
    return {
        World.EXPLAIN: explain,
        World.GOLDEN: golden,
        World.TEST_SET: criteria_and_rules,
        World.LEGAL: legal,
        World.PLAIN: plain,
    }
