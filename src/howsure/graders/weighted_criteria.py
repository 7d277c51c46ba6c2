"""`weighted_criteria`: statements that earn or cost points. Both normalisations are reported; the value is `points`,
and a policy whose profile says `min_max` takes that one from the details."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum
from sys import float_info
from typing import Any

from howsure.graders.judged import Mark, PartsGrader
from howsure.judges.reading import read_rating
from howsure.judges.rulings import NotApplicable, Rating
from howsure.model.case import Case
from howsure.model.expectation import Criterion, WeightedCriteria
from howsure.model.profile import Normalization
from howsure.model.score import UNIT, Direction, Grade, Part, Score, Unscored, Why
from howsure.policies.legal import DEFAULT_MARK, WEIGHTED

NO_WEIGHT = 1.0
"""The weight of a criterion whose file gives none."""

_LARGE = 1e300
_MET = Mark(1.0)
_NOT_MET = Mark(0.0, Direction.LOWER)


class WeightedCriteriaGrader(PartsGrader):
    """One judge call for each criterion; a negative weight means that meeting it is bad."""

    name = WEIGHTED
    mark = Mark(DEFAULT_MARK)
    only_with = (WeightedCriteria,)

    def wants(self, case: Case) -> bool:
        return any(isinstance(expected, WeightedCriteria) and expected.criteria for expected in case.expectations)

    def parts(self, case: Case) -> Iterable[tuple[Part, Mark]]:
        for position, criterion in enumerate(_criteria(case), start=1):
            weight = NO_WEIGHT if criterion.weight is None else criterion.weight
            part = Part(id=criterion.id, text=criterion.text, weight=weight, position=position)
            yield part, _NOT_MET if weight < 0 else _MET

    def read(self, content: Any) -> Rating | NotApplicable:
        return read_rating(content, UNIT)

    def whole(self, scores: Sequence[Score], parts: Sequence[Grade]) -> Score | Unscored:
        given = [(score.part.weight or 0.0, score.value) for score in scores if score.part]
        unit = _unit(weight for weight, _ in given)
        weighed = [(weight / unit, value) for weight, value in given]
        raw = fsum(weight * value for weight, value in weighed)
        lowest = fsum(weight for weight, _ in weighed if weight < 0)
        highest = fsum(weight for weight, _ in weighed if weight > 0)
        if highest == lowest:
            return self.without(Why.NOT_APPLICABLE, "every criterion has the weight 0")
        min_max = _clipped((raw - lowest) / (highest - lowest))
        points = _clipped(raw / highest) if highest > 0 else None
        details: dict[str, Any] = {
            "points": points,
            "min_max": min_max,
            "normalization": (Normalization.MIN_MAX if points is None else Normalization.POINTS).value,
            "raw_sum": _in_points(raw, unit),
            "min_raw": _in_points(lowest, unit),
            "max_raw": _in_points(highest, unit),
            "matched_criteria": len(scores),
            "total_criteria": len(parts),
        }
        if points is None:
            details["no_positive_weight"] = True
        return Score(
            name=self.name,
            value=min_max if points is None else points,
            pass_mark=self.mark.value,
            reason=_reason(*(_in_points(share, unit) for share in (raw, lowest, highest))),
            details=details,
        )


def _unit(weights: Iterable[float]) -> float:
    """What weights are divided by before they are added: the largest, where a sum could leave the range of numbers."""
    largest = max(map(abs, weights), default=0.0)
    return largest if largest > _LARGE else 1.0


def _in_points(share: float, unit: float) -> float:
    return min(float_info.max, max(-float_info.max, share * unit))


def _reason(raw: float, lowest: float, highest: float) -> str:
    if highest > 0:
        return f"{raw:g} of {highest:g} points"
    return f"{raw:g} points where every criterion costs some, {lowest:g} at worst"


def _clipped(value: float) -> float:
    return min(1.0, max(0.0, value))


def _criteria(case: Case) -> Iterable[Criterion]:
    for expected in case.expectations:
        if isinstance(expected, WeightedCriteria):
            yield from expected.criteria
