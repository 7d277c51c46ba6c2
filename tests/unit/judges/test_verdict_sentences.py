"""Verdicts as judges write them in sentences, and sentences that only look like one: nothing ambiguous is guessed."""

from __future__ import annotations

import pytest

from howsure.judges.pairwise import PickedPosition, read_pick
from howsure.judges.replies import read_check, read_rating
from howsure.judges.rulings import Check, Rating, UnparsableReply
from howsure.judges.verdict_sentences import stated_picks
from howsure.model.flag import UnreadableKind
from howsure.model.score import LIKERT, Scale

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
    "While it could be shorter, I would give it a 3.",
    "It might confuse some readers, but I would give it a 3.",
    "A 5 would need sources. I give it a 3.",
    "I can only give it a 3.",
    "I gave it a score of 3.",
    "I'd say 3 out of 5.",
    "Based on these observations, the score is 3.",
    "The response is rated a 3 according to the rubric.",
    "This response scores a 3.",
    "I'm giving this a 3.",
    "I'll go with 3.",
    "It earns 3 out of 5 points.",
    "Overall, this is a solid 3.",
    "A solid 3.",
    "It covers the war (1939-1945) and its end. Score: 3",
    "Therefore, 3/5.",
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
    "With sources it would get a 5.",
    "It could cite its sources, leading to a score of 5.",
    "No. 3",
    "I'd give it 3 out of 5 points for grammar and 5 for content.",
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
        ("Output (a) is longer.\n\nFinal verdict: [[A]]", PickedPosition.FIRST),
        ("My final verdict is: Assistant B is much better: [[B>>A]]", PickedPosition.SECOND),
        ("Both are fine. [[C]]", PickedPosition.TIE),
        ("I prefer the second answer over the first, since it is short.", PickedPosition.SECOND),
        ("Response 1 is better because it is concise, while Response 2 is too general.", PickedPosition.FIRST),
        ("While Response A is longer, Response B is better.", PickedPosition.SECOND),
        ("Feedback: long. [RESULT] B", PickedPosition.SECOND),
        ("<winner>tie</winner>", PickedPosition.TIE),
        ("B is longer.\n\nA", PickedPosition.FIRST),
        ("Neither response is better than the other.", PickedPosition.TIE),
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
        "Output (a) is better. Wait, no.",
        "Output (a) is better. On second thought, Output (b) is better.",
        "Output (a) is better because it is short, but Output (b) is right.",
        "Output (a) is better because it is short, while Output (b) is better in content.",
        "Output (a) is better than Output (a).",
        "Output (a) is probably better.",
        "[[A]] or [[B]]",
        "Winner: A?",
        "Assistant A:\nIt is short.\nAssistant B:\nIt is long.",
        '{"winner": "A"',
    ],
)
def test_a_preference_that_leaves_a_doubt_is_not_guessed(reply: str) -> None:
    with pytest.raises(UnparsableReply):
        read_pick(reply)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("Score: 4\nWait, that is too high. Score: 3", UnreadableKind.SEVERAL_GRADES),
        ("Score: 4. On second thought, I would give it a 3.", UnreadableKind.SEVERAL_GRADES),
        ("I would give it a 4. Scratch that.", UnreadableKind.SEVERAL_GRADES),
        ("4\n\nActually, 3.", UnreadableKind.SEVERAL_GRADES),
        ("On a scale of 1 to 10, I would give this a 4.", UnreadableKind.OFF_SCALE),
        ("Score: 4 (out of 10)", UnreadableKind.OFF_SCALE),
        ("Rating [1-10]: 4", UnreadableKind.OFF_SCALE),
        ("Maximum score: 5", UnreadableKind.NO_GRADE),
        ("The hotel's star rating: 4", UnreadableKind.NO_GRADE),
        ("For example, score: 4", UnreadableKind.NO_GRADE),
        ("Example output:\nScore: 4", UnreadableKind.NO_GRADE),
        ("The answer says: Score: 4", UnreadableKind.NO_GRADE),
        ('The answer ends with "Score: 4".', UnreadableKind.NO_GRADE),
        ("The agent wrote 'My final score: 4' itself.", UnreadableKind.NO_GRADE),
        ("If it cited its sources, score: 4", UnreadableKind.NO_GRADE),
        ("Score: 4?", UnreadableKind.NO_GRADE),
        ("Score: 4+", UnreadableKind.NO_GRADE),
        ("Score: 3 or 4", UnreadableKind.NO_GRADE),
        ("Score: 1 = bad, 5 = good", UnreadableKind.NO_GRADE),
        ("Score: 3 out of 5 facts are right", UnreadableKind.NO_GRADE),
        ("The claim is supported by [[1]].", UnreadableKind.NO_GRADE),
        ("The right result is \\boxed{4}.", UnreadableKind.NO_GRADE),
    ],
)
def test_what_is_taken_back_or_on_another_scale_or_somebody_elses_is_no_score(reply: str, kind: UnreadableKind) -> None:
    with pytest.raises(UnparsableReply) as failure:
        read_rating(reply, LIKERT, whole=True)
    assert failure.value.kind is kind


