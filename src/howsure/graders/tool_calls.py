"""Whether the agent made the tool calls it should have made: `tool_calls`, and `tool_usage_accuracy` as the golden
world calls it. The comparison itself is in `matching.calls`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from howsure.graders.expected import each_graded, has, in_short
from howsure.matching.calls import CallComparison, compare_calls
from howsure.model.case import Case, World
from howsure.model.expectation import ToolCalls
from howsure.model.score import Grade, Score
from howsure.model.transcript import Transcript


class ToolCallGrader:
    """Grades the expected calls of cases in some worlds; others name the same check differently."""

    only_with = (ToolCalls,)

    def __init__(self, name: str = "tool_calls", in_world: Callable[[str], bool] = lambda world: True) -> None:
        self.name = name
        self._in_world = in_world

    def wants(self, case: Case) -> bool:
        return self._in_world(case.world) and has(case, ToolCalls)

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        return each_graded(case, ToolCalls, lambda calls: self._graded(compare_calls(calls, transcript.messages)))

    def _graded(self, found: CallComparison) -> Score:
        return Score(
            name=self.name,
            value=found.value,
            pass_mark=1.0,
            reason=in_short(found.reasons) if found.reasons else _all_well(found),
            details={
                "selection": found.selection,
                "arguments": found.arguments,
                "order": found.order,
                "matched": found.matched,
                "missing": list(found.missing),
                "unexpected": list(found.unexpected),
            },
        )


def _all_well(found: CallComparison) -> str:
    if not found.matched:
        return "no call was expected and none was made" if not found.missing else "no call was made, as is allowed"
    return "the expected call was made" if found.matched == 1 else f"the {found.matched} expected calls were made"


def tool_calls() -> ToolCallGrader:
    """For every world that has no name of its own for it."""
    return ToolCallGrader("tool_calls", lambda world: world not in (World.GOLDEN, World.TEST_SET))


def tool_usage_accuracy() -> ToolCallGrader:
    return ToolCallGrader("tool_usage_accuracy", lambda world: world == World.GOLDEN)
