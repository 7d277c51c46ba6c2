"""The contract of a language model, and of what the door to them asks of others: a cache, a budget, a recorder."""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Struct

from howsure.llm.parts import CallSettings, Finish, Message, Token
from howsure.model.transcript import Tool, ToolCall, Usage


class Request(Struct, frozen=True, kw_only=True):
    """What is asked. `schema`: a JSON Schema for the reply. `namespace` keeps repeats apart in the cache; `purpose`
    names the asker in traces and does not shape the answer. `settings` None: those of the model."""

    messages: tuple[Message, ...]
    schema: dict[str, Any] | None = None
    tools: tuple[Tool, ...] = ()
    settings: CallSettings | None = None
    namespace: str = ""
    purpose: str = ""


class Completion(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came back. `cost_usd` is what this call cost now (0 from the cache, None: price or tokens not known), while
    `usage` is what the answer cost when it was made. `echo` goes back with the results of its tool calls."""

    text: str
    model: str
    usage: Usage
    finish: Finish = Finish.STOP
    tool_calls: tuple[ToolCall, ...] = ()
    echo: Any = None
    logprobs: tuple[Token, ...] | None = None
    cost_usd: float | None = None
    latency_ms: float = 0.0
    cached: bool = False


class LanguageModel(Protocol):
    """Whom to ask. Raises `ModelFailed` when no answer can be had, and `BudgetReached`."""

    @property
    def name(self) -> str: ...

    async def complete(self, request: Request) -> Completion: ...


class Cache(Protocol):
    """Replies by key, shared by all runs. A `get` of what was `put` may give None, never something else."""

    async def get(self, key: bytes) -> bytes | None: ...

    async def put(self, key: bytes, value: bytes) -> None: ...


class Budget(Protocol):
    """`reserve` raises `BudgetReached` before a call that may not be made; `settle` books what a call used."""

    def reserve(self) -> None: ...

    def settle(self, usage: Usage, cost_usd: float | None) -> None: ...


class Recorder(Protocol):
    """Is told of every answered call."""

    async def record(self, model: str, request: Request, completion: Completion) -> None: ...
