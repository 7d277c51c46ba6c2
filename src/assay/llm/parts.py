"""What requests and completions are made of: messages, settings, how an answer ended, the tokens it was made of."""

from __future__ import annotations

from enum import Enum
from typing import Any

from msgspec import Struct, field

from assay.model.transcript import Role


class Image(Struct, frozen=True, kw_only=True):
    """A picture beside a message, for models that see."""

    media_type: str
    base64: str


class Message(Struct, frozen=True):
    """One message. Any number of system messages; adapters put them where the provider wants them."""

    role: Role
    content: str
    images: tuple[Image, ...] = ()


class CallSettings(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How to answer; None: the provider's default. What a provider does not have is left out of its body.

    `logprobs` is the number of alternatives asked for at each token. `schema_by_prompt` asks in words for servers that
    cannot enforce a JSON Schema. `extra` goes into the body as it is and wins over everything else.
    """

    temperature: float | None = None
    max_tokens: int | None = None
    top_p: float | None = None
    seed: int | None = None
    logprobs: int | None = None
    effort: str | None = None
    stop: tuple[str, ...] = ()
    schema_by_prompt: bool = False
    extra: dict[str, Any] = field(default_factory=dict)


class Finish(Enum):
    """How an answer ended."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    REFUSED = "refused"
    OTHER = "other"


class Alternative(Struct, frozen=True, array_like=True):
    """What might have stood in a token's place."""

    text: str
    logprob: float


class Token(Struct, frozen=True, array_like=True):
    """One token of the answer; its alternatives may include itself."""

    text: str
    logprob: float
    alternatives: tuple[Alternative, ...] = ()
