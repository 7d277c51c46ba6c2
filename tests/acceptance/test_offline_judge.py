"""The offline judge where nobody rated answers: long references must agree with themselves and not with others; and
the pairs on which it is hardly better than a coin."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from howsure.errors import JudgeFailed
from howsure.judges.base import Question
from howsure.judges.offline.judge import OfflineJudge
from howsure.judges.offline.opinions import MEASURED, OfflineOpinion
from howsure.model.expectation import ReferenceAnswer
from howsure.testing import a_case, a_transcript

pytestmark = pytest.mark.shared

Shared = Callable[..., Path]
JUDGE = OfflineJudge()
PASSES = 0.7


async def value(question: str, references: tuple[str, ...], answer: str) -> float | None:
    case = a_case(ReferenceAnswer(answers=references), message=question)
    try:
        asked = Question(grader="reference_answer", case=case, transcript=a_transcript(answer))
        return float((await JUDGE.ask(asked)).content["score"])
    except JudgeFailed:
        return None


@pytest.mark.parametrize(("what", "step"), [("itself", 0), ("the next question's", 1)])
async def test_a_long_legal_reference_agrees_with_itself_and_with_no_other(
    shared_data: Shared, what: str, step: int
) -> None:
    path = shared_data("lexam", "open.legal_eval_v1.jsonl")
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    given = [cases[(at + step) % len(cases)]["reference_answers"][0] for at in range(len(cases))]
    values = [
        await value(case["prompt"], tuple(case["reference_answers"]), answer)
        for case, answer in zip(cases, given, strict=True)
    ]
    (figure,) = (each for each in MEASURED if each.what == f"long references against {what}")
    assert (len(values), sum(each is not None for each in values)) == (figure.n, figure.decided)
    assert [each is not None and each >= PASSES for each in values] == [step == 0] * 100


def test_on_llmbar_it_is_hardly_better_than_a_coin_and_says_so(shared_data: Shared) -> None:
    pairs = json.loads(shared_data("llmbar", "Natural", "dataset.json").read_text(encoding="utf-8"))
    points = 0.0
    for pair in pairs:
        one, other = (helpful(pair["input"], pair[f"output_{number}"]) for number in (1, 2))
        points += 0.5 if one == other else float((one > other) is (pair["label"] == 1))
    (figure,) = (each for each in MEASURED if each.data == "llmbar/Natural")
    assert (len(pairs), round(points / len(pairs), 3)) == (figure.n, figure.value)


def helpful(question: str, answer: str) -> float:
    asked = Question(grader="HelpfulnessExplain", case=a_case(message=question), transcript=a_transcript(answer))
    view = JUDGE.view(asked)
    assert isinstance(view, OfflineOpinion)
    return view.value
