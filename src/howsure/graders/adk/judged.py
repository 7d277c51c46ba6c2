"""ADK's criteria that a judge decides, each with its own question (judges/prompts/). Most of them ask about every turn
by itself and take the mean. ADK's own judge model, samples and prompts are not used: the judge is the run's."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Iterable, Sequence
from copy import copy
from functools import partial
from statistics import fmean
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace

from howsure.graders.adk.turns import ComparisonProblem, case_of_turn, expected_texts, expected_turns, split_turns
from howsure.graders.base import GraderContext
from howsure.graders.judged_grader import PartsGrader
from howsure.judges.panels import PassMark
from howsure.judges.replies import read_check, read_rating, read_share
from howsure.judges.rulings import Ruling
from howsure.model.adk_criteria import RUBRIC_TRAJECTORY, SIMULATOR, adk_criterion, adk_rubrics, declares_criteria
from howsure.model.case import Case, Scenario, World, opening, user_turns
from howsure.model.expectation import Expectation, ReferenceAnswer
from howsure.model.score import LIKERT, UNIT, Grade, Part, Score, UnscoredReason
from howsure.model.transcript import Role, Transcript

YES = PassMark(1.0)
COHERENCE = "response_evaluation_score"
MATCH = "final_response_match_v2"
HALLUCINATIONS = "hallucinations_v1"


class TurnQuestion(Struct, frozen=True):
    """One thing to ask: about this part, of a conversation or of one turn of it."""

    part: Part
    case: Case
    transcript: Transcript


class AdkJudgedGrader(PartsGrader):
    """A criterion of ADK. It wants the cases that declare it; asked for by name, it wants every case. Unless a class
    says otherwise, it asks whether every turn is as it should be."""

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
        """What is known before the conversation: nothing, for a simulated user."""
        texts = () if isinstance(case.input, Scenario) else user_turns(case.input)
        return [(_part(number, text), YES) for number, text in enumerate(texts, start=1)]

    def read(self, content: Any) -> Ruling:
        return read_check(content)

    def questions(self, case: Case, transcript: Transcript) -> list[TurnQuestion]:
        """What is asked about a conversation; ComparisonProblem where nothing can be."""
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
