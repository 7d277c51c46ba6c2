"""Two graders of a case's own statements, which a judge answers one by one. `criteria`: all must be met, and the value
is the share that is. `weighted_criteria`: they earn or cost points. Its value is `points`; both normalizations are
among the details, and a policy whose profile says `min_max` takes that one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from math import fsum
from sys import float_info
from typing import Any

from msgspec.structs import replace

from howsure.graders.judged_grader import PartsGrader, Read
from howsure.judges.dataset_policies import dataset_policy
from howsure.judges.panels import PassMark
from howsure.judges.replies import read_check, read_rating
from howsure.judges.rulings import Check, NotApplicable
from howsure.model.case import Case
from howsure.model.dataset_policy import CriterionStyle
from howsure.model.expectation import Criteria, Criterion, WeightedCriteria
from howsure.model.score import UNIT, Direction, Grade, Part, Score, Unscored, UnscoredReason
from howsure.model.transcript import Transcript
from howsure.model.verdict import Normalization
from howsure.policies.verdicts import DEFAULT_MARK, WEIGHTED


class CriteriaGrader(PartsGrader):
    """`criteria`: one question to the judge for each criterion."""

    name = "criteria"
    mark = PassMark(1.0)
    only_with = (Criteria,)

    def wants(self, case: Case) -> bool:
        return any(isinstance(expected, Criteria) and expected.criteria for expected in case.expectations)

    def parts(self, case: Case) -> Iterable[tuple[Part, PassMark]]:
        for position, criterion in enumerate(_criteria(case, Criteria), start=1):
            yield Part(id=criterion.id, text=criterion.text, weight=criterion.weight, position=position), self.mark

    def read(self, content: Any) -> Check | NotApplicable:
        return read_check(content)

    def whole(self, scores: Sequence[Score], parts: Sequence[Grade]) -> Score:
        return self.share(scores, "criteria met")


NO_WEIGHT = 1.0
"""The weight of a criterion if the file gives none."""

_LARGE = 1e300
_MET = PassMark(1.0)
_NOT_MET = PassMark(0.0, Direction.LOWER)


class WeightedCriteriaGrader(PartsGrader):
    """`weighted_criteria`: one question for each criterion. A negative weight means that meeting it is bad."""

    name = WEIGHTED
    mark = PassMark(DEFAULT_MARK)
    only_with = (WeightedCriteria,)

    def wants(self, case: Case) -> bool:
        return any(isinstance(expected, WeightedCriteria) and expected.criteria for expected in case.expectations)

    def parts(self, case: Case) -> Iterable[tuple[Part, PassMark]]:
        for position, criterion in enumerate(_criteria(case, WeightedCriteria), start=1):
            weight = NO_WEIGHT if criterion.weight is None else criterion.weight
            part = Part(id=criterion.id, text=criterion.text, weight=weight, position=position)
            yield part, _NOT_MET if weight < 0 else _MET

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        """Where all must hold, the whole has the mark 1."""
        grades = await super().grade(case, transcript)
        if not dataset_policy(case, self.context.policies).all_must_hold:
            return grades
        return [*grades[:-1], replace(grades[-1], pass_mark=_MET.value)]

    def reader(self, case: Case) -> Read:
        """A dataset whose criteria are binary allows nothing between 0 and 1."""
        binary = dataset_policy(case, self.context.policies).criteria is CriterionStyle.BINARY
        return partial(read_rating, scale=UNIT, whole=True) if binary else self.read

    def whole(self, scores: Sequence[Score], parts: Sequence[Grade]) -> Score | Unscored:
        weighted = [(score.part.weight or 0.0, score.value) for score in scores if score.part]
        # Weights are divided by the largest before they are added, if a sum could overflow.
        largest = max((abs(weight) for weight, _ in weighted), default=0.0)
        unit = largest if largest > _LARGE else 1.0
        scaled = [(weight / unit, value) for weight, value in weighted]
        raw = fsum(weight * value for weight, value in scaled)
        lowest = fsum(weight for weight, _ in scaled if weight < 0)
        highest = fsum(weight for weight, _ in scaled if weight > 0)
        if highest == lowest:
            return self.unscored(UnscoredReason.NOT_APPLICABLE, "every criterion has the weight 0")
        min_max = _clip((raw - lowest) / (highest - lowest))
        points = _clip(raw / highest) if highest > 0 else None
        raw_sum, min_raw, max_raw = (
            min(float_info.max, max(-float_info.max, share * unit)) for share in (raw, lowest, highest)
        )
        details: dict[str, Any] = {
            "points": points,
            "min_max": min_max,
            "normalization": (Normalization.MIN_MAX if points is None else Normalization.POINTS).value,
            "raw_sum": raw_sum,
            "min_raw": min_raw,
            "max_raw": max_raw,
            "matched_criteria": len(scores),
            "total_criteria": len(parts),
        }
        reason = f"{raw_sum:g} of {max_raw:g} points"
        if points is None:
            details["no_positive_weight"] = True
            reason = f"{raw_sum:g} points where every criterion costs some, {min_raw:g} at worst"
        return Score(
            name=self.name,
            value=min_max if points is None else points,
            pass_mark=self.mark.value,
            reason=reason,
            details=details,
        )


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))


def _criteria(case: Case, kind: type[Criteria | WeightedCriteria]) -> Iterable[Criterion]:
    for expected in case.expectations:
        if isinstance(expected, kind):
            yield from expected.criteria
