"""Verdicts as judges write them in sentences, and sentences that only look like one: nothing ambiguous is guessed."""

from __future__ import annotations

import pytest

from howsure.judges.pairwise import PickedPosition, read_pick
from howsure.judges.replies import read_check, read_rating
from howsure.judges.rulings import Check, Rating, UnparsableReply
from howsure.model.score import LIKERT

THREES = (
    "I would give it a score of 3",
    "I'd give this answer a 3.",
    "I give it a 3.",
    "I rate the response 3.",
    "I will therefore assign a score of 3.",
    "Overall, I would rate this summary as a 3.",
    "I would give the summary a score of 3 for coherence.",
    "I would give this response 3 stars.",
    "I would give this a score of 3 out of 5.",
    "On a scale of 1 to 5, I would give this a score of 3.",
    "On a scale from 1-5, I'd rate this response at 3.",
    "The summary is dull, resulting in a score of 3.",
    "It leaves out the date, which results in a score of 3.",
    "This leads to a score of 3 out of 5.",
    "It earns a rating of 3 because it is vague.",
    "The answer deserves a score of 3.",
    "It deserves 3 stars.",
    "Hence, a score of 3.",
    "Therefore, a score of 3 is given.",
    "The answer is rated 3.",
    "This output is given a score of 3.",
    "My score is 3.",
    "The final rating is 3.",
    "The overall coherence score is 3.",
    "This response is a 3 out of 5.",
    "I'd say it's a 3 out of 5.",
    "3 stars",
    "**3 stars**",
    "3 out of 5 stars",
    "The text repeats itself and is hard to follow. 3.",
    "There are no errors but it is short, so I would give it a score of 3.",
    "It does not cite sources, so I'd give this answer a 3.",
    "I would assign a score of 3 to this response.",
    "The response should be rated 3.",
    "The answer is coherent but short, and I think a score of 3 would be appropriate.",
    "The answer is vague and deserves a score of 3.",
    "Given these issues, the rating is 3.",
    "The appropriate score for this answer is 3.",
    "I'd say it's a 3.",
    "The user's question is answered.\nI would give it a score of 3.",
)
UNREADABLE = (
    "I would not give it a score of 3.",
    "I would give it a score of 3 or 4.",
    "I would give it a score of 3-4.",
    "I would give it a score of 3 to 4.",
    "I would give it a score between 3 and 4.",
    "I would give it a score of 3, almost 4.",
    "I would give it a score of 4 for grammar and 2 for content.",
    "I would give the grammar a score of 5.",
    "I would give it a score of 3. I would give it a score of 4.",
    "I was tempted to give it a score of 4.",
    "I considered giving it a 4.",
    "If it cited sources, I would give it a score of 5.",
    "It would have earned a score of 4.",
    "It could get a score of 4.",
    "It might deserve a score of 4.",
    "At most, it deserves a score of 3.",
    "It does not deserve a score of 5.",
    "I don't think it deserves a score of 5.",
    "Is it worth a score of 3?",
    "A score of 5 would need sources.",
    "A score of 3 means that some facts are missing.",
    "The rubric reserves a score of 5 for perfect answers.",
    "The hotel has 4 stars.",
    "The answer gives the year as 4.",
    "It gives 3 examples.",
    "The answer is 4.",
    "The answer is a 4-step plan.",
    "The score is 3 to 2.",
    "I would rate it 4 times better.",
    "It names 4 out of 5 cities.",
    "Previous judges gave it a 4.",
    "The agent says I would give it a score of 5.",
    'It contains "I would give it a score of 5".',
    "How many cities does it name? 4.",
    "It lists steps 1. 2. 3.",
    "I would give it a score of three.",
    "I would give it 80 %.",
    "A perfect answer would get a score of 5.",
    "An answer like this usually receives a score of 4, but this one is worse.",
    "The phone gets 4 stars.",
    "The guide says that the hotel earns 4 stars.",
    "A score of 5 is given for perfect answers.",
    "A score of 5 is appropriate for answers with sources.",
    "The rating is 4.",
    "I would assign a score of 3 to the grammar.",
)


def test_the_table_is_long_enough() -> None:
    assert len(THREES) + len(UNREADABLE) >= 60


@pytest.mark.parametrize("reply", THREES)
def test_a_three_is_read_as_judges_write_it(reply: str) -> None:
    ruling = read_rating(reply, LIKERT, whole=True)
    assert isinstance(ruling, Rating)
    assert ruling.value == 3.0


@pytest.mark.parametrize("reply", UNREADABLE)
def test_what_is_ambiguous_is_not_guessed(reply: str) -> None:
    with pytest.raises(UnparsableReply):
        read_rating(reply, LIKERT, whole=True)


def test_a_check_is_not_read_from_numbers_in_its_sentences() -> None:
    assert read_check("Yes, it names the year. 1976.") == Check(passed=True, reason="Yes, it names the year. 1976.")


@pytest.mark.parametrize(
    ("reply", "place"),
    [
        ("Therefore, Output (a) is better.", PickedPosition.FIRST),
        ("Both are correct. Output (b) cites its source.\nTherefore, Output (b) is better.", PickedPosition.SECOND),
        ("Output (a) is better in style. Overall, Output (b) is better.", PickedPosition.SECOND),
        ("Answer 2 is better than answer 1.", PickedPosition.SECOND),
        ("The first response is better overall.", PickedPosition.FIRST),
        ("I think Output (b) is the better output.", PickedPosition.SECOND),
        ("They say the same. Therefore, it is a tie.", PickedPosition.TIE),
    ],
)
def test_a_preference_is_read_as_judges_write_it(reply: str, place: PickedPosition) -> None:
    assert read_pick(reply).place is place


@pytest.mark.parametrize(
    "reply",
    [
        "Output (a) is not better.",
        "Output (a) may be better.",
        "If tone counts, Output (a) is better.",
        "Output (a) is better in style.",
        "Output (a) is better. Output (b) is better.",
        "Is Output (a) better?",
    ],
)
def test_a_preference_that_leaves_a_doubt_is_not_guessed(reply: str) -> None:
    with pytest.raises(UnparsableReply):
        read_pick(reply)
