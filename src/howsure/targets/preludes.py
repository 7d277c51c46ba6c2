"""What comes before the first turn of a case: an earlier conversation, and text the question is about."""

from __future__ import annotations

from msgspec import Struct

from howsure.model.case import Case, SingleTurn
from howsure.model.transcript import Message, Role


class Prelude(Struct, frozen=True, kw_only=True):
    """`earlier` is for the agent's memory; agents have no place for `context`, so it goes before the first message."""

    earlier: tuple[Message, ...] = ()
    context: str = ""

    @classmethod
    def of(cls, case: Case) -> Prelude:
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
