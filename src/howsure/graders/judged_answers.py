"""Two graders that ask the judge once about the whole answer. `reference_answer`: how far the answer agrees with the
reference, from 0 to 1. If a case also has criteria (unless its policy says that all must hold), and in the Explain and
golden worlds, the reference only helps other judges and is not graded. `expected_outcome`: whether the conversation
achieved what the test set says it should."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from msgspec.structs import replace

from howsure.graders.expectations import expects
from howsure.graders.judged_grader import JudgedGrader
from howsure.judges.dataset_policies import dataset_policy
from howsure.judges.panels import PassMark
from howsure.judges.replies import read_check
from howsure.judges.rulings import Check, NotApplicable
from howsure.model.case import Case, Scenario, World
from howsure.model.dataset_policy import PassWinner
from howsure.model.expectation import Criteria, Goal, ReferenceAnswer, WeightedCriteria
from howsure.model.score import Grade, Score
from howsure.model.transcript import Transcript
from howsure.policies.verdicts import DEFAULT_MARK

_STEP = Decimal("0.1")


class ReferenceAnswerGrader(JudgedGrader):
    """`reference_answer`: from 0 to 1."""

    name = "reference_answer"
    mark = PassMark(DEFAULT_MARK)
    only_with = (ReferenceAnswer, WeightedCriteria)
    verifies = (ReferenceAnswer,)

    def wants(self, case: Case) -> bool:
        if case.world in (World.EXPLAIN, World.GOLDEN):
            return False
        if any(isinstance(expected, WeightedCriteria) and expected.references for expected in case.expectations):
            return dataset_policy(case, self.context.policies).all_must_hold
        kinds = [type(expected) for expected in case.expectations]
        return ReferenceAnswer in kinds and Criteria not in kinds and WeightedCriteria not in kinds

    def pass_winner(self, case: Case) -> PassWinner | None:
        return dataset_policy(case, self.context.policies).pass_wins

    async def grade(self, case: Case, transcript: Transcript) -> list[Grade]:
        grade = await self.ask_judge(case, transcript, self.read)
        if isinstance(grade, Score) and grade.stated_pass is not None:
            grade = replace(grade, details={**grade.details, "pass_wins": PassWinner.JUDGE.value})
        if isinstance(grade, Score) and dataset_policy(case, self.context.policies).quantised:
            value = float(Decimal(repr(grade.value)).quantize(_STEP, ROUND_HALF_UP))
            details = {**grade.details, "judged": grade.value, "quantised_to": float(_STEP)}
            grade = replace(grade, value=value, details=details)
        return [grade]


class ExpectedOutcomeGrader(JudgedGrader):
    """`expected_outcome`: yes or no."""

    name = "expected_outcome"
    mark = PassMark(1.0)
    only_with = (Goal,)

    def wants(self, case: Case) -> bool:
        played = case.world == World.TEST_SET or isinstance(case.input, Scenario)
        return played and case.world != World.EXPLAIN and expects(case, Goal)

    def read(self, content: Any) -> Check | NotApplicable:
        return read_check(content)
