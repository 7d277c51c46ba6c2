"""What requests and completions are made of: messages, settings, how an answer ended, the tokens it was made of."""

from __future__ import annotations

from enum import Enum
from typing import Any

from msgspec import Struct

from howsure.model.calls import CallSettings as CallSettings
from howsure.model.transcript import Role, ToolCall


class Image(Struct, frozen=True, kw_only=True):
    """A picture beside a message, for models that see."""

    media_type: str
    base64: str


class Message(Struct, frozen=True):
    """One message. Any number of system messages; adapters put them where the provider wants them."""

    role: Role
    content: str
    images: tuple[Image, ...] = ()


class ToolTurn(Message, frozen=True):
    """A message of the assistant that calls tools, with what they gave. `echo`: what its provider wants to see of it
    again, in the provider's own words (`Completion.echo`)."""

    tool_calls: tuple[ToolCall, ...] = ()
    echo: Any = None


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
