"""`criteria`: every statement of the case, judged one by one; the whole is the share that is met, and all must be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from howsure.graders.judged import Mark, PartsGrader
from howsure.judges.reading import read_check
from howsure.judges.rulings import Check, NotApplicable
from howsure.model.case import Case
from howsure.model.expectation import Criteria, Criterion
from howsure.model.score import Grade, Part, Score


class CriteriaGrader(PartsGrader):
    """One judge call for each criterion."""

    name = "criteria"
    mark = Mark(1.0)
    only_with = (Criteria,)

    def wants(self, case: Case) -> bool:
        return any(isinstance(expected, Criteria) and expected.criteria for expected in case.expectations)

    def parts(self, case: Case) -> Iterable[tuple[Part, Mark]]:
        for position, criterion in enumerate(_criteria(case), start=1):
            yield Part(id=criterion.id, text=criterion.text, weight=criterion.weight, position=position), self.mark

    def read(self, content: Any) -> Check | NotApplicable:
        return read_check(content)

    def whole(self, scores: Sequence[Score], parts: Sequence[Grade]) -> Score:
        return self.share(scores, "criteria met")


def _criteria(case: Case) -> Iterable[Criterion]:
    for expected in case.expectations:
        if isinstance(expected, Criteria):
            yield from expected.criteria
