"""The conversation with a target: let the user's side speak, collect what comes back, close. No grading here."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from msgspec import UNSET, Struct
from msgspec.structs import replace

from howsure.engine.candidates import CandidateRepeat
from howsure.errors import (
    BudgetReached,
    CaseFailure,
    NotRecorded,
    SimulatorFailed,
    TargetFailed,
    TargetTimedOut,
    boundary,
)
from howsure.model.case import Case, Scenario, finished_transcript_of
from howsure.model.flag import Flag
from howsure.model.plain_values import escaped_flag, plain_copy
from howsure.model.simulation import Ending, Simulation, UserMistake
from howsure.model.transcript import Message, Role, Transcript, Usage
from howsure.targets.base import Closing, FinishedSession, Reply, Session
from howsure.targets.recordings import failure_of
from howsure.targets.turns import sum_usage
from howsure.users.attribution import find_mistakes
from howsure.users.base import User, UserExit, UserMessage, UserMove


def assemble_transcript(replies: Sequence[tuple[str, Reply]], closing: Closing) -> Transcript:
    """One transcript from the turns: the answer is the last thing said to the user, not the thinking beside a call."""
    messages: list[Message] = []
    for text, reply in replies:
        messages.append(Message(role=Role.USER, content=text))
        messages += reply.messages
    return Transcript(
        answer=final_answer(messages),
        messages=tuple(messages),
        steps=closing.steps,
        state=closing.state,
        spans=closing.spans,
        usage=total_usage(reply.usage for _, reply in replies),
        flags=tuple(dict.fromkeys(flag for _, reply in replies for flag in reply.flags)),
        sent=next((reply.sent for _, reply in replies if reply.sent), None),
        metadata={"artifacts": closing.artifacts} if closing.artifacts else {},
    )


def final_answer(messages: Sequence[Message]) -> str:
    """The last assistant message without tool calls after the last user message; empty when there was none."""
    for message in reversed(messages):
        if message.role is Role.USER:
            return ""
        if message.role is Role.ASSISTANT and message.content and not message.tool_calls:
            return message.content
    return ""


def total_usage(usages: Iterable[Usage | None]) -> Usage | None:
    """The sum of what is known; None where nothing is, and an amount that one turn does not know stays unknown."""
    known = [usage for usage in usages if usage is not None]
    return sum_usage(known) if known else None


T = TypeVar("T")
CLOSING_SECONDS = 10.0
"""How long a session that broke may take to be closed."""


class Conversation(Struct, frozen=True):
    """What came of it. Where it broke, `failure` says how, and `transcript` holds what was said until then.

    `took_ms`: how long the agent took for all its replies; None where that is not known. It is no part of the
    transcript that is graded: a grade that read our clock would be another in every run."""

    transcript: Transcript | None = None
    failure: CaseFailure | None = None
    took_ms: float | None = None

    @property
    def timed(self) -> Transcript | None:
        """The transcript with the time it took, where the target brought none of its own."""
        if self.transcript is None or self.took_ms is None or self.transcript.duration_ms is not None:
            return self.transcript
        return replace(self.transcript, duration_ms=self.took_ms)


async def converse(case: Case, candidate: CandidateRepeat) -> Conversation:
    """Everything said and done. A conversation that the simulated user spoiled is played again, as often as `replays`
    allows; the mistakes of each are kept. Only a reached budget is raised: nothing was tried, then."""
    discarded: list[tuple[UserMistake, ...]] = []
    while True:
        conversation = await _converse_once(case, candidate, len(discarded) + 1)
        simulation = conversation.transcript.simulation if conversation.transcript else None
        if simulation is None or not simulation.spoiled or conversation.failure or len(discarded) >= candidate.replays:
            break
        discarded.append(simulation.slips)
    if not discarded or conversation.transcript is None or simulation is None:
        return conversation
    simulation = replace(simulation, discarded=tuple(discarded))
    return replace(conversation, transcript=replace(conversation.transcript, simulation=simulation))


async def _converse_once(case: Case, candidate: CandidateRepeat, attempt: int) -> Conversation:
    """One conversation from its beginning."""
    ongoing, limits = None, candidate.limits
    try:
        session = await _in_time(_open(case, candidate), limits.turn_seconds, candidate, "no session was opened")
        if isinstance(session, FinishedSession):
            return Conversation(
                session.transcript, failure_of(session.kind, session.failure) if session.failure else None
            )
        ongoing = OngoingConversation(case, candidate)
        playing = ongoing.play(session, attempt)
        await _in_time(playing, limits.case_seconds, candidate, "the conversation was not over")
    except (BudgetReached, NotRecorded):
        raise
    except CaseFailure as failure:
        return Conversation(ongoing.transcript() if ongoing and ongoing.replies else None, failure)
    return Conversation(ongoing.transcript(), took_ms=ongoing.took_ms)


async def _open(case: Case, candidate: CandidateRepeat) -> Session | FinishedSession:
    if (recorded := finished_transcript_of(case)) is not None:
        return FinishedSession(recorded)
    candidate.check_budget()
    with boundary(TargetFailed, candidate.target_name):
        session = await candidate.target.open(case)
        if isinstance(session, FinishedSession) and session.transcript is not case.recorded:
            finished, escaped = plain_copy(session, FinishedSession)
            flags = (*finished.transcript.flags, escaped_flag("the conversation"))
            return replace(finished, transcript=replace(finished.transcript, flags=flags)) if escaped else finished
        return session


async def _in_time(work: Coroutine[Any, Any, T], seconds: float | None, candidate: CandidateRepeat, late: str) -> T:
    """What takes longer is given up. A time limit of its own that the target keeps is the target's to report."""
    if seconds is None:
        return await work
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError as error:
        raise TargetTimedOut(f"{candidate.target_name}: {late} within {seconds:g} seconds") from error


