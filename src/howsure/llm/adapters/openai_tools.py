"""Tools in OpenAI's chat completions: how they are described, how calls are read, and how they go back with results."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from howsure.llm.parts import ToolTurn
from howsure.llm.wire import UNREAD_ARGUMENTS, arguments_of, result_of, result_text
from howsure.model.transcript import Tool, ToolCall


class Function(Struct):
    name: str
    arguments: str | dict[str, Any] | None = None


class Called(Struct):
    function: Function
    id: str | None = None


def described(tool: Tool) -> dict[str, Any]:
    parameters = tool.parameters or {"type": "object", "properties": {}}
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }


def call_of(call: Called) -> ToolCall:
    given = call.function.arguments
    arguments = given if isinstance(given, dict) else arguments_of(given or "")
    return ToolCall(name=call.function.name, arguments=arguments, id=call.id or "")


def echo_of(body: bytes, calls: tuple[ToolCall, ...]) -> dict[str, Any]:
    """What some servers want to see again beside their calls: thinking, and signatures inside the calls. Calls without
    an id, or with arguments that are no JSON, are not repeated as they came: servers stumble over them."""
    message = msgspec.json.decode(body)["choices"][0]["message"]
    sound = all(call.id and UNREAD_ARGUMENTS not in call.arguments for call in calls)
    names = ("reasoning_content", "tool_calls") if sound else ("reasoning_content",)
    return {name: message[name] for name in names if message.get(name)}


def worked(turn: ToolTurn) -> list[dict[str, Any]]:
    """The calls, and a message for the result of each."""
    ids = [call.id or f"call_{place}" for place, call in enumerate(turn.tool_calls, start=1)]
    both = list(zip(ids, turn.tool_calls, strict=True))
    said = {"role": "assistant", "content": turn.content or None, "tool_calls": [_made(*each) for each in both]}
    given = [{"role": "tool", "tool_call_id": id, "content": result_text(result_of(call))} for id, call in both]
    return [said | (turn.echo or {}), *given]


def _made(id: str, call: ToolCall) -> dict[str, Any]:
    arguments = msgspec.json.encode(call.arguments).decode()
    return {"id": id, "type": "function", "function": {"name": call.name, "arguments": arguments}}
