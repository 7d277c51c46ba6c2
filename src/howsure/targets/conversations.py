"""One conversation as the live targets keep it (its id, its messages so far, its state), and what a case brings before
the first turn: an earlier conversation, and text that the question is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from msgspec import Struct

from howsure.model.case import Case, SingleTurn
from howsure.model.transcript import Message, Role
from howsure.targets.base import Closing, TargetRequest
from howsure.targets.bot_answers import BotAnswer


class ConversationState:
    """What is known of a conversation before each turn. Every conversation has its own id, repeats too."""

    def __init__(self, case: Case, request: TargetRequest, session_id: str = "") -> None:
        self.case = case
        self.candidate = request.candidate
        self.session_id = session_id or uuid4().hex
        self.turn = 0
        self.state = request.initial_state(case)
        self.reported_state: dict[str, Any] | None = None
        start = case.input
        self.context = start.context if isinstance(start, SingleTurn) else ""
        self.history: list[dict[str, str]] = chat_messages(start.history) if isinstance(start, SingleTurn) else []

    def values(self, text: str) -> dict[str, Any]:
        """All that a bot may be sent with this message. The lists are copies, because the conversation goes on."""
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

    def record_turn(self, text: str, answer: BotAnswer) -> None:
        """Add a finished turn to the history."""
        self.history += [{"role": Role.USER.value, "content": text}, *chat_messages(answer.reply.messages)]
        self.update_state(answer.state)

    def update_state(self, state: Mapping[str, Any] | None) -> None:
        """Replace the known state with the one that the bot reports."""
        if state is not None:
            self.reported_state = self.state = dict(state)

    def closing(self) -> Closing:
        """A state that the bot never reported is unknown: what it was given does not show what it kept."""
        return Closing(state=self.reported_state)


def chat_messages(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Messages as most bots take them; those without a text are left out."""
    return [{"role": message.role.value, "content": message.content} for message in messages if message.content]


class PriorContext(Struct, frozen=True, kw_only=True):
    """`earlier` is for the agent's memory; agents have no place for `context`, so it goes before the first message."""

    earlier: tuple[Message, ...] = ()
    context: str = ""

    @classmethod
    def of(cls, case: Case) -> PriorContext:
        start = case.input
        if not isinstance(start, SingleTurn):
            return cls()
        earlier = tuple(message for message in start.history if message.content)
        if earlier and earlier[-1].role is Role.USER and earlier[-1].content == start.message:
            # Some files repeat the question as the last message of what came before.
            earlier = earlier[:-1]
        return cls(earlier=earlier, context=start.context)

    def first_message(self, text: str) -> str:
        """The first message, with the context before it."""
        return f"{self.context}\n\n{text}" if self.context else text

    @property
    def earlier_messages(self) -> list[dict[str, str]]:
        """The earlier conversation as most frameworks take it."""
        return [{"role": message.role.value, "content": message.content} for message in self.earlier]
