"""The contract of a user: who plays the user's side of a conversation, turn by turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from howsure.model.case import Case
from howsure.model.simulation import Ending
from howsure.model.transcript import Message, Usage


class UserMessage(Struct, frozen=True):
    """The user's next message."""

    text: str
    usage: Usage | None = None


class UserExit(Struct, frozen=True):
    """The conversation is over, in this state."""

    ending: Ending
    reason: str = ""
    usage: Usage | None = None


UserMove = UserMessage | UserExit


class User(Protocol):
    """The user's side of one conversation."""

    async def next(self, said: Sequence[Message]) -> UserMove:
        """What the user does now, having seen everything said so far (empty at the start)."""
        ...


class UserSimulator(Protocol):
    """Plays users: one for each conversation. `name` is what a run pins ("offline", "openai:gpt-5" …). A conversation
    that is played again is another `attempt`: a user with a will of its own may speak otherwise then."""

    name: str

    def open(self, case: Case, attempt: int = 1) -> User: ...
