"""ADK's criteria as graders of the same names, with ADK's own semantics. A program decides two of them:
`tool_trajectory_avg_score`, 0 or 1 a turn, and `response_match_score`, the F-measure of ROUGE-1 of the answer and the
expected one; both are the mean over the turns. A judge decides the others, each with its own question
(judges/prompts/). ADK's own judge model, samples and prompts are not used: the judge is the run's."""

from __future__ import annotations

import unicodedata
from asyncio import gather
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import cache, partial
from importlib import import_module
from statistics import fmean
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace

from howsure.graders.adk.imported_scores import AdkScores
from howsure.graders.adk.turns import (
    ComparisonProblem,
    case_of_turn,
    expected_calls,
    expected_texts,
    expected_turns,
    split_turns,
)
from howsure.graders.base import BindableGrader, Grader, GraderContext
from howsure.graders.judged_grader import PartsGrader
from howsure.judges.panels import PassMark
from howsure.judges.replies import read_check, read_rating, read_share
from howsure.judges.rulings import Ruling
from howsure.matching.calls import arguments_fit
from howsure.model.adk_criteria import (
    EACH_TURN,
    RESPONSE_MATCH,
    RUBRIC_TRAJECTORY,
    RUBRIC_TYPES,
    SIMULATOR,
    TRAJECTORY,
    WHOLE_CONVERSATION,
    AdkCriterion,
    TrajectoryMatch,
    adk_criterion,
    adk_rubrics,
    declares_criteria,
)
from howsure.model.case import Case, Scenario, World, opening, user_turns
from howsure.model.expectation import ArgumentMode, Expectation, ExpectedCall, ReferenceAnswer, ToolCalls
from howsure.model.score import LIKERT, UNIT, Grade, Part, Score, Unscored, UnscoredReason
from howsure.model.transcript import CODE_EXECUTION, Role, ToolCall, Transcript

YES = PassMark(1.0)
COHERENCE = "response_evaluation_score"
MATCH = "final_response_match_v2"
HALLUCINATIONS = "hallucinations_v1"
NOT_FOR_SCENARIOS = "nothing is expected turn by turn of a scenario"
NO_ROUGE = "the package `rouge-score` is not installed: install howsure with the extra `adk-eval`"


def adk_graders() -> tuple[Grader | BindableGrader, ...]:
    """One for each criterion of ADK, and one for what ADK measured."""
    return (
        TrajectoryAverage(),
        ResponseMatch(),
        *map(JudgedTurns, EACH_TURN),
        *map(JudgedRubrics, RUBRIC_TYPES),
        *map(JudgedConversation, WHOLE_CONVERSATION),
        JudgedSimulator(),
        AdkScores(),
    )


class MeanOfTurns:
    """Compares turn by turn with what is expected. It grades the cases that declare its criterion; selected by name, it
    grades every case, and has no mark but a profile's."""

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
        # Code that the provider ran is no call of a tool to ADK.
        return [
            float(calls_match([made for made in turn.tool_calls if made.name != CODE_EXECUTION], calls, how))
            for turn, calls in pairs
        ]


def calls_match(made: Sequence[ToolCall], expected: Sequence[ExpectedCall], how: AdkCriterion) -> bool:
    """Whether the calls of one turn match, as ADK says."""

    def same(call: ToolCall, pattern: ExpectedCall) -> bool:
        if call.name != pattern.name:
            return False
        equal = how.ignore_args or call.arguments == pattern.arguments
        return equal or arguments_fit(pattern.arguments, call.arguments, ArgumentMode.EXACT)

    match how.match_type:
        case TrajectoryMatch.EXACT:
            return len(made) == len(expected) and all(map(same, made, expected))
        case TrajectoryMatch.IN_ORDER:
            rest = iter(made)
            return all(any(same(call, pattern) for call in rest) for pattern in expected)
        case TrajectoryMatch.ANY_ORDER:
            left = list(made)
            for pattern in expected:
                match = next((place for place, call in enumerate(left) if same(call, pattern)), None)
                if match is None:
                    return False
                del left[match]
            return True


