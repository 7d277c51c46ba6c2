"""Which tools an agent used, by name: `tools_used` (should and should not, in test sets) and `forbidden_tools` (should
not, everywhere else)."""

from __future__ import annotations

from collections.abc import Sequence

from howsure.graders.expected import each_graded, has, in_short
from howsure.matching.calls import compare_calls
from howsure.model.case import Case, World
from howsure.model.expectation import ForbiddenTools, ToolCalls
from howsure.model.score import Grade, Score
from howsure.model.transcript import Transcript


class ToolsUsedGrader:
    """One Score over both lists: the share of their statements that hold."""

    name = "tools_used"
    only_with = (ToolCalls, ForbiddenTools)
    only_in = (World.TEST_SET,)

    def wants(self, case: Case) -> bool:
        return case.world == World.TEST_SET and (has(case, ToolCalls) or _forbidden_in(case) != ())

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        compared = [
            compare_calls(each, transcript.messages) for each in case.expectations if isinstance(each, ToolCalls)
        ]
        banned = _forbidden_in(case)
        used = _names_called(transcript)
        forbidden = [name for name in banned if name in used]
        # Expected calls weigh as many as they are; "no call at all" is one statement.
        weights = [max(found.matched + len(found.missing), 1) for found in compared]
        held = sum(found.value * weight for found, weight in zip(compared, weights, strict=True))
        held += len(banned) - len(forbidden)
        reasons = [reason for found in compared for reason in found.reasons]
        reasons += [f"`{name}` was used, but should not be" for name in forbidden]
        score = Score(
            name=self.name,
            value=min(held / (sum(weights) + len(banned)), 1.0),
            pass_mark=1.0,
            reason=in_short(reasons) or "the tools that should be used were used, and no other that should not",
            details={
                "used": used,
                "missing": [name for found in compared for name in found.missing],
                "forbidden": forbidden,
            },
        )
        return (score,)


class ForbiddenToolsGrader:
    """The share of the forbidden tools that was left alone."""

    name = "forbidden_tools"
    only_with = (ForbiddenTools,)

    def wants(self, case: Case) -> bool:
        return case.world != World.TEST_SET and _forbidden_in(case) != ()

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        used = _names_called(transcript)
        return each_graded(case, ForbiddenTools, lambda banned: self._graded(banned.names, used))

    def _graded(self, banned: Sequence[str], used: list[str]) -> Score:
        called = [name for name in dict.fromkeys(banned) if name in used]
        return Score(
            name=self.name,
            value=1 - len(called) / len(set(banned)) if called else 1.0,
            pass_mark=1.0,
            reason=in_short([f"`{name}` was called, but is forbidden" for name in called])
            or "no forbidden tool was called",
            details={"used": used, "forbidden": called},
        )


def _forbidden_in(case: Case) -> tuple[str, ...]:
    lists = (each.names for each in case.expectations if isinstance(each, ForbiddenTools))
    return tuple(dict.fromkeys(name for names in lists for name in names))


def _names_called(transcript: Transcript) -> list[str]:
    return list(dict.fromkeys(call.name for message in transcript.messages for call in message.tool_calls))