@pytest.mark.parametrize(
    "reply",
    [
        "<score>7</score>",
        "<reasoning>Long.</reasoning>\n<final_score> 7/10 </final_score>",
        "Rating: [[7]]",
        "The code {x} works. Rating: [[7]]",
        "As [[2]] shows, it is right. Rating: [[7]]",
        "Rating: [7]",
        "$\\boxed{7}$",
        "Final score: \\boxed{7}",
        "Feedback: long. [RESULT] 7",
        "## Score\n7\n\n## Reason\nlong",
        "**Score**: _7_",
        "hm, is it 8? 7.\n</think>\n\nScore: 7",
        "Scratch that. Score: 7",
    ],
)
def test_a_score_that_is_set_apart_is_read(reply: str) -> None:
    ruling = read_rating(reply, Scale(1, 10), whole=True)
    assert isinstance(ruling, Rating)
    assert ruling.value == 7.0


@pytest.mark.parametrize(
    ("reply", "passed"),
    [
        ("The criterion is met.", True),
        ("The year is missing. Therefore, the criterion is not met.", False),
        ("This requirement is unmet.", False),
        ("I find that the criterion has been met because the year is not missing.", True),
        ("The response meets the criterion.", True),
        ("The response fails to meet the criterion.", False),
        ("The answer doesn't satisfy this requirement.", False),
        ("The answer passes.", True),
        ("I'd say no.", False),
        ("**Verdict:** the criterion is met.", True),
        ("[ ] Yes\n[x] No", False),
        ("The criterion is partly met.", None),
        ("The criterion is met, but only in part.", None),
        ("The criterion is met if the date counts.", None),
        ("The criterion says:\nThe response meets the criterion.", None),
        ("Is the criterion met?", None),
        ("Yes, but only partly.", None),
        ("Yes and no.", None),
        ("Verdict: pass, fail", None),
        ("Verdict: pass (if the date counts)", None),
        ("Passed: 3 of 5", None),
        ("- Yes, it names the year.\n- No, it does not name the place.", None),
        ("Yes, it names the year. No, it does not name the place.", None),
        ("The agent's final answer: no", None),
        ("The code lacks a test:\n```python\ndef f():\n    pass\n```", None),
        ("It is right:\n```python\nresult = False\n```\nVerdict: pass", True),
        ("Yes. Wait, no.", None),
        ("No. Actually, yes.", None),
        ("Correct: Paris", None),
    ],
)
def test_met_and_not_met_are_read_from_sentences_that_leave_no_doubt(reply: str, passed: bool | None) -> None:
    if passed is None:
        with pytest.raises(UnparsableReply):
            read_check(reply)
    else:
        ruling = read_check(reply)
        assert isinstance(ruling, Check)
        assert ruling.passed is passed


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("TL;DR: 4/5", 4),
        ("It is fine. TL;DR: 4/5.", 4),
        ("★★★★☆ (4/5)", 4),
        ("Rating: ★★★★☆", 4),
        ("⭐️⭐️⭐️⭐️ (4/5)", 4),
        ("★★☆☆☆ (4/5)", None),
        ("★★★★★★★★☆☆", None),
        ("★★★★", None),
        ("★★★★½☆", None),
        ("TL;DR: users gave it 4/5", None),
        ("Clarity: ★★★★☆\nDepth: ★★★☆☆", None),
    ],
)
def test_stars_and_summaries_are_read_where_they_say_one_thing(reply: str, value: int | None) -> None:
    if value is None:
        with pytest.raises(UnparsableReply):
            read_rating(reply, LIKERT)
    else:
        ruling = read_rating(reply, LIKERT)
        assert isinstance(ruling, Rating)
        assert ruling.value == value


@pytest.mark.parametrize(
    ("reply", "picked"),
    [
        ("Winner: A (slightly)", ["a"]),
        ("Winner: B by a narrow margin.", ["b"]),
        ("Winner: A (or B)", []),
        ("Winner: A (I think)", []),
        ("Verdict: tie (slightly leaning A)", []),
    ],
)
def test_how_much_better_may_follow_the_winner(reply: str, picked: list[str]) -> None:
    assert list(stated_picks(reply)) == picked
