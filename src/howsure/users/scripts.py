"""Users whose turns are known beforehand: those of a single turn or a script, and those of an earlier conversation that
is replayed to the agent. They say their turns in order and leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from howsure.errors import SimulatorFailed
from howsure.model.case import Case, user_turns
from howsure.model.simulation import Ending
from howsure.model.transcript import Message, Role, Transcript
from howsure.users.base import User, UserExit, UserMessage, UserMove

SAID_ALL = UserExit(Ending.SAID_ALL)


class FixedTurns:
    """Says its turns in order, whatever the agent answers."""

    __slots__ = ("_turns",)

    def __init__(self, turns: Sequence[str]) -> None:
        self._turns = iter(turns)

    async def next(self, messages: Sequence[Message]) -> UserMove:
        text = next(self._turns, None)
        return SAID_ALL if text is None else UserMessage(text)


class ScriptedUsers:
    """Plays every case by its known turns: all turns of a script, the opening of anything else."""

    name = "script"

    def open(self, case: Case, attempt: int = 1) -> User:
        return FixedTurns(user_turns(case.input))


def user_messages(conversation: Transcript) -> tuple[str, ...]:
    """The user's messages, in order, without empty ones."""
    messages = (message for message in conversation.messages if message.role is Role.USER)
    return tuple(message.content for message in messages if message.content.strip())


class ReplayedUsers:
    """`conversations` by case id; a case without one replays the conversation that it recorded itself."""

    name = "replay"

    def __init__(self, conversations: Mapping[str, Transcript] | None = None) -> None:
        self._conversations = conversations or {}

    def open(self, case: Case, attempt: int = 1) -> User:
        conversation = self._conversations.get(case.id, case.recorded)
        turns = user_messages(conversation) if isinstance(conversation, Transcript) else ()
        if not turns:
            raise SimulatorFailed(f"case {case.id!r}: there is no earlier conversation with user messages to replay")
        return FixedTurns(turns)
