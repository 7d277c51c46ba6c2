"""Graders of tool calls that need no judge. `tool_calls` compares with the expected calls (`tool_usage_accuracy` in the
golden world); `tools_used` checks names that should and should not be used (test sets); `forbidden_tools` checks names
that must not be used (every other world). The comparison of calls is in matching/calls.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from howsure.graders.expectations import ExpectationGrader, expects
from howsure.matching.calls import CallComparison, compare_calls
from howsure.model.case import Case, World
from howsure.model.expectation import ForbiddenTools, ToolCalls
from howsure.model.score import Grade
from howsure.model.transcript import Transcript


class ToolCallGrader(ExpectationGrader[ToolCalls]):
    """The expected calls, in the worlds that `in_world` accepts. Worlds have different names for this check."""

    only_with = (ToolCalls,)

    def __init__(self, name: str = "tool_calls", in_world: Callable[[str], bool] = lambda world: True) -> None:
        self.name = name
        self._in_world = in_world

    def wants(self, case: Case) -> bool:
        return self._in_world(case.world) and expects(case, ToolCalls)

    def grade_one(self, expected: ToolCalls, transcript: Transcript) -> Grade:
        comparison = compare_calls(expected, transcript.messages)
        details = {
            "selection": comparison.selection,
            "arguments": comparison.arguments,
            "order": comparison.order,
            "matched": comparison.matched,
            "missing": list(comparison.missing),
            "unexpected": list(comparison.unexpected),
        }
        return self.score(comparison.value, comparison.reasons, _success_reason(comparison), details)


def _success_reason(comparison: CallComparison) -> str:
    if not comparison.matched:
        return "no call was expected and none was made" if not comparison.missing else "no call was made, as is allowed"
    several = f"the {comparison.matched} expected calls were made"
    return "the expected call was made" if comparison.matched == 1 else several


def tool_calls() -> ToolCallGrader:
    """For every world that has no other name for this check."""
    return ToolCallGrader("tool_calls", lambda world: world not in (World.GOLDEN, World.TEST_SET))


def tool_usage_accuracy() -> ToolCallGrader:
    return ToolCallGrader("tool_usage_accuracy", lambda world: world == World.GOLDEN)


class ToolsUsedGrader(ExpectationGrader[ToolCalls | ForbiddenTools]):
    """`tools_used`: one Score over both lists, the share of their statements that hold."""

    name = "tools_used"
    only_with = (ToolCalls, ForbiddenTools)
    only_in = (World.TEST_SET,)

    def wants(self, case: Case) -> bool:
        return case.world == World.TEST_SET and (expects(case, ToolCalls) or _forbidden_names(case) != ())

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        comparisons = [
            compare_calls(each, transcript.messages) for each in case.expectations if isinstance(each, ToolCalls)
        ]
        banned = _forbidden_names(case)
        used = _names_called(transcript)
        forbidden = [name for name in banned if name in used]
        # Each expected call is one statement; so is "no call at all".
        weights = [max(comparison.matched + len(comparison.missing), 1) for comparison in comparisons]
        held = sum(comparison.value * weight for comparison, weight in zip(comparisons, weights, strict=True))
        held += len(banned) - len(forbidden)
        value = min(held / (sum(weights) + len(banned)), 1.0)
        reasons = [reason for comparison in comparisons for reason in comparison.reasons]
        reasons += [f"`{name}` was used, but should not be" for name in forbidden]
        success = "the tools that should be used were used, and no other that should not"
        missing = [name for comparison in comparisons for name in comparison.missing]
        return [self.score(value, reasons, success, {"used": used, "missing": missing, "forbidden": forbidden})]


class ForbiddenToolsGrader(ExpectationGrader[ForbiddenTools]):
    """`forbidden_tools`: the share of the forbidden tools that were not called."""

    name = "forbidden_tools"
    only_with = (ForbiddenTools,)

    def wants(self, case: Case) -> bool:
        return case.world != World.TEST_SET and _forbidden_names(case) != ()

    def grade_one(self, expected: ForbiddenTools, transcript: Transcript) -> Grade:
        used = _names_called(transcript)
        called = [name for name in dict.fromkeys(expected.names) if name in used]
        value = 1 - len(called) / len(set(expected.names)) if called else 1.0
        reasons = [f"`{name}` was called, but is forbidden" for name in called]
        return self.score(value, reasons, "no forbidden tool was called", {"used": used, "forbidden": called})


def _forbidden_names(case: Case) -> tuple[str, ...]:
    lists = (each.names for each in case.expectations if isinstance(each, ForbiddenTools))
    return tuple(dict.fromkeys(name for names in lists for name in names))


def _names_called(transcript: Transcript) -> list[str]:
    return list(dict.fromkeys(call.name for message in transcript.messages for call in message.tool_calls))