class ResponseMatch(MeanOfTurns):
    """`response_match_score`. Words are split as in ADK: stems of ASCII words, other words whole, and characters of
    scripts without spaces one by one."""

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
    words = "".join(_separated(text)).split()
    return Counter(part for word in words for part in (_ascii_tokenizer().tokenize(word) if word.isascii() else [word]))


def rouge_1(expected: str, answer: str) -> float:
    """The F-measure of ROUGE-1: twice the number of shared words, divided by the number of words of both."""
    reference, actual = _words(expected), _words(answer)
    shared = (reference & actual).total()
    return 2 * shared / (reference.total() + actual.total()) if shared else 0.0


class TurnQuestion(Struct, frozen=True):
    """One question to the judge, about this part of a conversation or of one turn."""

    part: Part
    case: Case
    transcript: Transcript


class AdkJudgedGrader(PartsGrader):
    """A criterion of ADK. It grades the cases that declare it; selected by name, it grades every case. By default it
    asks about every turn."""

    only_in = (World.GOLDEN, World.TEST_SET)
    verifies: tuple[type[Expectation], ...] = ()
    _is_named = False

    def __init__(self, name: str) -> None:
        self.name = name

    def bind(self, context: GraderContext) -> Self:
        bound = super().bind(context)
        bound._is_named = self.name in context.named
        return bound

    def wants(self, case: Case) -> bool:
        return self._is_named or declares_criteria(case, self.name)

    def parts(self, case: Case) -> Iterable[tuple[Part, PassMark]]:
        """The parts that are known before the conversation; none for a simulated user."""
        texts = () if isinstance(case.input, Scenario) else user_turns(case.input)
        return [(_part(number, text), YES) for number, text in enumerate(texts, start=1)]

    def read(self, content: Any) -> Ruling:
        return read_check(content)

    def questions(self, case: Case, transcript: Transcript) -> list[TurnQuestion]:
        """The questions about a conversation; ComparisonProblem if there can be none."""
        turns = split_turns(transcript)
        shown = map(partial(case_of_turn, case), turns, self.answers(case, turns))
        return [
            TurnQuestion(_part(number, opening(one.input)), one, turn)
            for number, (one, turn) in enumerate(zip(shown, turns, strict=True), start=1)
        ]

    def answers(self, case: Case, turns: Sequence[Transcript]) -> Sequence[str | None]:
        """The expected answers that the judge is shown."""
        return [None] * len(turns)

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        criterion, marked = adk_criterion(case, self.name), copy(self)
        marked.mark = PassMark(None if criterion is None else criterion.threshold)
        return await marked.grade_marked(case, transcript)

    async def grade_marked(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        try:
            asked = self.questions(case, transcript)
        except ComparisonProblem as error:
            return [self.unscored(UnscoredReason.ERROR, str(error))]
        grades = list(await gather(*map(self.grade_question, asked)))
        return [*grades, self._sum_up(grades)]

    async def grade_question(self, asked: TurnQuestion) -> Grade:
        return await self.ask_judge(asked.case, asked.transcript, self.read, asked.part, YES)

    def whole(self, scores: Sequence[Score], parts: Sequence[Grade]) -> Grade:
        value = fmean(score.value for score in scores)
        low = [f"{score.part.id}: {score.reason}" for score in scores if score.part and score.passed is False]
        reason = "; ".join(low[:3]) or f"the mean of {len(scores)}"
        return Score(name=self.name, value=value, scale=self.scale, pass_mark=self.mark.value, reason=reason)


def _part(number: int, text: str) -> Part:
    return Part(id=f"turn {number}", text=text, position=number)


class JudgedTurns(AdkJudgedGrader):
    """Asks about every turn: a yes or no, the share of the answer's sentences that hold (`hallucinations_v1`), or a
    rating from 1 to 5 (`response_evaluation_score`)."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.scale = LIKERT if name == COHERENCE else UNIT
        self.verifies = (ReferenceAnswer,) if name == MATCH else ()

    def read(self, content: Any) -> Ruling:
        if self.name == COHERENCE:
            return read_rating(content, LIKERT, whole=True)
        return read_share(content) if self.name == HALLUCINATIONS else read_check(content)

    def answers(self, case: Case, turns: Sequence[Transcript]) -> Sequence[str | None]:
        if self.name != MATCH:
            return super().answers(case, turns)
        if isinstance(case.input, Scenario):
            raise ComparisonProblem("no answer is expected turn by turn of a scenario")
        expected = expected_texts(case, expected_turns(case, turns))
        if not any(expected):
            raise ComparisonProblem("the case has no expected answer")
        return expected


class JudgedRubrics(AdkJudgedGrader):
    """Asks about every rubric, in each turn that it is about, or of the whole conversation
    (`rubric_based_multi_turn_trajectory_quality_v1`)."""

    def parts(self, case: Case) -> Iterable[tuple[Part, PassMark]]:
        turns = 0 if isinstance(case.input, Scenario) else len(user_turns(case.input))
        return [(part, YES) for _, part in self._rubrics(case, turns)]

    def _rubrics(self, case: Case, turns: int) -> Iterable[tuple[int, Part]]:
        """Each rubric with the place of a turn; with 0 where it is about the conversation."""
        whole = self.name == RUBRIC_TRAJECTORY
        for place in range(1 if whole else turns):
            for each in adk_rubrics(case, self.name):
                if whole or each.turn in (None, place + 1):
                    id = each.rubric_id if whole else f"turn {place + 1}, {each.rubric_id}"
                    yield place, Part(id=id, text=each.text, position=place + 1)

    def questions(self, case: Case, transcript: Transcript) -> list[TurnQuestion]:
        turns = super().questions(case, transcript)
        if self.name == RUBRIC_TRAJECTORY:
            turns = [TurnQuestion(turns[0].part, case, transcript)]
        asked = [replace(turns[place], part=part) for place, part in self._rubrics(case, len(turns))]
        if not asked:
            raise ComparisonProblem("the case has no rubric for this criterion")
        return asked


class JudgedConversation(AdkJudgedGrader):
    """Asks once about the whole conversation: the share of the judge's own criteria that hold."""

    def asks_about(self, case: Case) -> Iterable[Part | None]:
        return [None]

    def read(self, content: Any) -> Ruling:
        return read_share(content)

    async def grade_marked(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        return [await self.ask_judge(case, transcript, self.read)]


class JudgedSimulator(AdkJudgedGrader):
    """`per_turn_user_simulator_quality_v1`: the share of the simulated user's messages that keep to the scenario. The
    first must be the opening; leaving at the wrong moment spoils the last."""

    def __init__(self) -> None:
        super().__init__(SIMULATOR)

    def questions(self, case: Case, transcript: Transcript) -> list[TurnQuestion]:
        """Whether each message, and leaving at the end, fits what was said before."""
        messages = transcript.messages
        said = [place for place, each in enumerate(messages) if each.role is Role.USER]
        if not isinstance(case.input, Scenario) or not said:
            raise ComparisonProblem("no message of a simulated user was recorded")
        moments = [(_part(n, messages[place].content), place) for n, place in enumerate(said, start=1)]
        moments.append((Part(id="end", text="(The user leaves the conversation here.)"), len(messages)))
        return [
            TurnQuestion(part, case, replace(transcript, messages=messages[:place], answer="", steps=()))
            for part, place in moments
        ]

    async def grade_question(self, asked: TurnQuestion) -> Grade:
        if asked.part.position != 1:
            return await super().grade_question(asked)
        kept = asked.part.text.strip() == opening(asked.case.input).strip()
        reason = f"the user begins {'as the scenario says' if kept else 'with other words'}"
        return Score(name=self.name, value=float(kept), pass_mark=1.0, reason=reason, part=asked.part)

    def whole(self, scores: Sequence[Score], parts: Sequence[Grade]) -> Grade:
        *turns, end = scores
        last = replace(turns[-1], value=turns[-1].value * end.value)
        return super().whole([*turns[:-1], last], parts)
