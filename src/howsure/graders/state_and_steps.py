"""Three graders of the golden world that need no judge: `trajectory_accuracy` (did the conversation pass through the
expected agents and tools?), `agent_routing` (did the expected agents take part?) and `state_management_fidelity` (did
the session end with the expected values in its state?)."""

from __future__ import annotations

from collections.abc import Sequence

from howsure.graders.expectations import expects, grade_each, shorten_reasons
from howsure.matching.state_and_steps import StepComparison, bare_name, compare_state, compare_steps
from howsure.model.case import Case
from howsure.model.expectation import AgentsInvolved, FinalState, Trajectory
from howsure.model.score import UNIT, Grade, Score, Unscored, UnscoredReason
from howsure.model.transcript import Transcript


class TrajectoryGrader:
    """`trajectory_accuracy`: agent steps and tool calls together, by name."""

    name = "trajectory_accuracy"
    scale = UNIT
    only_with = (Trajectory,)

    def wants(self, case: Case) -> bool:
        return expects(case, Trajectory)

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        steps = transcript.trajectory
        return grade_each(case, Trajectory, lambda expected: self._grade_one(compare_steps(expected, steps)))

    def _grade_one(self, comparison: StepComparison) -> Score:
        return Score(
            name=self.name,
            value=comparison.value,
            pass_mark=1.0,
            reason=shorten_reasons(comparison.reasons) or "the trajectory is as expected",
            details={
                "taken": list(comparison.taken),
                "missing": list(comparison.missing),
                "unexpected": list(comparison.unexpected),
            },
        )


class AgentsInvolvedGrader:
    """`agent_routing`: the share of the expected agents that took part. Others may take part too. A transcript that
    names no agent at all gives no value."""

    name = "agent_routing"
    scale = UNIT
    only_with = (AgentsInvolved,)

    def wants(self, case: Case) -> bool:
        return any(isinstance(each, AgentsInvolved) and each.names for each in case.expectations)

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        seen = [bare_name(name) for name in transcript.agents]
        return grade_each(case, AgentsInvolved, lambda expected: self._grade_one(expected, seen))

    def _grade_one(self, expected: AgentsInvolved, seen: list[str]) -> Grade:
        if not seen:
            return Unscored(
                name=self.name, why=UnscoredReason.ERROR, reason="the transcript names no agent", pass_mark=1.0
            )
        names = list(dict.fromkeys(map(bare_name, expected.names)))
        missing = [name for name in names if name not in seen]
        return Score(
            name=self.name,
            value=1 - len(missing) / len(names) if missing else 1.0,
            pass_mark=1.0,
            reason=shorten_reasons([f"`{name}` did not take part" for name in missing])
            or "the expected agents took part",
            details={"seen": seen, "missing": missing},
        )


class FinalStateGrader:
    """`state_management_fidelity`: the share of the listed variables that are as expected. A state that was not
    recorded is not an empty state."""

    name = "state_management_fidelity"
    scale = UNIT
    only_with = (FinalState,)

    def wants(self, case: Case) -> bool:
        return any(isinstance(each, FinalState) and each.variables for each in case.expectations)

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        return grade_each(case, FinalState, lambda expected: self._grade_one(expected, transcript))

    def _grade_one(self, expected: FinalState, transcript: Transcript) -> Grade:
        if transcript.state is None:
            return Unscored(
                name=self.name, why=UnscoredReason.ERROR, reason="no final state was recorded", pass_mark=1.0
            )
        comparison = compare_state(expected, transcript.state)
        return Score(
            name=self.name,
            value=comparison.value,
            pass_mark=1.0,
            reason=shorten_reasons(comparison.reasons) or "the state is as expected",
            details={
                "correct": list(comparison.correct),
                "wrong": list(comparison.wrong),
                "missing": list(comparison.missing),
            },
        )
