"""One conversation as the live targets keep it: its id, what was said so far, the state it started with and has now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from howsure.model.case import Case, SingleTurn
from howsure.model.transcript import Message, Role
from howsure.targets.answers.reading import Answered
from howsure.targets.base import Closing
from howsure.targets.making import Wish


class Conversation:
    """What is known of a conversation before each turn. Every conversation has an id of its own, repeats too."""

    def __init__(self, case: Case, wish: Wish, session_id: str = "") -> None:
        self.case = case
        self.candidate = wish.candidate
        self.session_id = session_id or uuid4().hex
        self.turn = 0
        self.state: dict[str, Any] = {**wish.state, **case.state}
        self.told: dict[str, Any] | None = None
        given = case.input
        self.context = given.context if isinstance(given, SingleTurn) else ""
        self.history: list[dict[str, str]] = said(given.history) if isinstance(given, SingleTurn) else []

    def values(self, text: str) -> dict[str, Any]:
        """All that a bot may be sent with this message. The lists are copies: the conversation goes on."""
        return {
            "message": text,
            "session_id": self.session_id,
            "case_id": self.case.id,
            "turn": self.turn,
            "history": list(self.history),
            "messages": [*self.history, {"role": Role.USER.value, "content": text}],
            "state": dict(self.state),
            "context": self.context,
            "candidate": self.candidate,
        }

    def heard(self, text: str, answer: Answered) -> None:
        """A turn is over."""
        self.history += [{"role": Role.USER.value, "content": text}, *said(answer.reply.messages)]
        self.learn(answer.state)

    def learn(self, state: Mapping[str, Any] | None) -> None:
        """The state as the bot tells it takes the place of what was known."""
        if state is not None:
            self.told = self.state = dict(state)

    def closing(self) -> Closing:
        """A state that the bot never told is not known: what it was given is no proof of what it kept."""
        return Closing(state=self.told)


def said(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Messages as most bots take them; those without a text are left out."""
    return [{"role": message.role.value, "content": message.content} for message in messages if message.content]
