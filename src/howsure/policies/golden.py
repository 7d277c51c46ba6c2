"""The golden rule: every programmatic grader that has a reference reaches its mark. Measures and judged evals are
shown, and gate only where a profile names them."""

from __future__ import annotations

from collections.abc import Sequence

from howsure.model.case import Case
from howsure.model.profile import Profile
from howsure.model.score import Grade
from howsure.model.verdict import Decision
from howsure.policies.deciding import decide

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

_FREE = frozenset({*JUDGED_TO_FIVE, *JUDGED_SHARES})


def golden(case: Case, grades: Sequence[Grade], profile: Profile | None) -> Decision:
    """The verdict on a golden question or a simulated conversation."""
    return decide(grades, profile, _FREE)
