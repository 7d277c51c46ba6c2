"""The judged evals of the golden world: six on 0 to 5, and ten that are the share of verdicts on a rubric that the
judge writes itself. They are in no pass rule, so they are optional: without a judge they want no case, and a recording
is asked only about the cases it covers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from howsure.graders.base import GraderContext
from howsure.graders.judged_grader import WholeCaseGrader
from howsure.judges.base import SelectiveJudge
from howsure.judges.replies import read_rating, read_share
from howsure.judges.rulings import Ruling
from howsure.model.case import Case, World, user_turns
from howsure.model.expectation import Expectation, FinalState, ReferenceAnswer, ToolCalls, Trajectory
from howsure.model.score import UNIT, ZERO_TO_FIVE, Grade, UnscoredReason
from howsure.model.transcript import Role, Transcript
from howsure.policies.worlds import JUDGED_SHARES, JUDGED_TO_FIVE

MULTI_TURN = "multi_turn_"
SINGLE_TURN = "the conversation has a single turn"
_VERIFIED: dict[str, tuple[type[Expectation], ...]] = {
    "tool_usage_accuracy_judged": (ToolCalls,),
    "trajectory_accuracy_judged": (Trajectory,),
    "state_management_fidelity_judged": (FinalState,),
    "response_correctness": (ReferenceAnswer,),
}


class OptionalJudgedGrader(WholeCaseGrader):
    """Wants only cases that its judge covers. `optional`: a plan with a live judge includes it only if it is
    selected."""

    optional = True
    covering: SelectiveJudge | None = None

    def bind(self, context: GraderContext) -> Self:
        bound = super().bind(context)
        judge: object = context.judge
        bound.covering = judge if isinstance(judge, SelectiveJudge) else None
        return bound

    def judge_covers(self, case: Case) -> bool:
        return self.judge is not None and (self.covering is None or self.covering.covers(case, self.name))


class GoldenJudgedGrader(OptionalJudgedGrader):
    """A judged eval of golden cases."""

    only_in = (World.GOLDEN,)

    def __init__(self, name: str) -> None:
        self.name = name
        self.verifies = _VERIFIED.get(name, ())

    def wants(self, case: Case) -> bool:
        return case.world == World.GOLDEN and self.judge_covers(case)


class RatedToFive(GoldenJudgedGrader):
    """A rating from 0 to 5."""

    scale = ZERO_TO_FIVE
    may_not_apply = True

    def read(self, content: Any) -> Ruling:
        return read_rating(content, ZERO_TO_FIVE)


class ShareOfVerdicts(GoldenJudgedGrader):
    """The share of the judge's own criteria that hold. Evals named `multi_turn_…` need several turns."""

    scale = UNIT

    def read(self, content: Any) -> Ruling:
        return read_share(content)

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        if self.name.startswith(MULTI_TURN) and turn_count(case, transcript) < 2:
            return [self.unscored(UnscoredReason.NOT_APPLICABLE, SINGLE_TURN)]
        return await super().grade(case, transcript)


def golden_judged() -> tuple[GoldenJudgedGrader, ...]:
    return (*map(RatedToFive, JUDGED_TO_FIVE), *map(ShareOfVerdicts, JUDGED_SHARES))


def turn_count(case: Case, transcript: Transcript) -> int:
    """How many messages the user sends."""
    sent = sum(message.role is Role.USER for message in transcript.messages)
    return max(sent, len(user_turns(case.input)))
