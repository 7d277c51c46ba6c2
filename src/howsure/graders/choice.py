"""`choice`: whether a multiple-choice question was answered with exactly the correct options."""

from __future__ import annotations

from collections.abc import Sequence

from howsure.graders.choice_options import Unclear
from howsure.graders.choice_reading import read_choice
from howsure.graders.expected import each_graded, has
from howsure.model.case import Case
from howsure.model.expectation import CorrectChoice
from howsure.model.score import Grade, Score, Unscored, Why
from howsure.model.transcript import Transcript


class ChoiceGrader:
    """An empty answer is a wrong one. An answer that cannot be read for sure is an error: it is not guessed at."""

    name = "choice"
    only_with = (CorrectChoice,)

    def wants(self, case: Case) -> bool:
        return has(case, CorrectChoice)

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        return each_graded(case, CorrectChoice, lambda question: self._graded(question, transcript.answer))

    def _graded(self, question: CorrectChoice, answer: str) -> Grade:
        reading = read_choice(answer, question.choices)
        correct = list(question.correct)
        if isinstance(reading, Unclear):
            details = {"correct": correct, "answer": answer[:_SHOWN]}
            return Unscored(name=self.name, why=Why.ERROR, reason=reading.reason, pass_mark=1.0, details=details)
        chosen = [] if reading is None else list(reading.ids)
        right = set(chosen) == set(correct) and reading is not None
        return Score(
            name=self.name,
            value=1.0 if right else 0.0,
            pass_mark=1.0,
            reason="the answer is empty" if reading is None else _said(chosen, correct, right),
            details={"chosen": chosen, "correct": correct},
        )


_SHOWN = 500


def _said(chosen: Sequence[str], correct: Sequence[str], right: bool) -> str:
    named = " and ".join(chosen) or "nothing"
    return f"chose {named}, which is correct" if right else f"chose {named}; correct is {' and '.join(correct)}"
