"""The contract of a simulated user: it plays the user's side of a conversation, turn by turn."""

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
    """The user leaves the conversation, which ends in this state."""

    ending: Ending
    reason: str = ""
    usage: Usage | None = None


UserMove = UserMessage | UserExit


class User(Protocol):
    """The user's side of one conversation."""

    async def next(self, messages: Sequence[Message]) -> UserMove:
        """What the user does now, having seen all messages so far (none at the start)."""
        ...


class UserSimulator(Protocol):
    """Opens a user for each conversation. `name` is what a run pins ("offline", "openai:gpt-5" …). A conversation that
    is played again is another `attempt`, in which a user may speak differently."""

    name: str

    def open(self, case: Case, attempt: int = 1) -> User: ...
