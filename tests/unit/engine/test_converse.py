"""Talking to a target: turns in order, nothing hidden when it breaks, and users who leave in a defined state."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from howsure.engine.candidates import CandidateRepeat, TimeLimits
from howsure.engine.converse import Conversation, converse
from howsure.errors import BudgetReached, SimulatorFailed, TargetFailed, TargetTimedOut
from howsure.model.case import Case, Fact, Scenario, Script, SingleTurn
from howsure.model.simulation import Ending, MistakeKind
from howsure.model.transcript import Message, Role, Span, Transcript, Usage
from howsure.targets.base import Closing, FinishedSession, Reply, Target
from howsure.testing import ScriptedTarget
from howsure.users.base import User, UserExit, UserMessage, UserMove
from howsure.users.offline_users import OfflineUsers

CASE = Case(id="1", input=SingleTurn(message="Hi"))
LOST = Case(
    id="lost",
    input=Scenario(
        persona="A customer whose parcel is lost.",
        initial_message="My parcel has not arrived.",
        max_turns=4,
        goal="The parcel is found.",
        facts=(Fact(name="order number", value="A-1001"),),
    ),
)


def texts(held: Conversation) -> list[str]:
    assert held.transcript is not None
    return [message.content for message in held.transcript.messages]


async def talk(case: Case, target: Target, **lane: object) -> Conversation:
    return await converse(case, CandidateRepeat(target=target, graders=(), **lane))  # type: ignore[arg-type]


async def test_the_turns_of_a_script_are_sent_in_order() -> None:
    case = Case(id="1", input=Script(turns=("Hi", "Refund please")))
    held = await talk(case, ScriptedTarget("Hello!", "Done."))
    assert texts(held) == ["Hi", "Hello!", "Refund please", "Done."]
    assert held.transcript is not None and held.transcript.answer == "Done."
    assert held.transcript.simulation is None


async def test_state_spans_and_usage_end_up_in_the_transcript() -> None:
    closing = Closing(state={"paid": True}, spans=(Span(name="call_llm"),))
    said = Message(role=Role.ASSISTANT, content="ok")
    reply = Reply(messages=(said,), usage=Usage(prompt_tokens=3, completion_tokens=1))
    held = await talk(CASE, ScriptedTarget(reply, closing=closing))
    assert held.transcript == Transcript(
        answer="ok",
        messages=(Message(role=Role.USER, content="Hi"), said),
        state={"paid": True},
        spans=(Span(name="call_llm"),),
        usage=Usage(prompt_tokens=3, completion_tokens=1),
    )


class Fragile:
    """Does what it is told to at each turn: says a text, raises an exception, or hangs for ever."""

    name = "fragile"

    def __init__(self, *turns: str | Exception | None, closing: Exception | None = None) -> None:
        self._turns = turns
        self._closing = closing
        self.opened = self.closed = 0

    async def open(self, case: Case) -> Fragile:
        self.opened += 1
        self._left = iter(self._turns)
        return self

    async def send(self, text: str) -> Reply:
        match next(self._left):
            case None:
                await asyncio.Event().wait()
                raise AssertionError
            case str(text):
                return Reply.saying(text)
            case error:
                raise error

    async def close(self) -> Closing:
        self.closed += 1
        if self._closing:
            raise self._closing
        return Closing(state={"seen": self.closed})


class Unopened:
    """A target to which no session can be opened."""

    name = "unopened"

    async def open(self, case: Case) -> FinishedSession:
        raise ConnectionRefusedError("nobody listens")


async def test_what_breaks_at_opening_is_the_targets_fault_and_nothing_was_said() -> None:
    held = await talk(CASE, Unopened())
    assert held.transcript is None
    assert str(held.failure) == "target 'unopened': ConnectionRefusedError: nobody listens"


async def test_the_first_failure_is_reported_even_when_closing_fails_too() -> None:
    target = Fragile(ConnectionError("reset"), closing=RuntimeError("already closed"))
    held = await talk(CASE, target)
    assert isinstance(held.failure, TargetFailed)
    assert str(held.failure) == "target 'fragile': ConnectionError: reset"
    assert (held.transcript, target.closed) == (None, 1)


class Careless:
    """A session that gives back what is no Reply."""

    name = "careless"

    async def open(self, case: Case) -> Careless:
        return self

    async def send(self, text: str) -> Reply:
        return "Hello!"  # type: ignore[return-value]

    async def close(self) -> Closing:
        return Closing()


async def test_a_reply_that_is_none_errors_its_case_alone() -> None:
    held = await talk(CASE, Careless())
    assert str(held.failure) == "target 'careless': TypeError: `send` must give a Reply, and gave str"


async def test_what_was_said_before_it_broke_is_kept_with_the_state_it_left() -> None:
    case = Case(id="1", input=Script(turns=("Hi", "Refund please")))
    held = await talk(case, Fragile("Hello!", ConnectionError("reset")))
    assert texts(held) == ["Hi", "Hello!"]
    assert held.transcript is not None and held.transcript.state == {"seen": 1}
    assert isinstance(held.failure, TargetFailed)


async def test_a_session_that_cannot_be_closed_breaks_its_conversation() -> None:
    held = await talk(CASE, Fragile("Hello!", closing=RuntimeError("lost")))
    assert str(held.failure) == "target 'fragile', closing: RuntimeError: lost"
    assert texts(held) == ["Hi", "Hello!"]


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (TimeLimits(turn_seconds=0.01), "target 'fragile': turn 2 was not answered within 0.01 seconds"),
        (TimeLimits(case_seconds=0.01), "target 'fragile': the conversation was not over within 0.01 seconds"),
    ],
)
async def test_a_target_that_hangs_is_given_up_and_closed(limits: TimeLimits, message: str) -> None:
    target = Fragile("Hello!", None)
    held = await talk(Case(id="1", input=Script(turns=("Hi", "Still there?"))), target, limits=limits)
    assert isinstance(held.failure, TargetTimedOut)
    assert str(held.failure) == message
    assert (texts(held), target.closed) == (["Hi", "Hello!"], 1)


async def test_a_conversation_that_is_cancelled_closes_its_session() -> None:
    target = Fragile(None)
    task = asyncio.create_task(talk(CASE, target))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert target.closed == 1


async def test_a_reached_budget_is_not_a_failure_of_the_case() -> None:
    with pytest.raises(BudgetReached):
        await talk(CASE, Fragile(BudgetReached("2 USD are spent")))


class Scripted:
    """Users that say what they are told in each attempt, then leave."""

    name = "scripted"

    def __init__(self, *attempts: Sequence[str | Exception], ending: Ending = Ending.GOAL_REACHED) -> None:
        self._attempts = attempts
        self._ending = ending

    def open(self, case: Case, attempt: int = 1) -> User:
        return ScriptedUser(self._attempts[attempt - 1], self._ending)


class ScriptedUser:
    def __init__(self, lines: Sequence[str | Exception], ending: Ending) -> None:
        self._lines = iter(lines)
        self._ending = ending

    async def next(self, said: Sequence[Message]) -> UserMove:
        match next(self._lines, None):
            case None:
                return UserExit(self._ending, "it is found")
            case str(text):
                return UserMessage(text)
            case error:
                raise error


FOUND = ("Could you give me the order number?", "Your parcel A-1001 is found and arrives today. Anything else?")


async def test_a_simulated_user_leaves_in_a_defined_state_that_is_kept() -> None:
    users = Scripted(["My parcel has not arrived.", "It is A-1001."])
    held = await talk(LOST, ScriptedTarget(*FOUND), users=users)
    assert held.transcript is not None and held.transcript.simulation is not None
    played = held.transcript.simulation
    assert (played.user, played.ending, played.reason) == ("scripted", Ending.GOAL_REACHED, "it is found")
    assert played.slips == ()


async def test_a_user_who_goes_on_for_ever_is_stopped_at_the_turn_limit() -> None:
    users = Scripted([f"And what about point {word}?" for word in ("one", "two", "three", "four", "five", "six")])
    held = await talk(LOST, ScriptedTarget("Yes.", "No.", "Maybe so.", "Why not?", "Five", "Six"), users=users)
    assert held.transcript is not None and held.transcript.simulation is not None
    assert held.transcript.simulation.ending is Ending.TURN_LIMIT
    assert held.transcript.simulation.reason == "the user has spoken 4 times"
    assert len(texts(held)) == 8


async def test_a_user_who_breaks_is_not_the_targets_fault() -> None:
    users = Scripted(["My parcel has not arrived.", KeyError("persona")])
    held = await talk(LOST, ScriptedTarget("Which one?"), users=users)
    assert isinstance(held.failure, SimulatorFailed)
    assert str(held.failure) == "the user played by 'scripted': KeyError: 'persona'"
    assert texts(held) == ["My parcel has not arrived.", "Which one?"]


class Wayward(Scripted):
    """Users that cannot be opened, or do what no user can."""

    def __init__(self, does: object) -> None:
        self._does = does

    def open(self, case: Case, attempt: int = 1) -> User:
        if isinstance(self._does, Exception):
            raise self._does
        return self  # type: ignore[return-value]

    async def next(self, said: Sequence[Message]) -> object:
        return self._does


@pytest.mark.parametrize(
    ("does", "message"),
    [
        (ValueError("no part"), "ValueError: no part"),
        (None, "TypeError: expected `UserMessage` or `UserExit`, found None"),
        ("Hello", "TypeError: expected `UserMessage` or `UserExit`, found 'Hello'"),
    ],
    ids=["not opened", "no move", "a text"],
)
async def test_a_plugin_that_plays_no_user_breaks_its_case_and_leaves_no_session_open(
    does: object, message: str
) -> None:
    target = Fragile("Hello!")
    held = await talk(LOST, target, users=Wayward(does))
    assert isinstance(held.failure, SimulatorFailed)
    assert str(held.failure) == f"the user played by 'scripted': {message}"
    assert (held.transcript, target.opened, target.closed) == (None, 1, 1)


INVENTED = ["My parcel has not arrived.", "It is B-7777, sent to ann@example.com."]
TRUE = ["My parcel has not arrived.", "It is A-1001."]


async def test_a_spoiled_conversation_is_kept_with_what_was_wrong_where_it_may_not_be_played_again() -> None:
    held = await talk(LOST, ScriptedTarget(*FOUND), users=Scripted(INVENTED))
    assert held.transcript is not None and held.transcript.simulation is not None
    played = held.transcript.simulation
    assert played.spoiled
    assert {slip.kind for slip in played.slips} <= {MistakeKind.INVENTED_FACT, MistakeKind.WRONG_FACT}
    assert {slip.turn for slip in played.slips} == {2}
    assert played.discarded == ()


async def test_a_spoiled_conversation_is_thrown_away_and_played_again() -> None:
    held = await talk(LOST, ScriptedTarget(*FOUND), users=Scripted(INVENTED, TRUE), replays=2)
    assert held.transcript is not None and held.transcript.simulation is not None
    played = held.transcript.simulation
    assert texts(held)[2] == "It is A-1001."
    assert not played.spoiled
    assert len(played.discarded) == 1 and played.discarded[0][0].turn == 2


async def test_it_is_played_again_only_as_often_as_allowed() -> None:
    held = await talk(LOST, ScriptedTarget(*FOUND), users=Scripted(INVENTED, INVENTED, TRUE), replays=1)
    assert held.transcript is not None and held.transcript.simulation is not None
    assert held.transcript.simulation.spoiled
    assert len(held.transcript.simulation.discarded) == 1


async def test_the_offline_user_tells_what_it_is_asked_for_and_leaves_when_its_goal_is_reached() -> None:
    held = await talk(LOST, ScriptedTarget(*FOUND), users=OfflineUsers())
    assert held.transcript is not None and held.transcript.simulation is not None
    assert "A-1001" in texts(held)[2]
    assert held.transcript.simulation.ending is Ending.GOAL_REACHED
    assert held.transcript.simulation.slips == ()
