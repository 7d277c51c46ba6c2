"""ADK's criteria as graders of the same names, with ADK's own semantics; and the scores that ADK gave itself."""

from __future__ import annotations

from howsure.graders.adk.imported_scores import AdkScores
from howsure.graders.adk.judged import JudgedConversation, JudgedRubrics, JudgedSimulator, JudgedTurns
from howsure.graders.adk.programs import ResponseMatch, TrajectoryAverage
from howsure.graders.base import BindableGrader, Grader
from howsure.model.adk_criteria import EACH_TURN, RUBRIC_TYPES, WHOLE_CONVERSATION


def adk_graders() -> tuple[Grader | BindableGrader, ...]:
    """One for each criterion of ADK, and one for what ADK measured."""
    return (
        TrajectoryAverage(),
        ResponseMatch(),
        *map(JudgedTurns, EACH_TURN),
        *map(JudgedRubrics, RUBRIC_TYPES),
        *map(JudgedConversation, WHOLE_CONVERSATION),
        JudgedSimulator(),
        AdkScores(),
    )
