"""Fixed turns: the user of a single turn or a script, who says what is written and leaves when it is said."""

from __future__ import annotations

from collections.abc import Sequence

from howsure.model.case import Case, user_turns
from howsure.model.simulation import Ending
from howsure.model.transcript import Message
from howsure.users.base import Leave, Move, Say, User

SAID_ALL = Leave(Ending.SAID_ALL)


class FixedTurns:
    """Says its turns in order, whatever the agent answers."""

    __slots__ = ("_turns",)

    def __init__(self, turns: Sequence[str]) -> None:
        self._turns = iter(turns)

    async def next(self, said: Sequence[Message]) -> Move:
        text = next(self._turns, None)
        return SAID_ALL if text is None else Say(text)


class ScriptedUsers:
    """Plays every case by what is known beforehand: all turns of a script, the opening of anything else."""

    name = "script"

    def open(self, case: Case, attempt: int = 1) -> User:
        return FixedTurns(user_turns(case.input))
