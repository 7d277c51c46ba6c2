"""`expected_outcome`: whether the conversation achieved what the test set says it should, yes or no."""

from __future__ import annotations

from typing import Any

from howsure.graders.expected import has
from howsure.graders.judged import Mark, WholeGrader
from howsure.judges.reading import read_check
from howsure.judges.rulings import Check, NotApplicable
from howsure.model.case import Case, World
from howsure.model.expectation import Goal


class ExpectedOutcomeGrader(WholeGrader):
    """One judge call for the whole conversation."""

    name = "expected_outcome"
    mark = Mark(1.0)
    only_with = (Goal,)

    def wants(self, case: Case) -> bool:
        return case.world == World.TEST_SET and has(case, Goal)

    def read(self, content: Any) -> Check | NotApplicable:
        return read_check(content)
