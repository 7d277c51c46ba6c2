"""The contracts of this package: a language model, a provider that serves models, a cache and a budget. Messages and
their parts are in `messages`; nothing here does I/O."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from howsure.llm.messages import CallSettings, ChatMessage, FinishReason, TokenLogprob
from howsure.model.transcript import Tool, ToolCall, Usage

NO_USAGE = Usage()


class ModelRequest(Struct, frozen=True, kw_only=True):
    """What a model is asked. `schema`: a JSON Schema for the reply. `namespace` keeps repeats apart in the cache;
    `purpose` names the asker in traces and does not shape the answer. `settings` None: those of the model."""

    messages: tuple[ChatMessage, ...]
    schema: dict[str, Any] | None = None
    tools: tuple[Tool, ...] = ()
    settings: CallSettings | None = None
    namespace: str = ""
    purpose: str = ""


class ModelReply(Struct, frozen=True, kw_only=True):
    """What a provider answers: `ModelReply(text="Paris")`. `model` is the name that the provider gives itself, where
    it does; `echo` goes back to it with the results of its tool calls (`ToolTurn`)."""

    text: str
    model: str = ""
    usage: Usage = NO_USAGE
    finish: FinishReason = FinishReason.STOP
    tool_calls: tuple[ToolCall, ...] = ()
    echo: Any = None
    logprobs: tuple[TokenLogprob, ...] | None = None


class Completion(ModelReply, frozen=True, kw_only=True, omit_defaults=True):
    """A reply with its cost. `cost_usd` is what this call cost now (0 from the cache, None: price or tokens unknown),
    while `usage` is what the answer cost when it was made."""

    cost_usd: float | None = None
    latency_ms: float = 0.0
    cached: bool = False


class LanguageModel(Protocol):
    """A model that can be asked. Raises `ModelFailed` when there is no answer, and `BudgetReached`."""

    @property
    def name(self) -> str: ...

    async def complete(self, request: ModelRequest) -> Completion: ...


class ModelSpec(Struct, frozen=True, kw_only=True):
    """A model, its address, and the variable that holds its key (empty: it needs none). Safe to print and store."""

    provider: str
    model: str
    base_url: str = ""
    key_variable: str = ""
    api_version: str = ""

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"


class Provider(Protocol):
    """Serves models. `kit.providers.add(MyProvider())` makes `--judge myname:model` work, and so for `--target chat:`
    and `--simulator`. Cache, limits, budget and retries are ours. `request.settings` is always set here. Raise
    `ModelRefused` where asking again would not help; `ModelFailed`, `OSError` and a timeout are tried again."""

    @property
    def name(self) -> str: ...

    async def complete(self, model: str, request: ModelRequest) -> ModelReply: ...


class ProviderAddress(Struct, frozen=True, kw_only=True):
    """Where an HTTP provider is: its usual address, the variables that name another one, and those that may hold the
    key. `plain_http`: an address without a scheme means http. `fallback` is a provider whose variables stand in."""

    url: str = ""
    url_variables: tuple[str, ...]
    key_variables: tuple[str, ...]
    key_needed: bool = True
    plain_http: bool = False
    version_variables: tuple[str, ...] = ()
    version: str = ""
    fallback: str = ""


@runtime_checkable
class HttpProvider(Protocol):
    """A provider behind HTTP, as pure functions: the client sends the body and reads the response. `read_reply`
    raises `UnreadableReply`, or what msgspec raises, for a body without an answer."""

    @property
    def name(self) -> str: ...

    @property
    def address(self) -> ProviderAddress: ...

    def url(self, spec: ModelSpec) -> str: ...

    def headers(self, spec: ModelSpec, key: str) -> dict[str, str]: ...

    def body(self, spec: ModelSpec, request: ModelRequest, settings: CallSettings) -> bytes: ...

    def read_reply(self, body: bytes) -> ModelReply: ...


class UnreadableReply(Exception):
    """A response of status 200 in which there is no answer."""


class Cache(Protocol):
    """Replies by key, shared by all runs. A `get` of what was `put` may give None, never something else."""

    async def get(self, key: bytes) -> bytes | None: ...

    async def put(self, key: bytes, value: bytes) -> None: ...


class Budget(Protocol):
    """`reserve` raises `BudgetReached` before a call that may not be made; `settle` books what a call used."""

    def reserve(self) -> None: ...

    def settle(self, usage: Usage, cost_usd: float | None) -> None: ...
