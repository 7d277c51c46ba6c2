"""When a conversation is over whatever the user still wants: rules on what was said, by program alone. Each gives a
defined ending, and none of them is a failure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from howsure.judges.guard import is_blank
from howsure.model.simulation import Ending
from howsure.model.transcript import Message, Role
from howsure.users.base import Leave
from howsure.users.handoff import hands_off
from howsure.users.speech import alike, said_words

LONGEST_CYCLE = 3


class Exchange(Struct, frozen=True):
    """One user message and everything the agent said and did until the next. `text` is what the agent said; the
    thinking beside a tool call counts when there is nothing else."""

    user: str
    reply: tuple[Message, ...]
    text: str

    @classmethod
    def of(cls, user: str, reply: Sequence[Message]) -> Exchange:
        if len(reply) == 1:
            said = reply[0].content
            return cls(user, tuple(reply), said if said.strip() else "")
        spoken = [one.content for one in reply if one.content.strip() and not one.tool_calls]
        return cls(user, tuple(reply), "\n".join(spoken or [one.content for one in reply if one.content.strip()]))

    @property
    def calls(self) -> tuple[str, ...]:
        return tuple(call.name for message in self.reply for call in message.tool_calls)


class Stops(Struct, frozen=True, kw_only=True):
    """The rules. `handoff_tools` are told apart by name besides; `silent_replies` empty replies in a row are silence;
    `same_replies` near-verbatim equal ones are a loop."""

    handoff_tools: frozenset[str] = frozenset()
    silent_replies: int = 1
    same_replies: int = 3

    def stop(self, said: Sequence[Message], max_turns: int | None = None) -> Leave | None:
        """Why the conversation is over, or None. `max_turns` counts user messages."""
        return self.over(exchanges(said), max_turns)

    def over(self, talk: Sequence[Exchange], max_turns: int | None = None) -> Leave | None:
        """The same, of a conversation as pairs."""
        if not talk:
            return None
        if shown := hands_off(talk[-1].reply, self.handoff_tools):
            return Leave(Ending.HANDED_OFF, shown)
        if self._is_silent(talk):
            return Leave(Ending.SILENCE, f"the agent said nothing {_times(self.silent_replies)}")
        if looped := self._loop(talk):
            return Leave(Ending.LOOP, looped)
        if max_turns is not None and len(talk) >= max_turns:
            return Leave(Ending.TURN_LIMIT, f"{max_turns} user messages were sent")
        return None

    def _is_silent(self, talk: Sequence[Exchange]) -> bool:
        last = talk[-self.silent_replies :]
        return len(last) == self.silent_replies and all(map(says_nothing, last))

    def _loop(self, talk: Sequence[Exchange]) -> str:
        if len(talk) < min(2, self.same_replies):
            return ""
        texts = [exchange.text for exchange in talk[-max(self.same_replies, LONGEST_CYCLE + 1) :]]
        if not (words := said_words(texts[-1])):
            return ""
        last = texts[-self.same_replies :]
        if len(last) == self.same_replies and all(alike(last[0], one) for one in last[1:]):
            return f"the agent said the same {_times(self.same_replies)}"
        for length in range(1, LONGEST_CYCLE + 1):
            if length < len(texts) and said_words(texts[-1 - length]) == words and _cycles(talk, length):
                return f"both sides repeat the last {length} exchange{'s' if length > 1 else ''}"
        return ""


def exchanges(said: Sequence[Message]) -> list[Exchange]:
    """The conversation as pairs; what is said before the first user message is left out."""
    pairs: list[tuple[str, list[Message]]] = []
    for message in said:
        if message.role is Role.USER:
            pairs.append((message.content, []))
        elif pairs and message.role is Role.ASSISTANT:
            pairs[-1][1].append(message)
    return [Exchange.of(user, reply) for user, reply in pairs]


def says_nothing(exchange: Exchange) -> bool:
    """No tool call, and nothing but spaces and punctuation."""
    return not exchange.calls and is_blank("".join(message.content for message in exchange.reply))


def _cycles(talk: Sequence[Exchange], length: int) -> bool:
    """The last exchanges are word for word those before them."""
    if len(talk) < 2 * length:
        return False
    pairs = zip(talk[-length:], talk[-2 * length : -length], strict=True)
    return all(
        said_words(now.user) == said_words(before.user) and said_words(now.text) == said_words(before.text)
        for now, before in pairs
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times in a row"
