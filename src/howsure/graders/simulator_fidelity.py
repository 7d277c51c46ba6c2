"""Whether the simulated user played fair, by program and, where a model judges, by asking it. Both measure the
simulator, not the agent, and gate nothing: failures of the first are the conversations that tell nothing about the
agent, so that a run shows its simulator's error rate. `of_users`: where nobody plays they are asked only by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import to_builtins

from howsure.graders.golden_judged import JudgeWilling
from howsure.judges.reading import read_rating
from howsure.judges.rulings import Ruling
from howsure.model.case import Case, Scenario
from howsure.model.score import UNIT, ZERO_TO_FIVE, Grade, Score, Unscored, Why
from howsure.model.simulation import Simulation
from howsure.model.transcript import Transcript

NOT_SIMULATED = "the conversation was recorded, not simulated in this run"
NO_MODEL = "offline"
"""A judge of rules of thumb: what it could say of a user, the program above says better."""


class SimulatorFidelityGrader:
    """1 where nothing that the user did spoils the conversation, else 0. Recorded ones were not simulated here."""

    name = "simulator_fidelity"
    of_users = True

    def wants(self, case: Case) -> bool:
        return isinstance(case.input, Scenario)

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        played = transcript.simulation
        if played is None:
            return [Unscored(name=self.name, why=Why.NOT_APPLICABLE, reason=NOT_SIMULATED, pass_mark=1.0)]
        details = {
            "user": played.user,
            "ending": played.ending.value,
            "ending_reason": played.reason,
            "slips": to_builtins(played.slips),
            "discarded": to_builtins(played.discarded),
        }
        value = 0.0 if played.spoiled else 1.0
        return [Score(name=self.name, value=value, scale=UNIT, pass_mark=1.0, reason=_reason(played), details=details)]


def _reason(played: Simulation) -> str:
    if not played.slips:
        return "the simulated user kept to persona, facts and plan"
    told = "; ".join(f"turn {slip.turn}: {slip.reason}" for slip in played.slips)
    return told if played.spoiled else f"small slips only: {told}"


class JudgedFidelityGrader(JudgeWilling):
    """What a judge that is a model, or a recording of one, says of the user's side, from 0 to 5."""

    name = "simulator_fidelity_judged"
    of_users = True
    scale = ZERO_TO_FIVE
    optional = False

    @property
    def judge_name(self) -> str:
        return self.judge.name if self.judge else ""

    def read(self, content: Any) -> Ruling:
        return read_rating(content, ZERO_TO_FIVE)

    def wants(self, case: Case) -> bool:
        return isinstance(case.input, Scenario) and self.willing(case) and self.judge_name != NO_MODEL

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        if transcript.simulation is None:
            return [self.without(Why.NOT_APPLICABLE, NOT_SIMULATED)]
        return await super().grade(case, transcript)