class OngoingConversation:
    """A conversation while it goes on."""

    def __init__(self, case: Case, candidate: CandidateRepeat) -> None:
        self.replies: list[tuple[str, Reply]] = []
        self._closing = Closing()
        self._case = case
        self._candidate = candidate
        self._messages: list[Message] = []
        self._exit: UserExit | None = None
        self._escaped: list[Flag] = []
        self.took_ms: float | None = 0.0

    async def play(self, session: Session, attempt: int) -> None:
        """Turn by turn, until the user leaves; the session is closed whatever happens."""
        left = False
        try:
            with boundary(SimulatorFailed, self._candidate.user_name):
                user = self._candidate.users.open(self._case, attempt)
            while isinstance(move := await self._next(user), UserMessage):
                await self._turn(session, move.text)
            self._exit, left = move, True
        finally:
            if not left:
                await self._close_quietly(session)
        with boundary(TargetFailed, f"{self._candidate.target_name}, closing"):
            self._closing = self._plain(await session.close(), Closing, "the end")

    async def _next(self, user: User) -> UserMove:
        with boundary(SimulatorFailed, self._candidate.user_name):
            move = await user.next(self._messages)
            if not isinstance(move, UserMessage | UserExit):
                raise TypeError(f"expected `UserMessage` or `UserExit`, found {move!r}")
            move = self._plain(move, type(move), f"the user's move {len(self.replies) + 1}")
        scenario = self._case.input
        if isinstance(move, UserMessage) and isinstance(scenario, Scenario) and len(self.replies) >= scenario.max_turns:
            return UserExit(Ending.TURN_LIMIT, f"the user has spoken {scenario.max_turns} times")
        return move

    async def _turn(self, session: Session, text: str) -> None:
        self._messages.append(Message(role=Role.USER, content=text))
        limit, clock = self._candidate.limits.turn_seconds, self._candidate.stopwatch
        late = f"turn {len(self.replies) + 1} was not answered"
        began = clock()
        reply = await _in_time(self._send(session, text), limit, self._candidate, late)
        took = (clock() - began) * 1000 if reply.duration_ms is UNSET else reply.duration_ms
        # What is not known of one turn is not known of all of them.
        self.took_ms = None if took is None or self.took_ms is None else self.took_ms + took
        self._messages += reply.messages
        self.replies.append((text, reply))

    async def _send(self, session: Session, text: str) -> Reply:
        with boundary(TargetFailed, self._candidate.target_name):
            reply = await session.send(text)
            if not isinstance(reply, Reply):
                raise TypeError(f"`send` must give a Reply, and gave {type(reply).__name__}")
            return self._plain(reply, Reply, f"reply {len(self.replies) + 1}")

    async def _close_quietly(self, session: Session) -> None:
        """The first failure is the one to report; closing after it must not hide it, nor hold it up."""
        with suppress(CaseFailure), boundary(TargetFailed, "close"):
            closing = await _in_time(session.close(), CLOSING_SECONDS, self._candidate, "it was not closed")
            self._closing = self._plain(closing, Closing, "the end")

    def _plain(self, value: T, kind: type[T], where: str) -> T:
        """The value as it can be stored; only this one is used from here on."""
        value, escaped = plain_copy(value, kind)
        self._escaped += [escaped_flag(where)] * escaped
        return value

    def transcript(self) -> Transcript:
        transcript = assemble_transcript(self.replies, self._closing)
        if self._escaped:
            transcript = replace(transcript, flags=(*transcript.flags, *self._escaped))
        scenario, exit = self._case.input, self._exit
        if not isinstance(scenario, Scenario) or exit is None:
            return transcript
        mistakes = find_mistakes(scenario, transcript.messages, exit.ending)
        simulation = Simulation(user=self._candidate.users.name, ending=exit.ending, reason=exit.reason, slips=mistakes)
        return replace(transcript, simulation=simulation)
