"""Which graders to ask about a case. There are dozens, and most want cases of one kind alone: asking each of them about
every case would cost more than grading it. So a grader may say beside its `wants` what no case can do without:
`only_with`, kinds of expectations of which it needs one, and `only_in`, the worlds it works in; where it is
`or_recorded`, cases of other worlds that bring a recording, too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from howsure.graders.base import Grader
from howsure.model.case import Case


class Selection:
    """The graders of a lane. What those of them say is looked at once for each kind of case."""

    def __init__(self, graders: Iterable[Grader]) -> None:
        self._graders = tuple(graders)
        self._likely: dict[tuple[object, ...], tuple[Grader, ...]] = {}

    def wanting(self, case: Case) -> Sequence[Grader]:
        """Those that want the case, in their order."""
        kind = (case.world, case.recorded is None, *map(type, case.expectations))
        likely = self._likely.get(kind)
        if likely is None:
            likely = self._likely[kind] = tuple(each for each in self._graders if may_want(each, case))
        return [grader for grader in likely if grader.wants(case)]


def may_want(grader: Grader, case: Case) -> bool:
    """False where the grader says that it wants no such case."""
    # What stands beside a `wants` tells of that one: a subclass with another has to say it anew.
    said: Mapping[str, Any] = next((vars(kind) for kind in type(grader).__mro__ if "wants" in vars(kind)), {})
    kinds, worlds = said.get("only_with"), said.get("only_in")
    if worlds is not None and case.world not in worlds and not (said.get("or_recorded") and case.recorded):
        return False
    return kinds is None or any(isinstance(expected, kinds) for expected in case.expectations)
