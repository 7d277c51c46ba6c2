"""How often a judge is asked, and what is said when it cannot be read."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.errors import JudgeFailed
from howsure.judges.base import JudgeReply, Question
from howsure.judges.replies import ask_until_readable, read_check
from howsure.judges.rulings import Check
from howsure.model.score import Part
from howsure.testing import ScriptedJudge, a_case, a_transcript

QUESTION = Question(grader="criteria", case=a_case(), transcript=a_transcript("Hi"), part=Part(id="c1", text="Greets"))


async def test_a_readable_reply_is_asked_for_once() -> None:
    judge = ScriptedJudge({"criteria": "yes"})
    given, reply = await ask_until_readable(judge, QUESTION, read_check)
    assert given == Check(passed=True)
    assert reply.content == "yes"
    assert [question.attempt for question in judge.asked] == [1]


async def test_an_unreadable_reply_is_asked_for_again() -> None:
    judge = ScriptedJudge({"criteria": ["hm", {"passed": False}]})
    given, _ = await ask_until_readable(judge, QUESTION, read_check)
    assert given == Check(passed=False)
    assert [question.attempt for question in judge.asked] == [1, 2]


async def test_the_second_question_tells_what_was_wrong_with_the_first_reply() -> None:
    judge = ScriptedJudge({"criteria": [{"score": 7}, "yes"]})
    await ask_until_readable(judge, QUESTION, read_check)
    first, second = judge.asked
    assert (first.unreadable, first.replied) == ("", "")
    assert (second.unreadable, second.replied) == ("7 is not on the scale 0 to 1", '{"score": 7}')


async def test_a_long_unreadable_reply_is_shown_again_in_part() -> None:
    judge = ScriptedJudge({"criteria": ["x" * 9_000, "yes"]})
    await ask_until_readable(judge, QUESTION, read_check)
    assert "⟦5000 of 9000 characters were cut out here⟧" in judge.asked[1].replied


async def test_after_its_tries_the_failure_tells_every_attempt() -> None:
    judge = ScriptedJudge({"criteria": ["hm", {"passed": True, "score": 0}]})
    with pytest.raises(JudgeFailed) as failure:
        await ask_until_readable(judge, QUESTION, read_check)
    assert str(failure.value) == (
        "attempt 1: no value in the reply: “hm”; "
        'attempt 2: the fields contradict each other: 0 and yes: “{"passed": true, "score": 0}”'
    )


async def test_a_judge_without_a_second_reply_still_tells_about_the_first() -> None:
    judge = ScriptedJudge({"criteria": ["hm"]})
    with pytest.raises(JudgeFailed) as failure:
        await ask_until_readable(judge, QUESTION, read_check)
    assert str(failure.value) == (
        "attempt 1: no value in the reply: “hm”; attempt 2: scripted judge has no reply for criteria c1"
    )


async def test_a_judge_that_has_nothing_to_say_fails_as_it_says() -> None:
    with pytest.raises(JudgeFailed, match=r"^scripted judge has no reply for criteria c1$"):
        await ask_until_readable(ScriptedJudge({}), QUESTION, read_check)


@pytest.mark.parametrize("tries", [1, 3])
async def test_the_number_of_tries_is_a_bound(tries: int) -> None:
    judge = ScriptedJudge({"criteria": ["?", "?", "?", "yes"]})
    with pytest.raises(JudgeFailed):
        await ask_until_readable(judge, QUESTION, read_check, tries=tries)
    assert len(judge.asked) == tries


async def test_long_replies_are_quoted_in_short() -> None:
    judge = ScriptedJudge({"criteria": "word " * 500})
    with pytest.raises(JudgeFailed) as failure:
        await ask_until_readable(judge, QUESTION, read_check, tries=1)
    assert str(failure.value).endswith("word word …”")
    assert len(str(failure.value)) < 260


class Broken:
    name = "broken"

    async def ask(self, question: Question) -> JudgeReply:
        raise ConnectionError("refused")


async def test_a_judge_that_breaks_is_named() -> None:
    with pytest.raises(JudgeFailed, match=r"^judge 'broken': ConnectionError: refused$"):
        await ask_until_readable(Broken(), QUESTION, read_check)


@pytest.mark.parametrize("content", ["half \ud83d of a character", {"note": "\ud83d"}])
async def test_halves_of_characters_do_not_reach_the_message(content: Any) -> None:
    with pytest.raises(JudgeFailed) as failure:
        await ask_until_readable(ScriptedJudge({"criteria": content}), QUESTION, read_check, tries=1)
    assert str(failure.value).encode()
