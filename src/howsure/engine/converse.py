"""The conversation with a target: let the user's side speak, collect what comes back, close. No grading here."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from msgspec import UNSET, Struct
from msgspec.structs import replace

from howsure.engine.assembling import assembled as assembled
from howsure.engine.plan import CandidateRepeat
from howsure.errors import BudgetReached, CaseFailure, SimulatorFailed, TargetFailed, TargetTimedOut, boundary
from howsure.model.case import Case, Scenario
from howsure.model.simulation import Ending, Simulation, Slip
from howsure.model.transcript import Message, Role, Transcript
from howsure.targets.base import Closing, Finished, Reply, Session
from howsure.users.base import Leave, Move, Say, User
from howsure.users.fidelity import slips

T = TypeVar("T")


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

    @property
    def spoiled(self) -> bool:
        """Whether the simulated user made it useless."""
        played = self.transcript.simulation if self.transcript else None
        return played is not None and played.spoiled and self.failure is None


async def converse(case: Case, lane: CandidateRepeat) -> Conversation:
    """Everything said and done. A conversation that the simulated user spoiled is played again, as often as the lane
    allows; what was wrong with each is kept. Only a reached budget is raised: nothing was tried, then."""
    discarded: list[tuple[Slip, ...]] = []
    while (held := await _held(case, lane, len(discarded) + 1)).spoiled and len(discarded) < lane.replays:
        discarded.append(_played(held).slips)
    if not discarded or held.transcript is None or held.transcript.simulation is None:
        return held
    played = replace(held.transcript.simulation, discarded=tuple(discarded))
    return replace(held, transcript=replace(held.transcript, simulation=played))


def _played(held: Conversation) -> Simulation:
    assert held.transcript is not None and held.transcript.simulation is not None
    return held.transcript.simulation


async def _held(case: Case, lane: CandidateRepeat, attempt: int) -> Conversation:
    """One conversation from its beginning."""
    talk = None
    try:
        opening, limit = _opened(case, lane), lane.limits.turn_seconds
        session = await (opening if limit is None else _in_time(opening, limit, lane, "no session was opened"))
        if isinstance(session, Finished):
            return Conversation(session.transcript)
        talk = Talk(case, lane)
        await _in_time(talk.play(session, attempt), lane.limits.case_seconds, lane, "the conversation was not over")
    except BudgetReached:
        raise
    except CaseFailure as failure:
        return Conversation(talk.transcript() if talk and talk.replies else None, failure)
    return Conversation(talk.transcript(), took_ms=talk.took_ms)


async def _opened(case: Case, lane: CandidateRepeat) -> Session | Finished:
    with boundary(TargetFailed, lane.whom):
        return await lane.target.open(case)


async def _in_time(work: Coroutine[Any, Any, T], seconds: float | None, lane: CandidateRepeat, late: str) -> T:
    """What takes longer is given up. A time limit of its own that the target keeps is the target's to report."""
    if seconds is None:
        return await work
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError as error:
        raise TargetTimedOut(f"{lane.whom}: {late} within {seconds:g} seconds") from error


class Talk:
    """A conversation while it goes on."""

    def __init__(self, case: Case, lane: CandidateRepeat) -> None:
        self.replies: list[tuple[str, Reply]] = []
        self._closing = Closing()
        self._case = case
        self._lane = lane
        self._said: list[Message] = []
        self._left: Leave | None = None
        self.took_ms: float | None = 0.0

    async def play(self, session: Session, attempt: int) -> None:
        """Turn by turn, until the user leaves; the session is closed whatever happens."""
        left = False
        try:
            user = self._user(attempt)
            while isinstance(move := await self._next(user), Say):
                await self._turn(session, move.text)
            self._left, left = move, True
        finally:
            if not left:
                await self._close_quietly(session)
        with boundary(TargetFailed, f"{self._lane.whom}, closing"):
            self._closing = await session.close()

    def _user(self, attempt: int) -> User:
        with boundary(SimulatorFailed, self._lane.player):
            return self._lane.users.open(self._case, attempt)

    async def _next(self, user: User) -> Move:
        with boundary(SimulatorFailed, self._lane.player):
            move = await user.next(self._said)
            if not isinstance(move, Say | Leave):
                raise TypeError(f"expected `Say` or `Leave`, found {move!r}")
        given = self._case.input
        if isinstance(move, Say) and isinstance(given, Scenario) and len(self.replies) >= given.max_turns:
            return Leave(Ending.TURN_LIMIT, f"the user has spoken {given.max_turns} times")
        return move

    async def _turn(self, session: Session, text: str) -> None:
        self._said.append(Message(role=Role.USER, content=text))
        sent, limit, clock = self._sent(session, text), self._lane.limits.turn_seconds, self._lane.stopwatch
        if limit is not None:
            sent = _in_time(sent, limit, self._lane, f"turn {len(self.replies) + 1} was not answered")
        begun = clock()
        reply = await sent
        took = (clock() - begun) * 1000 if reply.duration_ms is UNSET else reply.duration_ms
        # What is not known of one turn is not known of all of them.
        self.took_ms = None if took is None or self.took_ms is None else self.took_ms + took
        self._said += reply.messages
        self.replies.append((text, reply))

    async def _sent(self, session: Session, text: str) -> Reply:
        with boundary(TargetFailed, self._lane.whom):
            reply = await session.send(text)
            if not isinstance(reply, Reply):
                raise TypeError(f"`send` must give a Reply, and gave {type(reply).__name__}")
            return reply

    async def _close_quietly(self, session: Session) -> None:
        """The first failure is the one to report; closing after it must not hide it, nor hold it up."""
        try:
            with boundary(TargetFailed, "close"):
                self._closing = await _in_time(_closed(session), CLOSING_SECONDS, self._lane, "it was not closed")
        except CaseFailure:
            return

    def transcript(self) -> Transcript:
        transcript = assembled(self.replies, self._closing)
        given, left = self._case.input, self._left
        if not isinstance(given, Scenario) or left is None:
            return transcript
        found = slips(given, transcript.messages, left.ending)
        played = Simulation(user=self._lane.users.name, ending=left.ending, reason=left.reason, slips=found)
        return replace(transcript, simulation=played)


CLOSING_SECONDS = 10.0
"""How long a session that broke may take to be closed."""


async def _closed(session: Session) -> Closing:
    return await session.close()
