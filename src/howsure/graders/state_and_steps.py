"""Three graders of the golden world that need no judge: `trajectory_accuracy` (did the conversation pass through the
expected agents and tools?), `agent_routing` (did the expected agents take part?) and `state_management_fidelity` (did
the session end with the expected values in its state?)."""

from __future__ import annotations

from howsure.graders.expectations import ExpectationGrader
from howsure.matching.state_and_steps import bare_name, compare_state, compare_steps
from howsure.model.case import Case
from howsure.model.expectation import AgentsInvolved, FinalState, Trajectory
from howsure.model.score import Grade
from howsure.model.transcript import Transcript
from howsure.traces.read import read_trace


class TrajectoryGrader(ExpectationGrader[Trajectory]):
    """`trajectory_accuracy`: agent steps and tool calls together, by name."""

    name = "trajectory_accuracy"
    only_with = (Trajectory,)

    def grade_one(self, expected: Trajectory, transcript: Transcript) -> Grade:
        comparison = compare_steps(expected, transcript.trajectory)
        details = {
            "taken": list(comparison.taken),
            "missing": list(comparison.missing),
            "unexpected": list(comparison.unexpected),
        }
        return self.score(comparison.value, comparison.reasons, "the trajectory is as expected", details)


class AgentsInvolvedGrader(ExpectationGrader[AgentsInvolved]):
    """`agent_routing`: the share of the expected agents that took part, by the messages or the spans. An agent that is
    another one's tool speaks in no message; where there are no spans of it either, a call of the tool that has its name
    shows it. Others may take part too. Where no agent is named there is no value."""

    name = "agent_routing"
    only_with = (AgentsInvolved,)

    def wants(self, case: Case) -> bool:
        return any(isinstance(each, AgentsInvolved) and each.names for each in case.expectations)

    def grade_one(self, expected: AgentsInvolved, transcript: Transcript) -> Grade:
        by_spans = [run.name for run in read_trace(transcript.spans).agent_runs] if transcript.spans else []
        seen = list(dict.fromkeys(bare_name(name) for name in (*transcript.agents, *by_spans) if name))
        if not seen:
            return self.unknown("the transcript names no agent")
        names = list(dict.fromkeys(map(bare_name, expected.names)))
        called = {bare_name(call.name) for call in transcript.tool_calls}
        missing = [name for name in names if name not in seen and name not in called]
        value = 1 - len(missing) / len(names) if missing else 1.0
        reasons = [f"`{name}` did not take part" for name in missing]
        return self.score(value, reasons, "the expected agents took part", {"seen": seen, "missing": missing})


class FinalStateGrader(ExpectationGrader[FinalState]):
    """`state_management_fidelity`: the share of the listed variables that are as expected. A state that was not
    recorded is not an empty state."""

    name = "state_management_fidelity"
    only_with = (FinalState,)

    def wants(self, case: Case) -> bool:
        return any(isinstance(each, FinalState) and each.variables for each in case.expectations)

    def grade_one(self, expected: FinalState, transcript: Transcript) -> Grade:
        if transcript.state is None:
            return self.unknown("no final state was recorded")
        comparison = compare_state(expected, transcript.state)
        details = {
            "correct": list(comparison.correct),
            "wrong": list(comparison.wrong),
            "missing": list(comparison.missing),
        }
        return self.score(comparison.value, comparison.reasons, "the state is as expected", details)
