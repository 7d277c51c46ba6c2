"""The contract of a target, of a kind of target, and what a target may offer beyond it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from msgspec import UNSET, Struct, UnsetType, field

from howsure.judges.documents import NO_DOCUMENTS, Documents
from howsure.llm.transport import AddressGuard
from howsure.model.agent import Agent
from howsure.model.case import Case
from howsure.model.flag import Flag
from howsure.model.transcript import Message, Role, SentRequest, Span, Step, Transcript, Usage


class Reply(Struct, frozen=True, kw_only=True):
    """What the agent did with one user message: its messages (with tool calls and agents) and what that cost.

    `duration_ms`: how long the agent took, by the target's own clock. None: unknown (the reply came from a cache); left
    out: it took as long as `send` did. `flags`: what a reader must know, such as that the reply was cut off. `sent`:
    what the target was sent, with the first reply of a conversation."""

    messages: tuple[Message, ...]
    usage: Usage | None = None
    duration_ms: float | UnsetType | None = UNSET
    flags: tuple[Flag, ...] = ()
    sent: SentRequest | None = None

    @classmethod
    def saying(cls, text: str) -> Reply:
        return cls(messages=(Message(role=Role.ASSISTANT, content=text),))


class Closing(Struct, frozen=True, kw_only=True):
    """The end of a conversation. `steps`: who took part, if messages do not say; `artifacts`: versions of files."""

    state: dict[str, Any] | None = None
    spans: tuple[Span, ...] | None = None
    steps: tuple[Step, ...] = ()
    artifacts: dict[str, int] = field(default_factory=dict)


class Session(Protocol):
    """One conversation with the agent."""

    async def send(self, text: str) -> Reply: ...

    async def close(self) -> Closing: ...


class FinishedSession(Struct, frozen=True):
    """A conversation that has already taken place, in place of a session. `failure`: how it broke; `kind`: as what."""

    transcript: Transcript
    failure: str = ""
    kind: str = ""


class Target(Protocol):
    """How to reach the agent under test. Raise anything: the engine attributes it to the target. A target with
    `takes_candidate = True` is told which candidate it is, so `--candidate` may name several for it."""

    name: str

    async def open(self, case: Case) -> Session | FinishedSession: ...


class Stateless:
    """A Session for agents that remember nothing: a function from text to Reply."""

    def __init__(self, answer: Callable[[str], Reply]) -> None:
        self._answer = answer

    async def send(self, text: str) -> Reply:
        return self._answer(text)

    async def close(self) -> Closing:
        return Closing()


@runtime_checkable
class StartableTarget(Protocol):
    """A target that holds something open for a whole run: connections, a process."""

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


@runtime_checkable
class CheckableTarget(Protocol):
    """A target that can check, before a run, whether the agent can be reached."""

    async def check(self) -> str:
        """One sentence that says what was found. Raises `TargetFailed`, which says what to do."""
        ...


class TargetRequest(Struct, frozen=True, kw_only=True):
    """What a target is made from. `rest` follows the kind in `--target kind:rest`; `settings` is its block in
    howsure.yaml, which lies in `folder`; `state` is what every session starts with, before the case's own; `guard` says
    where connections may go (None: anywhere); `documents` reads the attachments of cases."""

    name: str
    rest: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    folder: Path = Path()
    environ: Mapping[str, str] = field(default_factory=dict)
    state: Mapping[str, Any] = field(default_factory=dict)
    agent: Agent | None = None
    candidate: str = ""
    repeat: int = 1
    guard: AddressGuard | None = None
    documents: Documents = NO_DOCUMENTS

    def initial_state(self, case: Case) -> dict[str, Any]:
        """The state that a conversation starts with; the case's own variables win."""
        return {**self.state, **case.state}


class TargetKind(Protocol):
    """A kind of target: makes one from a request, or raises `ConfigInvalid` that names every wrong setting. A kind with
    `keeps_time = True` limits each of its calls itself, so a run sets no time limit on turns unless the user does."""

    name: str

    def make(self, request: TargetRequest) -> Target: ...
