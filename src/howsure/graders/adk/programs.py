"""ADK's criteria that a program decides: `tool_trajectory_avg_score`, 0 or 1 a turn, and `response_match_score`, the
F-measure of ROUGE-1 of the answer and the expected one. Both are the mean over the turns."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import cache
from importlib import import_module
from statistics import fmean
from typing import Any, Self

from howsure.graders.adk.turns import ComparisonProblem, expected_calls, expected_texts, expected_turns, split_turns
from howsure.graders.base import GraderContext
from howsure.matching.calls import arguments_fit
from howsure.model.adk_criteria import (
    RESPONSE_MATCH,
    TRAJECTORY,
    AdkCriterion,
    TrajectoryMatch,
    adk_criterion,
    declares_criteria,
)
from howsure.model.case import Case, Scenario, World
from howsure.model.expectation import ArgumentMode, ExpectedCall, ReferenceAnswer, ToolCalls
from howsure.model.score import Grade, Score, Unscored, UnscoredReason
from howsure.model.transcript import ToolCall, Transcript

NOT_FOR_SCENARIOS = "nothing is expected turn by turn of a scenario"
NO_ROUGE = "the package `rouge-score` is not installed: install howsure with the extra `adk-eval`"


class MeanOfTurns:
    """Compares turn by turn with what is expected. It wants the cases that declare its criterion; asked for by name, it
    wants every case, and has no mark but a profile's."""

    name: str
    only_in = (World.GOLDEN, World.TEST_SET)
    _is_named = False

    def bind(self, context: GraderContext) -> Self:
        bound = copy(self)
        bound._is_named = self.name in context.named
        return bound

    def wants(self, case: Case) -> bool:
        return self._is_named or declares_criteria(case, self.name)

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        criterion = adk_criterion(case, self.name)
        mark = None if criterion is None else criterion.threshold
        if isinstance(case.input, Scenario):
            why, reason = UnscoredReason.NOT_APPLICABLE, NOT_FOR_SCENARIOS
            return [Unscored(name=self.name, why=why, reason=reason, pass_mark=mark)]
        turns = split_turns(transcript)
        try:
            expected_turns(case, turns)
            values = self.values(case, turns, criterion)
        except ComparisonProblem as error:
            return [Unscored(name=self.name, why=UnscoredReason.ERROR, reason=str(error), pass_mark=mark)]
        low = [str(number) for number, value in enumerate(values, start=1) if value < 1]
        reason = f"turn {', '.join(low)} of {len(values)} {self.differs}" if low else self.agrees
        return [Score(name=self.name, value=fmean(values), pass_mark=mark, reason=reason, details={"turns": values})]

    agrees = "every turn is as expected"
    differs = "is not as expected"

    def values(self, case: Case, turns: Sequence[Transcript], criterion: AdkCriterion | None) -> list[float]:
        raise NotImplementedError


class TrajectoryAverage(MeanOfTurns):
    """`tool_trajectory_avg_score`. With `IN_ORDER` and `ANY_ORDER` other calls are free, so nothing expected always
    matches."""

    name = TRAJECTORY
    verifies = (ToolCalls,)
    agrees, differs = "the calls of every turn match", "has other calls than expected"

    def values(self, case: Case, turns: Sequence[Transcript], criterion: AdkCriterion | None) -> list[float]:
        how = criterion or AdkCriterion(threshold=1.0)
        pairs = zip(turns, expected_calls(case, len(turns)), strict=True)
        return [float(calls_match(turn.tool_calls, calls, how)) for turn, calls in pairs]


def calls_match(made: Sequence[ToolCall], expected: Sequence[ExpectedCall], how: AdkCriterion) -> bool:
    """Whether the calls of one turn match, as ADK says."""

    def same(call: ToolCall, wanted: ExpectedCall) -> bool:
        if call.name != wanted.name:
            return False
        equal = how.ignore_args or call.arguments == wanted.arguments
        return equal or arguments_fit(wanted.arguments, call.arguments, ArgumentMode.EXACT)

    match how.match_type:
        case TrajectoryMatch.EXACT:
            return len(made) == len(expected) and all(map(same, made, expected))
        case TrajectoryMatch.IN_ORDER:
            rest = iter(made)
            return all(any(same(call, wanted) for call in rest) for wanted in expected)
        case TrajectoryMatch.ANY_ORDER:
            left = list(made)
            for wanted in expected:
                found = next((place for place, call in enumerate(left) if same(call, wanted)), None)
                if found is None:
                    return False
                del left[found]
            return True


class ResponseMatch(MeanOfTurns):
    """`response_match_score`. Words are found as ADK finds them: stems of ASCII words, other words whole, and
    characters of scripts without spaces one by one."""

    name = RESPONSE_MATCH
    verifies = (ReferenceAnswer,)
    agrees, differs = "every answer has the words of the expected one", "differs from the expected answer"

    def values(self, case: Case, turns: Sequence[Transcript], criterion: AdkCriterion | None) -> list[float]:
        return [rouge_1(text, turn.answer) for turn, text in zip(turns, expected_texts(case, len(turns)), strict=True)]


_NO_SPACES = ((0x4E00, 0x9FFF), (0x3040, 0x309F), (0x30A0, 0x30FF), (0xAC00, 0xD7AF))
"""Chinese, Japanese and Korean characters, each a word."""
_CLUSTERS = ((0x0E00, 0x0E7F), (0x0E80, 0x0EFF), (0x1780, 0x17FF), (0x1000, 0x109F))
"""Thai, Lao, Khmer and Burmese letters, each with its marks a word."""


def _is_in(char: str, ranges: Iterable[tuple[int, int]]) -> bool:
    return any(low <= ord(char) <= high for low, high in ranges)


def _separated(text: str) -> Iterator[str]:
    for char in unicodedata.normalize("NFKC", text).lower():
        is_mark = unicodedata.category(char).startswith("M")
        if _is_in(char, _NO_SPACES):
            yield f" {char} "
        elif _is_in(char, _CLUSTERS) and not is_mark:
            yield f" {char}"
        else:
            yield char if is_mark or char.isalnum() else " "


@cache
def _ascii_tokenizer() -> Any:
    """Finds the stems of ASCII words. (Importing the package takes a second.)"""
    try:
        return import_module("rouge_score.tokenizers").DefaultTokenizer(True)
    except ImportError as error:
        raise ComparisonProblem(NO_ROUGE) from error


def _words(text: str) -> Counter[str]:
    found = "".join(_separated(text)).split()
    return Counter(part for word in found for part in (_ascii_tokenizer().tokenize(word) if word.isascii() else [word]))


def rouge_1(expected: str, answer: str) -> float:
    """The F-measure of ROUGE-1: the words that both have, twice, by the words of both."""
    wanted, said = _words(expected), _words(answer)
    shared = (wanted & said).total()
    return 2 * shared / (wanted.total() + said.total()) if shared else 0.0
