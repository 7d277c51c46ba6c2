"""What every live target must hold to: the same bot behind each of them gives the same conversation, and whatever goes
wrong is a `TargetFailed` with a reason, with nothing left behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from howsure.errors import TargetFailed, TargetTimedOut
from howsure.model.case import Case, Script
from howsure.model.transcript import AgentStep, Role, ToolCall, ToolResult, ToolStep, Usage
from howsure.targets.base import CheckableTarget, Closing, FinishedSession, Reply, Session, Target
from live_targets import BENCHES, STATE, TURN_SECONDS, Bench, Stage, conversed
from shop_bot import GREETING, MISHAPS

pytestmark = pytest.mark.parametrize("bench", BENCHES, ids=lambda bench: bench.name)


@asynccontextmanager
async def staged(bench: Bench, folder: Path) -> AsyncIterator[Stage]:
    """The bench, with nothing left behind at its end."""
    before = asyncio.all_tasks()
    async with bench.serve(folder) as stage:
        yield stage
    assert asyncio.all_tasks() == before
    assert stage.leftovers() == []


async def opened(target: Target, case: Case) -> Session:
    session = await target.open(case)
    assert not isinstance(session, FinishedSession)
    return session


async def talk(target: Target, *turns: str, **fields: Any) -> tuple[list[Reply], Closing]:
    session = await opened(target, a_script(*turns, **fields))
    try:
        replies = [await session.send(turn) for turn in turns]
    finally:
        closing = await session.close()
    return replies, closing


def a_script(*turns: str, **fields: Any) -> Case:
    return Case(**{"id": "case-1", "input": Script(turns=turns), **fields})


def texts(reply: Reply) -> list[str]:
    return [message.content for message in reply.messages]


async def test_it_greets(bench: Bench, tmp_path: Path) -> None:
    async with staged(bench, tmp_path) as stage:
        replies, closing = await talk(stage.target, "hello")
    assert [texts(reply) for reply in replies] == [[GREETING]]
    assert replies[0].messages[0].role is Role.ASSISTANT
    assert closing.state is None


async def test_a_state_that_the_bot_never_told_is_not_known(bench: Bench, tmp_path: Path) -> None:
    async with staged(bench, tmp_path) as stage:
        _, closing = await talk(stage.target, "hello", state={"count": 1})
    assert closing == Closing(state=None)


async def test_calls_results_agents_and_usage_arrive_in_the_transcript(bench: Bench, tmp_path: Path) -> None:
    async with staged(bench, tmp_path) as stage:
        transcript = await conversed(a_script("order:42"), stage.target)
    assert transcript.answer == "Order 42 is on its way."
    result = ToolResult(content={"status": "shipped"})
    assert transcript.tool_calls == (ToolCall(name="look_up", arguments={"order": "42"}, id="c1", result=result),)
    steps = (AgentStep(name="router"), ToolStep(name="look_up"), AgentStep(name="orders"))
    assert transcript.trajectory == steps
    assert transcript.usage == Usage(prompt_tokens=11, completion_tokens=7)


async def test_state_is_kept_over_the_turns_and_starts_with_the_wish_and_the_case(bench: Bench, tmp_path: Path) -> None:
    async with staged(bench, tmp_path) as stage:
        replies, closing = await talk(stage.target, "count", "count", state={"count": 5})
    assert [texts(reply) for reply in replies] == [["6"], ["7"]]
    assert closing.state == {**STATE, "count": 7}


async def test_the_case_wins_over_the_wish(bench: Bench, tmp_path: Path) -> None:
    async with staged(bench, tmp_path) as stage:
        _, closing = await talk(stage.target, "count", state={"shop": "Fern Ltd"})
    assert closing.state == {"shop": "Fern Ltd", "count": 1}


async def test_conversations_at_once_are_apart(bench: Bench, tmp_path: Path) -> None:
    async with staged(bench, tmp_path) as stage:
        talks = await asyncio.gather(*(talk(stage.target, *["how often"] * count) for count in (1, 2, 3, 4)))
    assert [texts(replies[-1]) for replies, _ in talks] == [["1 times"], ["2 times"], ["3 times"], ["4 times"]]


async def test_an_empty_answer_is_an_answer(bench: Bench, tmp_path: Path) -> None:
    async with staged(bench, tmp_path) as stage:
        transcript = await conversed(a_script("silence"), stage.target)
    assert transcript.answer == ""
    assert [message.role for message in transcript.messages] == [Role.USER, Role.ASSISTANT]


async def test_several_replies_are_several_messages(bench: Bench, tmp_path: Path) -> None:
    async with staged(bench, tmp_path) as stage:
        replies, _ = await talk(stage.target, "several")
    assert texts(replies[0]) == ["One moment.", "There it is."]


@pytest.mark.parametrize(
    "text",
    ["{message} {state}", "Zoë 🦊 \u2028 \x7f", "a\nb\r\n\tc", '"}]\\', "x" * 200_000],
    ids=lambda text: text[:9],
)
async def test_what_the_user_says_arrives_as_it_is(bench: Bench, tmp_path: Path, text: str) -> None:
    async with staged(bench, tmp_path) as stage:
        replies, _ = await talk(stage.target, text)
    assert texts(replies[0]) == [f"You said: {text}"]


@pytest.mark.parametrize("mishap", MISHAPS)
async def test_whatever_goes_wrong_is_a_failure_with_a_reason(bench: Bench, tmp_path: Path, mishap: str) -> None:
    async with staged(bench, tmp_path) as stage:
        with pytest.raises(TargetFailed) as caught:
            await talk(stage.target, "hello", mishap)
        # The next conversation is not harmed.
        replies, _ = await talk(stage.target, "hello")
    assert len(str(caught.value)) > 20
    assert isinstance(caught.value, TargetTimedOut) == (mishap == "hang")
    assert texts(replies[0]) == [GREETING]


@pytest.mark.parametrize(
    ("mishap", "reason"),
    [("break", "boom"), ("refuse", "no tokens left"), ("nothing of use", "weather"), ("hang", f"{TURN_SECONDS:g} s")],
)
@pytest.mark.thorough
async def test_the_reason_is_the_bots_own(bench: Bench, tmp_path: Path, mishap: str, reason: str) -> None:
    async with staged(bench, tmp_path) as stage:
        with pytest.raises(TargetFailed, match=reason):
            await talk(stage.target, mishap)


async def test_a_turn_can_be_cancelled(bench: Bench, tmp_path: Path) -> None:
    async with staged(bench, tmp_path) as stage:
        session = await opened(stage.target, a_script("hang"))
        turn = asyncio.create_task(session.send("hang"))
        await asyncio.sleep(0.1)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        await session.close()


async def test_a_limit_from_outside_ends_a_turn(bench: Bench, tmp_path: Path) -> None:
    async with staged(bench, tmp_path) as stage:
        session = await opened(stage.target, a_script("hang"))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await session.send("hang")
        await session.close()


async def test_it_can_be_closed_without_a_turn(bench: Bench, tmp_path: Path) -> None:
    async with staged(bench, tmp_path) as stage:
        session = await opened(stage.target, a_script("hello"))
        assert await session.close() == Closing()


async def test_it_says_that_it_is_there(bench: Bench, tmp_path: Path) -> None:
    async with staged(bench, tmp_path) as stage:
        assert isinstance(stage.target, CheckableTarget)
        assert len(await stage.target.check()) > 10
