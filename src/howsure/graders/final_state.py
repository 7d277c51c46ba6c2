"""`state_management_fidelity`: whether the session ended with the expected values in its state."""

from __future__ import annotations

from collections.abc import Sequence

from howsure.graders.expected import each_graded, in_short
from howsure.matching.state import compare_state
from howsure.model.case import Case
from howsure.model.expectation import FinalState
from howsure.model.score import Grade, Score, Unscored, Why
from howsure.model.transcript import Transcript


class FinalStateGrader:
    """The share of the listed variables that are as expected. A state that nobody recorded is not an empty one."""

    name = "state_management_fidelity"
    only_with = (FinalState,)

    def wants(self, case: Case) -> bool:
        return any(isinstance(each, FinalState) and each.variables for each in case.expectations)

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        return each_graded(case, FinalState, lambda expected: self._graded(expected, transcript))

    def _graded(self, expected: FinalState, transcript: Transcript) -> Grade:
        if transcript.state is None:
            return Unscored(name=self.name, why=Why.ERROR, reason="no final state was recorded", pass_mark=1.0)
        found = compare_state(expected, transcript.state)
        return Score(
            name=self.name,
            value=found.value,
            pass_mark=1.0,
            reason=in_short(found.reasons) or "the state is as expected",
            details={"correct": list(found.correct), "wrong": list(found.wrong), "missing": list(found.missing)},
        )
