"""What requests and replies are made of: messages with images and tool calls, how an answer ended, its tokens."""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec
from msgspec import Struct

from howsure.model.llm_settings import CallSettings as CallSettings
from howsure.model.transcript import Role, ToolCall

UNREAD_ARGUMENTS = "$unread"
"""The argument that holds a tool call's arguments where they are no JSON object."""


class Image(Struct, frozen=True, kw_only=True):
    """An image beside a message, for models that see."""

    media_type: str
    base64: str


class ChatMessage(Struct, frozen=True):
    """One message. Any number of system messages; providers put them where their API wants them."""

    role: Role
    content: str
    images: tuple[Image, ...] = ()


class ToolTurn(ChatMessage, frozen=True):
    """A message of the assistant that calls tools, with their results. `echo`: what its provider wants to see of it
    again, in the provider's own words (`Completion.echo`)."""

    tool_calls: tuple[ToolCall, ...] = ()
    echo: Any = None


class FinishReason(Enum):
    """How an answer ended."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    REFUSED = "refused"
    OTHER = "other"


class TokenAlternative(Struct, frozen=True, array_like=True):
    """A token that the model might have written instead."""

    text: str
    logprob: float


class TokenLogprob(Struct, frozen=True, array_like=True):
    """One token of the answer; its alternatives may include itself."""

    text: str
    logprob: float
    alternatives: tuple[TokenAlternative, ...] = ()


def decode_arguments(text: str) -> dict[str, Any]:
    """A call's arguments, which some providers send as text. What is no JSON object is kept as it came."""
    try:
        value = msgspec.json.decode(text or "{}")
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {UNREAD_ARGUMENTS: text}
