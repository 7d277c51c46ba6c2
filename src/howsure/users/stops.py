"""When a conversation is over: the agent hands over to a person, says nothing, repeats itself, or the turns are used
up.

A handoff shows in the tool that the agent calls or in what it says. Offering a handoff is not one, and neither is
passing on to another agent of the same system."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from msgspec import Struct

from howsure.judges.empty_answers import is_blank
from howsure.model.agent import AgentTool
from howsure.model.simulation import Ending
from howsure.model.transcript import Message, Role
from howsure.users.base import UserExit
from howsure.users.speech import alike, said_words, sentences
from howsure.users.words import fold_case, listed_words, phrase

HANDOFF_TYPES = frozenset({"human_handoff", "offline_human_handoff"})
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PART = re.compile(r"[^a-z0-9]+")
_TO_ANOTHER_AGENT = ("transfer_to_", "handoff_to_", "delegate_to_", "route_to_")
_ALONE = frozenset(
    {"handoff", "handover", "hand_off", "hand_over", "escalate", "escalation", "live_chat", "live_support"}
)
_ESCALATES = re.compile(r"\Aescalate_(?:to|call|chat|conversation|case|issue|user|customer)(?:_|\Z)")


def handoff_tools(tools: Iterable[AgentTool]) -> frozenset[str]:
    """The tools of an agent whose type says that they hand over to a person."""
    return frozenset(tool.tool_name for tool in tools if tool.type in HANDOFF_TYPES)


def handoff_evidence(reply: Sequence[Message], tools: Collection[str] = ()) -> str:
    """What shows that this reply hands over to a person; empty when nothing does."""
    calls = [call.name for message in reply for call in message.tool_calls]
    called = next((name for name in calls if name in tools or is_handoff_tool(name)), "")
    if called:
        return f"the agent called {called}"
    if any(_folded_name(name).startswith(_TO_ANOTHER_AGENT) for name in calls):
        return ""  # its words are about the agent it passes on to
    sentence = next((found for message in reply if (found := handoff_sentence(message.content))), "")
    return f"the agent said: {sentence}" if sentence else ""


def is_handoff_tool(name: str) -> bool:
    """Whether a tool's name speaks of a person: `transfer_to_human`, `live_handoff`; not `transfer_to_agent`."""
    folded = _folded_name(name).strip("_")
    parts = set(folded.split("_"))
    if folded in _ALONE or _ESCALATES.match(folded):
        return True
    return bool(parts & listed_words("people")) and bool(parts & listed_words("passing") or "hand" in parts)


@lru_cache(maxsize=2048)
def handoff_sentence(text: str) -> str:
    """The sentence that hands over to a person. A final question means that the agent has not left yet."""
    parts = sentences(text)
    if not parts or parts[-1].rstrip("\"'”’) ").endswith(("?", "？")):
        return ""
    for sentence in parts:
        folded = fold_case(sentence)
        if "?" in folded or not (found := phrase("handoff").search(folded)) or phrase("conditional").search(folded):
            continue
        # `I cannot refund this, so I am transferring you to a colleague`: only the clause that hands over counts.
        start = max(folded.rfind(mark, 0, found.start()) for mark in (",", ";", ":", "–", "—", " so ", " but "))
        if not phrase("denied").search(folded[start + 1 : found.end()]):
            return sentence
    return ""


def _folded_name(tool: str) -> str:
    return _PART.sub("_", _CAMEL.sub("_", tool).lower())


LONGEST_CYCLE = 3


class Exchange(Struct, frozen=True):
    """One user message and everything the agent said and did until the next. `text` is what the agent said; the text
    next to a tool call counts when there is nothing else."""

    user: str
    reply: tuple[Message, ...]
    text: str

    @classmethod
    def of(cls, user: str, reply: Sequence[Message]) -> Exchange:
        if len(reply) == 1:
            text = reply[0].content
            return cls(user, tuple(reply), text if text.strip() else "")
        spoken = [one.content for one in reply if one.content.strip() and not one.tool_calls]
        return cls(user, tuple(reply), "\n".join(spoken or [one.content for one in reply if one.content.strip()]))

    @property
    def calls(self) -> tuple[str, ...]:
        return tuple(call.name for message in self.reply for call in message.tool_calls)


class StopRules(Struct, frozen=True, kw_only=True):
    """When a conversation ends. `handoff_tools` add to the tools that are recognised by name; `silent_replies` empty
    replies in a row are silence; `same_replies` almost equal ones are a loop."""

    handoff_tools: frozenset[str] = frozenset()
    silent_replies: int = 1
    same_replies: int = 3

    def stop(self, messages: Sequence[Message], max_turns: int | None = None) -> UserExit | None:
        """Why the conversation is over, or None. `max_turns` counts user messages."""
        return self.check(pair_exchanges(messages), max_turns)

    def check(self, exchanges: Sequence[Exchange], max_turns: int | None = None) -> UserExit | None:
        """The same for a conversation as exchanges."""
        if not exchanges:
            return None
        if shown := handoff_evidence(exchanges[-1].reply, self.handoff_tools):
            return UserExit(Ending.HANDED_OFF, shown)
        last = exchanges[-self.silent_replies :]
        if len(last) == self.silent_replies and all(map(says_nothing, last)):
            return UserExit(Ending.SILENCE, f"the agent said nothing {_times(self.silent_replies)}")
        if looped := self._loop(exchanges):
            return UserExit(Ending.LOOP, looped)
        if max_turns is not None and len(exchanges) >= max_turns:
            return UserExit(Ending.TURN_LIMIT, f"{max_turns} user messages were sent")
        return None

    def _loop(self, exchanges: Sequence[Exchange]) -> str:
        if len(exchanges) < min(2, self.same_replies):
            return ""
        texts = [exchange.text for exchange in exchanges[-max(self.same_replies, LONGEST_CYCLE + 1) :]]
        if not (words := said_words(texts[-1])):
            return ""
        last = texts[-self.same_replies :]
        if len(last) == self.same_replies and all(alike(last[0], one) for one in last[1:]):
            return f"the agent said the same {_times(self.same_replies)}"
        for length in range(1, LONGEST_CYCLE + 1):
            if length < len(texts) and said_words(texts[-1 - length]) == words and _cycles(exchanges, length):
                return f"both sides repeat the last {length} exchange{'s' if length > 1 else ''}"
        return ""


def pair_exchanges(messages: Sequence[Message]) -> list[Exchange]:
    """The conversation as exchanges, without what comes before the first user message."""
    pairs: list[tuple[str, list[Message]]] = []
    for message in messages:
        if message.role is Role.USER:
            pairs.append((message.content, []))
        elif pairs and message.role is Role.ASSISTANT:
            pairs[-1][1].append(message)
    return [Exchange.of(user, reply) for user, reply in pairs]


def says_nothing(exchange: Exchange) -> bool:
    """Whether the agent called no tool and wrote nothing but spaces and punctuation."""
    return not exchange.calls and is_blank("".join(message.content for message in exchange.reply))


def _cycles(exchanges: Sequence[Exchange], length: int) -> bool:
    """Whether the last exchanges repeat those before them word for word."""
    if len(exchanges) < 2 * length:
        return False
    pairs = zip(exchanges[-length:], exchanges[-2 * length : -length], strict=True)
    return all(
        said_words(now.user) == said_words(before.user) and said_words(now.text) == said_words(before.text)
        for now, before in pairs
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times in a row"
