"""The fakes that people test their plug-ins with: they say what they were told to, and say so when they run out."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.errors import JudgeFailed, ModelFailed, TargetFailed
from howsure.judges.base import Question
from howsure.llm.base import Completion, ModelRequest
from howsure.llm.messages import ChatMessage as Asked
from howsure.model.case import Script, SingleTurn
from howsure.model.expectation import Goal
from howsure.model.score import Part
from howsure.model.simulation import Ending
from howsure.model.transcript import Message, Role, Span, Transcript, Usage
from howsure.targets.base import Closing, FinishedSession, Reply, Stateless
from howsure.testing import (
    ScriptedJudge,
    ScriptedModel,
    ScriptedSession,
    ScriptedTarget,
    ScriptedUser,
    a_case,
    a_transcript,
)
from howsure.users.base import UserExit, UserMessage


async def session(target: ScriptedTarget) -> ScriptedSession:
    opened = await target.open(a_case())
    assert isinstance(opened, ScriptedSession)
    return opened


def request(text: str = "Hi") -> ModelRequest:
    return ModelRequest(messages=(Asked(Role.USER, text),))


def question(grader: str, part: str = "", attempt: int = 1) -> Question:
    about = Part(id=part, text="t") if part else None
    return Question(grader=grader, case=a_case(), transcript=a_transcript(), part=about, attempt=attempt)


async def test_a_target_says_its_lines_in_order_and_anew_in_every_conversation() -> None:
    target = ScriptedTarget("One", "Two")
    for _ in range(2):
        talk = await session(target)
        said = [(await talk.send("?")).messages[0].content for _ in range(2)]
        assert said == ["One", "Two"]


async def test_a_target_raises_the_line_that_is_an_exception_and_goes_on() -> None:
    talk = await session(ScriptedTarget("One", ConnectionError("refused"), "Two"))
    assert await talk.send("?") == Reply.saying("One")
    with pytest.raises(ConnectionError, match="refused"):
        await talk.send("?")
    assert await talk.send("?") == Reply.saying("Two")


@pytest.mark.parametrize(("lines", "count"), [((), 0), (("One",), 1)])
async def test_a_target_without_another_line_says_so(lines: tuple[str, ...], count: int) -> None:
    talk = await session(ScriptedTarget(*lines))
    for _ in lines:
        await talk.send("?")
    with pytest.raises(TargetFailed, match=f"no line is left; {count} were scripted"):
        await talk.send("?")


async def test_a_target_hands_out_replies_transcripts_and_its_closing_as_they_are() -> None:
    reply = Reply(messages=(Message(role=Role.ASSISTANT, content="x", agent="A"),), usage=Usage(prompt_tokens=1))
    closing = Closing(state={"a": 1}, spans=(Span(name="s"),))
    talk = await session(ScriptedTarget(reply, closing=closing))
    assert await talk.send("?") is reply
    assert await talk.close() is closing
    assert await (await session(ScriptedTarget())).close() == Closing(state=None, spans=None)
    transcript = Transcript(answer="done")
    assert await ScriptedTarget(transcript).open(a_case()) == FinishedSession(transcript)


async def test_a_stateless_session_answers_each_message_alone_and_leaves_nothing() -> None:
    talk = Stateless(lambda text: Reply.saying(text[::-1]))
    assert [(await talk.send(text)).messages[0].content for text in ("abc", "", "é!")] == ["cba", "", "!é"]
    assert await talk.close() == Closing()


@pytest.mark.parametrize(
    ("asked", "reply"),
    [
        (question("criteria", "c1"), {"met": True}),
        (question("criteria", "c2"), "for any criterion"),
        (question("criteria"), "for any criterion"),
        (question("rubric"), ""),
        (question("zero"), 0),
        (question("tries", attempt=1), "gibberish"),
        (question("tries", attempt=2), "4"),
    ],
    ids=["by part", "by grader", "no part", "an empty reply is one", "so is zero", "first try", "second try"],
)
async def test_a_judge_answers_by_part_then_by_grader(asked: Question, reply: Any) -> None:
    replies: dict[str | tuple[str, str], Any] = {
        ("criteria", "c1"): {"met": True},
        "criteria": "for any criterion",
        "rubric": "",
        "zero": 0,
        "tries": ["gibberish", "4"],
    }
    judge = ScriptedJudge(replies)
    given = await judge.ask(asked)
    assert given.content == reply
    assert given.judge == "scripted"
    assert judge.asked == [asked]


@pytest.mark.parametrize(
    ("asked", "said"),
    [(question("x"), "for x$"), (question("x", "c1"), "for x c1$"), (question("tries", attempt=3), "for tries$")],
)
async def test_a_judge_without_a_reply_fails_and_does_not_guess(asked: Question, said: str) -> None:
    judge = ScriptedJudge({"tries": ["a", "b"], "none": None})
    with pytest.raises(JudgeFailed, match=f"scripted judge has no reply {said}"):
        await judge.ask(asked)
    assert judge.asked == [asked]


async def test_a_user_makes_its_moves_in_order_and_anew_in_every_conversation() -> None:
    users = ScriptedUser("Hi", UserMessage("Please"), UserExit(Ending.GAVE_UP, "no luck"))
    for _ in range(2):
        user = users.open(a_case(id="7"))
        assert [await user.next([]) for _ in range(3)] == [
            UserMessage("Hi"),
            UserMessage("Please"),
            UserExit(Ending.GAVE_UP, "no luck"),
        ]
    assert users.opened == [("7", 1), ("7", 1)]


async def test_a_user_without_a_move_left_is_content_and_one_that_is_an_exception_is_raised() -> None:
    user = ScriptedUser("Hi", KeyError("part")).open(a_case())
    assert await user.next([]) == UserMessage("Hi")
    with pytest.raises(KeyError, match="part"):
        await user.next([])
    assert await user.next([]) == UserExit(Ending.GOAL_REACHED)


@pytest.mark.parametrize(("attempt", "said"), [(1, "one"), (2, "two"), (3, "three"), (4, "three")])
async def test_a_user_that_plays_again_has_other_moves_and_keeps_the_last(attempt: int, said: str) -> None:
    users = ScriptedUser("one", again=[["two"], ["three"]])
    assert await users.open(a_case(), attempt).next([]) == UserMessage(said)
    assert users.opened == [("case-1", attempt)]


async def test_a_model_gives_its_answers_in_order_and_then_fails() -> None:
    model = ScriptedModel("One", ValueError("broke"), "Three", name="fake:m")
    first = await model.complete(request("a"))
    assert (first.text, first.model, first.usage) == ("One", "fake:m", Usage())
    with pytest.raises(ValueError, match="broke"):
        await model.complete(request("b"))
    assert (await model.complete(request("c"))).text == "Three"
    with pytest.raises(ModelFailed, match="fake:m: no answer is left; 3 were scripted"):
        await model.complete(request("d"))
    assert [asked.messages[0].content for asked in model.asked] == ["a", "b", "c", "d"]


async def test_a_single_answer_is_given_every_time_and_none_is_an_empty_text() -> None:
    model, silent = ScriptedModel("Same"), ScriptedModel()
    assert [(await model.complete(request())).text for _ in range(3)] == ["Same"] * 3
    assert [(await silent.complete(request())).text for _ in range(2)] == ["", ""]


async def test_a_model_may_be_a_function_of_what_it_is_asked() -> None:
    whole = Completion(text="whole", model="m", usage=Usage(prompt_tokens=3))

    def answer(asked: ModelRequest) -> str | Completion | Exception:
        text = asked.messages[0].content
        known: dict[str, str | Completion] = {"text": "said", "whole": whole}
        return known.get(text, ModelFailed("no idea"))

    model = ScriptedModel(answer)
    assert (await model.complete(request("text"))).text == "said"
    assert await model.complete(request("whole")) is whole
    with pytest.raises(ModelFailed, match="no idea"):
        await model.complete(request("other"))


def test_a_case_has_what_it_is_given() -> None:
    goal = Goal(text="done")
    case = a_case(goal, id="7", message="Hi", metadata={"a": 1})
    assert (case.id, case.input, case.expectations) == ("7", SingleTurn(message="Hi"), (goal,))
    assert case.metadata == {"a": 1}
    assert a_case(input=Script(turns=("x",))).input == Script(turns=("x",))
    with pytest.raises(TypeError):
        a_case(no_such_field=1)


def test_a_transcript_has_one_message_for_each_call_and_ends_in_the_answer() -> None:
    arguments = {"order": 1}
    transcript = a_transcript("Done", calls=[("refund", arguments), ("mail", {})], state={"x": 1})
    arguments["order"] = 2
    assert [call.arguments for call in transcript.tool_calls] == [{"order": 1}, {}]
    assert [len(message.tool_calls) for message in transcript.messages] == [1, 1, 0]
    assert transcript.messages[-1].content == transcript.answer == "Done"
    assert transcript.state == {"x": 1}
