"""The contract of a target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from msgspec import UNSET, Struct, UnsetType

from howsure.model.case import Case
from howsure.model.transcript import Message, Role, Span, Step, Transcript, Usage


class Reply(Struct, frozen=True, kw_only=True):
    """What the agent did with one user message: its messages (with tool calls and agents) and what that cost.

    `duration_ms`: how long the agent took, by the target's own clock. None: nobody can tell (the reply came from a
    cache); left out: it took as long as `send` did."""

    messages: tuple[Message, ...]
    usage: Usage | None = None
    duration_ms: float | UnsetType | None = UNSET

    @classmethod
    def saying(cls, text: str) -> Reply:
        return cls(messages=(Message(role=Role.ASSISTANT, content=text),))


class Closing(Struct, frozen=True, kw_only=True):
    """What is left when the conversation is over. `steps`: who took part in which order, where messages do not tell."""

    state: dict[str, Any] | None = None
    spans: tuple[Span, ...] | None = None
    steps: tuple[Step, ...] = ()


class Session(Protocol):
    """One conversation with the agent."""

    async def send(self, text: str) -> Reply: ...

    async def close(self) -> Closing: ...


class Finished(Struct, frozen=True):
    """A conversation that has already taken place."""

    transcript: Transcript


class Target(Protocol):
    """How to reach what is under test. Raise anything: the engine's boundary attributes it to the target."""

    name: str

    async def open(self, case: Case) -> Session | Finished: ...


class Stateless:
    """A Session for agents that remember nothing: a function from text to Reply."""

    def __init__(self, answer: Callable[[str], Reply]) -> None:
        self._answer = answer

    async def send(self, text: str) -> Reply:
        return self._answer(text)

    async def close(self) -> Closing:
        return Closing()
