"""One conversation as the live targets keep it: its id, what was said so far, the state it started with and has now."""

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
    """What is known of a conversation before each turn. Every conversation has an id of its own, repeats too."""

    def __init__(self, case: Case, wish: TargetRequest, session_id: str = "") -> None:
        self.case = case
        self.candidate = wish.candidate
        self.session_id = session_id or uuid4().hex
        self.turn = 0
        self.state: dict[str, Any] = {**wish.state, **case.state}
        self.told: dict[str, Any] | None = None
        given = case.input
        self.context = given.context if isinstance(given, SingleTurn) else ""
        self.history: list[dict[str, str]] = chat_messages(given.history) if isinstance(given, SingleTurn) else []

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

    def heard(self, text: str, answer: BotAnswer) -> None:
        """A turn is over."""
        self.history += [{"role": Role.USER.value, "content": text}, *chat_messages(answer.reply.messages)]
        self.learn(answer.state)

    def learn(self, state: Mapping[str, Any] | None) -> None:
        """The state as the bot tells it takes the place of what was known."""
        if state is not None:
            self.told = self.state = dict(state)

    def closing(self) -> Closing:
        """A state that the bot never told is not known: what it was given is no proof of what it kept."""
        return Closing(state=self.told)


def chat_messages(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Messages as most bots take them; those without a text are left out."""
    return [{"role": message.role.value, "content": message.content} for message in messages if message.content]


class PriorContext(Struct, frozen=True, kw_only=True):
    """`earlier` is for the agent's memory; agents have no place for `context`, so it goes before the first message."""

    earlier: tuple[Message, ...] = ()
    context: str = ""

    @classmethod
    def of(cls, case: Case) -> PriorContext:
        given = case.input
        if not isinstance(given, SingleTurn):
            return cls()
        earlier = tuple(message for message in given.history if message.content)
        if earlier and earlier[-1].role is Role.USER and earlier[-1].content == given.message:
            # Some files repeat the question as the last message of what came before.
            earlier = earlier[:-1]
        return cls(earlier=earlier, context=given.context)

    def opened(self, text: str) -> str:
        """The first message, with what it is about before it."""
        return f"{self.context}\n\n{text}" if self.context else text

    @property
    def told(self) -> list[dict[str, str]]:
        """The earlier conversation as most frameworks take it."""
        return [{"role": message.role.value, "content": message.content} for message in self.earlier]
