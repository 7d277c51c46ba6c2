"""What was said, whoever recorded it."""

from __future__ import annotations

from howsure.model.case import Script, SingleTurn
from howsure.model.result import Result
from howsure.model.transcript import Message, Role, Transcript
from howsure.model.verdict import Verdict
from howsure.reports.case_facts import conversation
from howsure.testing import a_case, a_transcript


def said(result: Result) -> list[tuple[str, str]]:
    return [(message.role.value, message.content) for message in conversation(result)]


def test_the_users_side_comes_from_the_case_when_the_transcript_has_only_the_answer() -> None:
    result = Result(case=a_case(message="Where is it?"), verdict=Verdict.PASSED, transcript=a_transcript("There."))
    assert said(result) == [("user", "Where is it?"), ("assistant", "There.")]


def test_a_transcript_with_both_sides_is_taken_as_it_is() -> None:
    talk = (Message(role=Role.USER, content="Hi"), Message(role=Role.ASSISTANT, content="Hello"))
    transcript = Transcript(answer="Hello", messages=talk)
    result = Result(case=a_case(message="Hi"), verdict=Verdict.PASSED, transcript=transcript)
    assert said(result) == [("user", "Hi"), ("assistant", "Hello")]


def test_an_answer_that_no_message_holds_is_added() -> None:
    result = Result(case=a_case(message="Hi"), verdict=Verdict.PASSED, transcript=Transcript(answer="Hello"))
    assert said(result) == [("user", "Hi"), ("assistant", "Hello")]


def test_earlier_turns_and_every_scripted_turn_are_there() -> None:
    earlier = (Message(role=Role.SYSTEM, content="Be brief."),)
    single = a_case(input=SingleTurn(message="And now?", history=earlier))
    scripted = a_case(input=Script(turns=("One", "Two")))
    assert said(Result(case=single, verdict=Verdict.ERRORED)) == [("system", "Be brief."), ("user", "And now?")]
    assert said(Result(case=scripted, verdict=Verdict.ERRORED)) == [("user", "One"), ("user", "Two")]
