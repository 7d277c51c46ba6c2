"""Two graders of the simulated user: `simulator_fidelity` (by program) and `simulator_fidelity_judged` (by a judge that
is a model). They measure the simulator, not the agent, and gate nothing. A failure of the first marks a conversation
that says nothing about the agent, so a run shows the error rate of its simulator. `measures_simulator`: a run without a
simulator includes them only if they are selected by name."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import to_builtins

from howsure.graders.judged_evals import OptionalJudgedGrader
from howsure.model.case import Case, Scenario
from howsure.model.run_request import OFFLINE
from howsure.model.score import UNIT, ZERO_TO_FIVE, Grade, Score, Unscored, UnscoredReason
from howsure.model.transcript import Transcript

NOT_SIMULATED = "the conversation was recorded, not simulated in this run"


class SimulatorFidelityGrader:
    """1 if no mistake of the user spoils the conversation, else 0. Recorded conversations are not applicable."""

    name = "simulator_fidelity"
    scale = UNIT
    measures_simulator = True
    verifies = ()

    def wants(self, case: Case) -> bool:
        return isinstance(case.input, Scenario)

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        simulation = transcript.simulation
        if simulation is None:
            return [Unscored(name=self.name, why=UnscoredReason.NOT_APPLICABLE, reason=NOT_SIMULATED, pass_mark=1.0)]
        details = {
            "user": simulation.user,
            "ending": simulation.ending.value,
            "ending_reason": simulation.reason,
            "slips": to_builtins(simulation.slips),
            "discarded": to_builtins(simulation.discarded),
        }
        reason = "the simulated user kept to persona, facts and plan"
        if simulation.slips:
            mistakes = "; ".join(f"turn {slip.turn}: {slip.reason}" for slip in simulation.slips)
            reason = mistakes if simulation.spoiled else f"small slips only: {mistakes}"
        value = 0.0 if simulation.spoiled else 1.0
        return [Score(name=self.name, value=value, scale=UNIT, pass_mark=1.0, reason=reason, details=details)]


class JudgedFidelityGrader(OptionalJudgedGrader):
    """How well a judge that is a model, or a recording of one, rates the simulated user, from 0 to 5. The offline judge
    is not asked: the program above knows more about a simulated user than its rules of thumb."""

    name = "simulator_fidelity_judged"
    measures_simulator = True
    verifies = ()
    scale = ZERO_TO_FIVE
    optional = False

    def wants(self, case: Case) -> bool:
        is_model = self.judge is not None and self.judge.name != OFFLINE
        return isinstance(case.input, Scenario) and is_model and self.judge_covers(case)

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        if transcript.simulation is None:
            return [self.unscored(UnscoredReason.NOT_APPLICABLE, NOT_SIMULATED)]
        return await super().grade(case, transcript)
