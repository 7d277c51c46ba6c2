"""The judged evals of the golden world: six on 0 to 5, and ten that are shares of verdicts on a rubric the judge writes
itself. They are no part of the pass rule, so they are optional: without a judge they want no case, and a recording is
asked only about the cases it covers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from howsure.graders.base import Setting
from howsure.graders.judged import WholeGrader
from howsure.judges.reading import read_rating
from howsure.judges.recording import Covering
from howsure.judges.rulings import Ruling
from howsure.judges.verdict_lists import read_share
from howsure.model.case import Case, World, user_turns
from howsure.model.score import UNIT, ZERO_TO_FIVE, Grade, Why
from howsure.model.transcript import Role, Transcript
from howsure.policies.golden import JUDGED_SHARES, JUDGED_TO_FIVE

MULTI_TURN = "multi_turn_"
SINGLE_TURN = "the conversation has a single turn"


class JudgeWilling(WholeGrader):
    """Asks only what its judge can speak about. `optional`: a plan asks live judges only when told to."""

    optional = True
    covering: Covering | None = None

    def bind(self, setting: Setting) -> Self:
        bound = super().bind(setting)
        judge: object = setting.judge
        bound.covering = judge if isinstance(judge, Covering) else None
        return bound

    def willing(self, case: Case) -> bool:
        if self.judge is None:
            return False
        return self.covering is None or self.covering.covers(case, self.name)


class GoldenJudgedGrader(JudgeWilling):
    """Wants golden cases."""

    only_in = (World.GOLDEN,)

    def __init__(self, name: str) -> None:
        self.name = name

    def wants(self, case: Case) -> bool:
        return case.world == World.GOLDEN and self.willing(case)


class RatedToFive(GoldenJudgedGrader):
    """A rating from 0 to 5."""

    scale = ZERO_TO_FIVE

    def read(self, content: Any) -> Ruling:
        return read_rating(content, ZERO_TO_FIVE)


class ShareOfVerdicts(GoldenJudgedGrader):
    """The share of the judge's own criteria that hold. The multi-turn ones need a conversation of several turns."""

    scale = UNIT

    def read(self, content: Any) -> Ruling:
        return read_share(content)

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        if self.name.startswith(MULTI_TURN) and turn_count(case, transcript) < 2:
            return [self.without(Why.NOT_APPLICABLE, SINGLE_TURN)]
        return await super().grade(case, transcript)


def golden_judged() -> tuple[GoldenJudgedGrader, ...]:
    return (*map(RatedToFive, JUDGED_TO_FIVE), *map(ShareOfVerdicts, JUDGED_SHARES))


def turn_count(case: Case, transcript: Transcript) -> int:
    """How often the user speaks."""
    said = sum(message.role is Role.USER for message in transcript.messages)
    return max(said, len(user_turns(case.input)))
