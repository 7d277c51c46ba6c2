"""1,490 answers to 301 questions with people's verdicts: a model judge read strictly, and the offline judge."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import pytest
from bench.halves import interval_by_question

from howsure.errors import JudgeFailed
from howsure.judges.base import Question
from howsure.judges.offline.judge import OfflineJudge
from howsure.judges.offline.opinions import MEASURED
from howsure.judges.replies import read_check, read_rating
from howsure.judges.rulings import Check, Rating, UnparsableReply
from howsure.model.expectation import ReferenceAnswer
from howsure.model.score import UNIT, Part
from howsure.policies.verdicts import DEFAULT_MARK
from howsure.stats.agreement import agreement, cohen_kappa
from howsure.testing import a_case, a_transcript

pytestmark = pytest.mark.shared

Shared = Callable[..., Path]
JUDGE = OfflineJudge()


@cache
def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def answers(shared_data: Shared) -> list[dict[str, Any]]:
    return read(shared_data("openqa_eval", "nq301.jsonl"))


def by_people(answers: Sequence[dict[str, Any]]) -> list[bool]:
    return [answer["human"] == "Yes" for answer in answers]


def looked_at(answer: dict[str, Any]) -> bool:
    """The questions that were seen while the offline judge was built: those whose hash is even."""
    return int(sha256(answer["question"].encode()).hexdigest(), 16) % 2 == 0


async def verdict(answer: dict[str, Any]) -> bool | None:
    """As the reference grader reads it; None: it cannot tell."""
    case = a_case(ReferenceAnswer(answers=tuple(answer["gold_answers"])), message=answer["question"])
    question = Question(grader="reference_answer", case=case, transcript=a_transcript(answer["answer"]))
    try:
        reply = await JUDGE.ask(question)
    except JudgeFailed:
        return None
    ruling = read_rating(reply.content, UNIT)
    assert isinstance(ruling, Rating)
    return ruling.value >= DEFAULT_MARK


async def agreed(answers: Sequence[dict[str, Any]]) -> float:
    """Silence is disagreement."""
    rate = agreement([await verdict(answer) for answer in answers], by_people(answers)).rate
    assert rate is not None
    return rate


def trained(answers: Sequence[dict[str, Any]]) -> float:
    """BEM, a trained matcher that saw neither half."""
    rate = agreement([answer["bem"]["verdict"] == "Yes" for answer in answers], by_people(answers)).rate
    assert rate is not None
    return rate


def test_gpt_4_read_strictly_agrees_with_people_at_kappa_696(answers: list[dict[str, Any]]) -> None:
    readable: list[tuple[bool, bool]] = []
    for answer, person in zip(answers, by_people(answers), strict=True):
        try:
            ruling = read_check(answer["gpt4"]["raw"])
        except UnparsableReply:
            continue
        assert isinstance(ruling, Check)
        readable.append((ruling.passed, person))
    judged, people = [one for one, _ in readable], [other for _, other in readable]
    found, kappa = agreement(judged, people), cohen_kappa(judged, people)
    assert found.rate is not None
    assert found.interval is not None
    assert kappa is not None
    assert (len(answers), found.n, round(100 * found.rate, 1), round(kappa, 3)) == (1490, 1480, 84.9, 0.696)
    assert [round(end, 3) for end in found.interval] == [0.829, 0.866]


def test_the_file_s_own_label_column_with_two_empty_labels_agrees_at_kappa_693(answers: list[dict[str, Any]]) -> None:
    labels = [answer["gpt4"]["verdict"] for answer in answers]
    people = [answer["human"] for answer in answers]
    assert labels.count("") == 2
    rate, kappa = agreement(labels, people).rate, cohen_kappa(labels, people)
    assert rate is not None
    assert kappa is not None
    assert (round(100 * rate, 1), round(kappa, 3)) == (84.7, 0.693)


async def test_the_offline_judge_agrees_with_people_on_four_of_five_answers(answers: list[dict[str, Any]]) -> None:
    rate = await agreed(answers)
    assert rate >= 0.80
    assert rate > trained(answers), "better than the trained matcher, 80.6 %"
    assert round(rate, 3) == measured("openqa_eval, all")


async def test_how_much_better_it_fares_on_the_half_that_was_looked_at(answers: list[dict[str, Any]]) -> None:
    """Nine points: more than the three that were wanted. A matcher that saw neither half loses six of them."""
    built_on = [answer for answer in answers if looked_at(answer)]
    held_out = [answer for answer in answers if not looked_at(answer)]
    assert (len(built_on), len(held_out)) == (728, 762)
    first, second = await agreed(built_on), await agreed(held_out)
    assert (round(trained(built_on), 3), round(trained(held_out), 3)) == (0.838, 0.776)
    assert round(first, 3) == measured("openqa_eval, the half it was built on")
    assert round(second, 3) == measured("openqa_eval, the half held out")


async def test_the_gap_between_the_halves_and_what_is_left_of_it_beside_a_matcher_that_saw_neither(
    answers: list[dict[str, Any]],
) -> None:
    compared = await beside_the_trained(answers)
    ours, beyond = gap(compared, lambda each: each.ours), gap(compared, lambda each: each.ours - each.trained)
    assert ours is not None
    assert beyond is not None
    assert round(ours, 3) == figure_of("built on minus held out")
    assert round(beyond, 3) == figure_of("the same, less the trained matcher's")
    raw = interval_of(compared, lambda each: each.ours)
    left = interval_of(compared, lambda each: each.ours - each.trained)
    assert [round(end, 3) for end in raw] == [0.031, 0.150]
    assert [round(end, 3) for end in left] == [-0.006, 0.062]
    assert left[0] <= 0 <= left[1], "no more than chance may make of 301 questions"


class Compared(NamedTuple):
    """One answer: whether we, and the trained matcher, agree with people on it."""

    question: str
    looked_at: bool
    ours: int
    trained: int


async def beside_the_trained(answers: Sequence[dict[str, Any]]) -> list[Compared]:
    people = by_people(answers)
    return [
        Compared(
            answer["question"],
            looked_at(answer),
            int((await verdict(answer)) is person),
            int((answer["bem"]["verdict"] == "Yes") is person),
        )
        for answer, person in zip(answers, people, strict=True)
    ]


def gap(compared: Sequence[Compared], mark: Callable[[Compared], int]) -> float | None:
    halves = [[mark(each) for each in compared if each.looked_at is half] for half in (True, False)]
    return fmean(halves[0]) - fmean(halves[1]) if all(halves) else None


def interval_of(compared: Sequence[Compared], mark: Callable[[Compared], int]) -> tuple[float, float]:
    return interval_by_question(compared, lambda drawn: gap(drawn, mark), lambda each: each.question)


def figure_of(what: str) -> float:
    (figure,) = (each for each in MEASURED if each.what == f"short reference answers, {what}")
    return figure.value


@pytest.mark.parametrize(("form", "wanted"), [("Names {}", True), ("Does not mention {}", False)])
async def test_criteria_made_of_the_gold_answer(answers: list[dict[str, Any]], form: str, wanted: bool) -> None:
    alone = [answer for answer in answers if len(answer["gold_answers"]) == 1]
    decided: list[tuple[bool, bool]] = []
    for answer, person in zip(alone, by_people(alone), strict=True):
        part = Part(id="c", text=form.format(answer["gold_answers"][0]))
        asked = a_case(message=answer["question"])
        question = Question(grader="criteria", case=asked, transcript=a_transcript(answer["answer"]), part=part)
        try:
            ruling = read_check((await JUDGE.ask(question)).content)
        except JudgeFailed:
            continue
        assert isinstance(ruling, Check)
        decided.append((ruling.passed is wanted, person))
    rate = sum(one is other for one, other in decided) / len(decided)
    (figure,) = (each for each in MEASURED if each.what == f"criteria: “{form.format('…')}”")
    assert (len(alone), len(decided), round(rate, 3)) == (figure.n, figure.decided, figure.value)
    assert rate >= 0.75


def measured(data: str) -> float:
    (figure,) = (each for each in MEASURED if each.data == data and each.what == "short reference answers")
    return figure.value
