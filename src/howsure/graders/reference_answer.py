"""`reference_answer`: how far the answer agrees with the reference, from 0 to 1. Where a case also has criteria, and in
the Explain and golden worlds, the reference is help for other judges and not graded by itself."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from msgspec.structs import replace

from howsure.graders.judged import Mark, WholeGrader
from howsure.judges.dataset_policies import policy_of
from howsure.judges.reading import read_rating
from howsure.judges.rulings import NotApplicable, Rating
from howsure.model.case import Case, World
from howsure.model.expectation import Criteria, ReferenceAnswer, WeightedCriteria
from howsure.model.score import UNIT, Grade, Score
from howsure.model.transcript import Transcript
from howsure.policies.legal import DEFAULT_MARK

_STEP = Decimal("0.1")


class ReferenceAnswerGrader(WholeGrader):
    """One judge call for the whole answer."""

    name = "reference_answer"
    mark = Mark(DEFAULT_MARK)
    only_with = (ReferenceAnswer,)

    def wants(self, case: Case) -> bool:
        if case.world in (World.EXPLAIN, World.GOLDEN):
            return False
        kinds = [type(expected) for expected in case.expectations]
        return ReferenceAnswer in kinds and Criteria not in kinds and WeightedCriteria not in kinds

    def read(self, content: Any) -> Rating | NotApplicable:
        return read_rating(content, UNIT)

    async def grade(self, case: Case, transcript: Transcript) -> list[Grade]:
        grade = await self.asked(case, transcript, self.read)
        if isinstance(grade, Score) and policy_of(case).quantised:
            grade = _quantised(grade)
        return [grade]


def _quantised(score: Score) -> Score:
    """Rounded to tenths, halves up."""
    value = float(Decimal(repr(score.value)).quantize(_STEP, ROUND_HALF_UP))
    return replace(score, value=value, details={**score.details, "judged": score.value, "quantised_to": float(_STEP)})
