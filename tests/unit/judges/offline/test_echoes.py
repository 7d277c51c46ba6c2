"""What an answer only hands back takes nothing up: the question or goal said again, rows of figures, lone figures."""

from __future__ import annotations

import pytest

from howsure.judges.offline.qualities import content_roots, own_sentences, shared_roots
from howsure.judges.offline.sentences import comparable_words, split_sentences

QUESTION = "How should I prepare for the AZ-900 cloud exam in four weeks after work?"
GOAL = "Write a plan of four weeks for the learner that ends with a practice exam before the booked date."
OWN = "Start with the cloud concepts."


def own(answer: str) -> list[str]:
    return [sentence.text for sentence in own_sentences(split_sentences(answer), (QUESTION, GOAL))]


@pytest.mark.parametrize(
    "echo",
    [
        QUESTION,
        QUESTION.upper(),
        f"> {QUESTION}",
        f"“{QUESTION}”",
        f"You asked: {QUESTION}",
        GOAL,
        f"Goal reached: {GOAL}",
        "Work after weeks four in exam cloud AZ-900 prepare.",
        "prepare\nAZ-900\ncloud\nexam\nfour\nweeks\nwork",
        "1 2 3 4 5 6 7 8 9 10 900",
        "4, 900, 4, 900: weeks",
    ],
    ids=[
        "as it is",
        "capitals",
        "quoted in mail",
        "in quotation marks",
        "announced",
        "the goal",
        "the goal announced",
        "shuffled",
        "a word on each line",
        "figures",
        "figures and hardly a word",
    ],
)
def test_what_is_handed_back_is_not_the_answers_own(echo: str) -> None:
    assert own(f"{OWN}\n{echo}") == [OWN]


@pytest.mark.parametrize(
    "answer",
    [
        "To prepare for the AZ-900 cloud exam in four weeks after work, start with concepts, then compute, then costs.",
        "The exam is in four weeks.",
        "Four weeks are enough.",
        "Weeks 1 and 2 are for compute, 3 and 4 for costs.",
        "42",
    ],
    ids=["begins with the question and goes on", "some of its words", "a few of its words", "figures and words", "one"],
)
def test_what_goes_beyond_the_question_stays(answer: str) -> None:
    assert own(answer) == [answer]


def test_a_question_of_two_words_cannot_be_handed_back() -> None:
    (sentence,) = split_sentences("The exam is a test.")
    assert own_sentences((sentence,), ("Exam test?",)) == (sentence,)


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("The keeper grew beans. [9]", set()),
        ("The keeper grew 9 beans.", set()),
        ("The lesson takes 9 hours.", {"lesson", "9", "hour"}),
        ("9", {"9"}),
        ("The lesson is long. It has 9 parts.", {"lesson"}),
    ],
    ids=["figure alone", "figure beside other words", "figure beside its words", "whole answer", "in another sentence"],
)
def test_a_figure_counts_beside_a_word_or_as_the_whole_answer(answer: str, found: set[str]) -> None:
    assert shared_roots(content_roots(comparable_words("lesson of 9 hours")), split_sentences(answer)) == found


def test_a_text_of_figures_alone_is_taken_up_by_its_figures() -> None:
    assert shared_roots(frozenset({"1969"}), split_sentences("They landed. It was 1969.")) == {"1969"}
