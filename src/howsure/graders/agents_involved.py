"""`agent_routing`: whether the agents that should take part did. Others may take part too."""

from __future__ import annotations

from collections.abc import Sequence

from howsure.graders.expected import each_graded, in_short
from howsure.matching.steps import bare_name
from howsure.model.case import Case
from howsure.model.expectation import AgentsInvolved
from howsure.model.score import Grade, Score, Unscored, Why
from howsure.model.transcript import Transcript


class AgentsInvolvedGrader:
    """The share of the named agents that took part. A transcript that names no agent at all cannot tell."""

    name = "agent_routing"
    only_with = (AgentsInvolved,)

    def wants(self, case: Case) -> bool:
        return any(isinstance(each, AgentsInvolved) and each.names for each in case.expectations)

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        seen = [bare_name(name) for name in transcript.agents]
        return each_graded(case, AgentsInvolved, lambda expected: self._graded(expected, seen))

    def _graded(self, expected: AgentsInvolved, seen: list[str]) -> Grade:
        if not seen:
            return Unscored(name=self.name, why=Why.ERROR, reason="the transcript names no agent", pass_mark=1.0)
        names = list(dict.fromkeys(map(bare_name, expected.names)))
        missing = [name for name in names if name not in seen]
        return Score(
            name=self.name,
            value=1 - len(missing) / len(names) if missing else 1.0,
            pass_mark=1.0,
            reason=in_short([f"`{name}` did not take part" for name in missing]) or "the expected agents took part",
            details={"seen": seen, "missing": missing},
        )
