"""Users whose words are known beforehand: scripts, single turns, replays."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from howsure.errors import SimulatorFailed
from howsure.model.case import Case, Input, Scenario, Script, SingleTurn
from howsure.model.simulation import Ending
from howsure.model.transcript import Message, Role, Transcript
from howsure.users.base import User, UserExit, UserMessage, UserMove
from howsure.users.scripts import FixedTurns, ReplayedUsers, ScriptedUsers, user_messages


def said(*texts: str) -> tuple[Message, ...]:
    """User and agent in turn."""
    roles = (Role.USER, Role.ASSISTANT)
    return tuple(Message(role=roles[place % 2], content=text) for place, text in enumerate(texts))


async def moves(user: User, count: int, messages: Sequence[Message] = ()) -> list[UserMove]:
    return [await user.next(messages) for _ in range(count)]


async def test_turns_are_said_in_order_and_then_all_is_said() -> None:
    assert await moves(FixedTurns(("a", "b")), 4) == [
        UserMessage("a"),
        UserMessage("b"),
        UserExit(Ending.SAID_ALL),
        UserExit(Ending.SAID_ALL),
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (SingleTurn(message="Hi"), ["Hi"]),
        (Script(turns=("a", "b", "c")), ["a", "b", "c"]),
        (Scenario(persona="p", initial_message="Hello"), ["Hello"]),
    ],
    ids=["single turn", "script", "a scenario only opens"],
)
async def test_every_case_can_be_played_by_what_is_known(given: Input, expected: list[str]) -> None:
    user = ScriptedUsers().open(Case(id="c", input=given))
    assert await moves(user, len(expected) + 1) == [*map(UserMessage, expected), UserExit(Ending.SAID_ALL)]


async def test_what_the_agent_says_changes_nothing() -> None:
    user = FixedTurns(("a", "b"))
    await user.next(())
    assert await user.next(said("a", "I am handing you over to a human colleague.")) == UserMessage("b")


def test_the_user_messages_of_a_conversation_are_those_with_words() -> None:
    talk = said("Hi", "Hello!", "  ", "Yes?", "My order is late", "Sorry.")
    assert user_messages(Transcript(answer="Sorry.", messages=talk)) == ("Hi", "My order is late")


async def test_an_earlier_conversation_is_sent_again() -> None:
    earlier = Transcript(answer="", messages=said("one", "x", "two", "y"))
    user = ReplayedUsers({"c": earlier}).open(Case(id="c", input=SingleTurn(message="other")))
    assert await moves(user, 3) == [UserMessage("one"), UserMessage("two"), UserExit(Ending.SAID_ALL)]


async def test_without_one_the_recording_of_the_case_is_sent_again() -> None:
    case = Case(id="c", input=SingleTurn(message="x"), recorded=Transcript(answer="", messages=said("recorded", "y")))
    assert await moves(ReplayedUsers().open(case), 1) == [UserMessage("recorded")]


def test_a_case_with_nothing_to_replay_is_the_simulators_failure() -> None:
    with pytest.raises(
        SimulatorFailed, match="case 'c': there is no earlier conversation with user messages to replay"
    ):
        ReplayedUsers().open(Case(id="c", input=SingleTurn(message="x")))
