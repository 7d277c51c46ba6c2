"""The criteria of `adk eval`, as a case carries them in its `reference_data`: `adk_criteria` by ADK's names (a
threshold, or an object with one), and `adk_rubrics`, which a judge rules on. What they mean is in graders/adk/."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from msgspec import Struct, convert

from howsure.model.case import Case

CRITERIA, RUBRICS = "adk_criteria", "adk_rubrics"
TRAJECTORY, RESPONSE_MATCH = "tool_trajectory_avg_score", "response_match_score"
RUBRIC_TRAJECTORY = "rubric_based_multi_turn_trajectory_quality_v1"
RUBRIC_TYPES = {
    "rubric_based_final_response_quality_v1": "FINAL_RESPONSE_QUALITY",
    "rubric_based_tool_use_quality_v1": "TOOL_USE_QUALITY",
    RUBRIC_TRAJECTORY: "TRAJECTORY_QUALITY",
}
"""The criteria that judge by rubrics, and the type of the rubrics of a case that each of them uses."""
SIMULATOR = "per_turn_user_simulator_quality_v1"
WHOLE_CONVERSATION = tuple(
    f"multi_turn_{name}_v1" for name in ("task_success", "trajectory_quality", "tool_use_quality")
)
EACH_TURN = ("final_response_match_v2", "hallucinations_v1", "safety_v1", "response_evaluation_score")
NAMES = (TRAJECTORY, RESPONSE_MATCH, *EACH_TURN, *RUBRIC_TYPES, *WHOLE_CONVERSATION, SIMULATOR)
"""Every criterion of ADK 2 that may have a threshold."""


class TrajectoryMatch(Enum):
    """How ADK compares the calls of a turn with the expected ones."""

    EXACT = "EXACT"
    IN_ORDER = "IN_ORDER"
    ANY_ORDER = "ANY_ORDER"


class AdkRubric(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One property that a judge says yes or no to. `turn` None: in every turn."""

    rubric_id: str
    text: str
    type: str = ""
    description: str = ""
    turn: int | None = None


class AdkCriterion(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a case asks of one criterion."""

    threshold: float
    match_type: TrajectoryMatch = TrajectoryMatch.EXACT
    ignore_args: bool = False
    rubrics: tuple[AdkRubric, ...] = ()


def _reference(case: Case) -> Mapping[str, Any]:
    reference = case.metadata.get("reference_data")
    return reference if isinstance(reference, dict) else {}


def declares_criteria(case: Case, name: str = "") -> bool:
    """Whether the author of the case set criteria of ADK, or this one."""
    declared = _reference(case).get(CRITERIA) or {}
    return name in declared if name else bool(declared)


def adk_criterion(case: Case, name: str) -> AdkCriterion | None:
    """The criterion of this name; None where the case has none."""
    declared = (_reference(case).get(CRITERIA) or {}).get(name)
    if declared is None:
        return None
    return convert({"threshold": declared} if isinstance(declared, int | float) else declared, AdkCriterion)


def adk_rubrics(case: Case, name: str) -> tuple[AdkRubric, ...]:
    """The rubrics that this criterion uses: its own, and those of the case that have its type."""
    criterion = adk_criterion(case, name)
    of_case = convert(_reference(case).get(RUBRICS) or [], list[AdkRubric])
    mine = [each for each in of_case if each.type == RUBRIC_TYPES[name]]
    return (*(criterion.rubrics if criterion else ()), *mine)


def expected_answers(case: Case) -> list[str]:
    """The answers that the author expects, one for each turn."""
    reference = _reference(case)
    answers = reference.get("expected_responses")
    if isinstance(answers, list):
        return [str(each) for each in answers]
    answer = reference.get("expected_response")
    return [answer] if isinstance(answer, str) else []
