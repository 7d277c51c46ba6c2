"""Which graders want a case. There are dozens of graders, and most want one kind of case only: calling `wants` of each
for every case would cost more than the grading. So a grader may declare, in the same class as its `wants`, conditions
that are quick to check: `only_with` (it needs an expectation of one of these classes) and `only_in` (it works in these
worlds; with `or_recorded` also in others, if the case brings a recording)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from howsure.graders.base import Grader
from howsure.model.case import Case


class GraderSelection:
    """The graders of one candidate and repeat. Their declared conditions are checked once for each kind of case."""

    def __init__(self, graders: Iterable[Grader]) -> None:
        self._graders = tuple(graders)
        self._by_kind: dict[tuple[object, ...], tuple[Grader, ...]] = {}

    def select(self, case: Case) -> Sequence[Grader]:
        """The graders that want the case, in their order."""
        kind = (case.world, case.recorded is None, *map(type, case.expectations))
        candidates = self._by_kind.get(kind)
        if candidates is None:
            candidates = self._by_kind[kind] = tuple(each for each in self._graders if may_want(each, case))
        return [grader for grader in candidates if grader.wants(case)]


def may_want(grader: Grader, case: Case) -> bool:
    """False if the declared conditions of the grader exclude the case."""
    # Conditions belong to the `wants` in the same class: a subclass that overrides it must declare its own.
    declared: Mapping[str, Any] = next((vars(kind) for kind in type(grader).__mro__ if "wants" in vars(kind)), {})
    kinds, worlds = declared.get("only_with"), declared.get("only_in")
    if worlds is not None and case.world not in worlds and not (declared.get("or_recorded") and case.recorded):
        return False
    return kinds is None or any(isinstance(expected, kinds) for expected in case.expectations)
