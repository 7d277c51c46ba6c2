"""ADK's own scores, from the history that a recording comes from. They keep ADK's names and do not gate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from howsure.model.adk_criteria import adk_criterion
from howsure.model.case import Case, World
from howsure.model.score import UNIT, Grade, Part, Scale, Score
from howsure.model.transcript import Transcript

PREFIX = "adk_score."
VERDICT = "final_eval_status"
GIVER = "adk"


class AdkScores:
    """`adk_score`: one score for each that ADK gave."""

    name = "adk_score"
    only_in = (World.GOLDEN,)
    verifies = ()

    def wants(self, case: Case) -> bool:
        return any(True for _ in _scores(case))

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        grades: list[Grade] = []
        for name, value in _scores(case):
            criterion = adk_criterion(case, name)
            details = {"threshold": criterion.threshold, "passed": value >= criterion.threshold} if criterion else {}
            reason = f"ADK measured {value:g}" + (f"; its threshold is {criterion.threshold:g}" if criterion else "")
            grades.append(
                Score(
                    name=self.name,
                    value=value,
                    scale=UNIT if value in UNIT else Scale(min(value, 0), None),
                    reason=f"ADK says {'passed' if value else 'failed'}" if name == VERDICT else reason,
                    part=Part(id=name, text=name),
                    judge=GIVER,
                    details=details,
                )
            )
        return grades


def _scores(case: Case) -> Iterator[tuple[str, float]]:
    for key, value in case.metadata.items():
        if key.startswith(PREFIX) and isinstance(value, int | float):
            yield key.removeprefix(PREFIX), float(value)
