"""The user's side of an earlier conversation, sent again in order to the agent as it is now."""

from __future__ import annotations

from collections.abc import Mapping

from howsure.errors import SimulatorFailed
from howsure.model.case import Case
from howsure.model.transcript import Role, Transcript
from howsure.users.base import User
from howsure.users.script import FixedTurns


def user_messages(conversation: Transcript) -> tuple[str, ...]:
    """What the user said, in order; messages without a word are left out."""
    said = (message for message in conversation.messages if message.role is Role.USER)
    return tuple(message.content for message in said if message.content.strip())


class ReplayedUsers:
    """`conversations` by case id; a case without one there is played by what it recorded itself."""

    name = "replay"

    def __init__(self, conversations: Mapping[str, Transcript] | None = None) -> None:
        self._conversations = conversations or {}

    def open(self, case: Case, attempt: int = 1) -> User:
        conversation = self._conversations.get(case.id, case.recorded)
        turns = user_messages(conversation) if isinstance(conversation, Transcript) else ()
        if not turns:
            raise SimulatorFailed(f"case {case.id!r}: there is no earlier conversation with user messages to replay")
        return FixedTurns(turns)
