"""`trajectory_accuracy`: whether the conversation passed through the expected agents and tools."""

from __future__ import annotations

from collections.abc import Sequence

from howsure.graders.expected import each_graded, has, in_short
from howsure.matching.steps import StepComparison, compare_steps
from howsure.model.case import Case
from howsure.model.expectation import Trajectory
from howsure.model.score import Grade, Score
from howsure.model.transcript import Transcript


class TrajectoryGrader:
    """Agent steps and tool calls together, by name."""

    name = "trajectory_accuracy"
    only_with = (Trajectory,)

    def wants(self, case: Case) -> bool:
        return has(case, Trajectory)

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        steps = transcript.trajectory
        return each_graded(case, Trajectory, lambda expected: self._graded(compare_steps(expected, steps)))

    def _graded(self, found: StepComparison) -> Score:
        return Score(
            name=self.name,
            value=found.value,
            pass_mark=1.0,
            reason=in_short(found.reasons) or "the trajectory is as expected",
            details={"taken": list(found.taken), "missing": list(found.missing), "unexpected": list(found.unexpected)},
        )
