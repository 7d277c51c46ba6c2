"""Items of a test set that are finished conversations: `transcript`, and `voice_simulation`, which is its transcript
with the times of what was said. The agent is not called for them: what was said is graded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from howsure.dialects.strict_json import Json
from howsure.model.case import Script
from howsure.model.transcript import Message, Role, ToolCall, ToolResult, Transcript

_TIME: Json = {"type": ["number", "null"], "minimum": 0}
_MESSAGE: Json = {
    "type": "object",
    "required": ["role", "content"],
    "properties": {
        "role": {"type": "string", "enum": ["user", "assistant", "system"]},
        "content": {"type": "string"},
        "start_ms": _TIME,
        "end_ms": _TIME,
    },
}
_CALL: Json = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "minLength": 1}}}
MESSAGES: Json = {"type": "array", "minItems": 1, "items": _MESSAGE}
FIELDS: Json = {
    "messages": {**MESSAGES, "type": ["array", "null"]},
    "tool_calls": {"type": ["array", "null"], "items": {**_CALL, "additionalProperties": True}},
    "voice_metrics": {"type": ["object", "null"]},
}
NOTHING_SAID = "(nothing)"


def finished_script(inputs: Mapping[str, Any]) -> Script:
    """The messages of the user, as a script."""
    turns = tuple(each["content"] for each in inputs["messages"] if each["role"] == Role.USER.value)
    return Script(turns=turns or (NOTHING_SAID,))


def finished_transcript(
    said: Sequence[Mapping[str, Any]], calls: Sequence[Mapping[str, Any]] = (), state: Json | None = None
) -> Transcript:
    """The conversation. The tool calls come before the last message of the agent; the times of messages say how long it
    took."""
    messages = [Message(role=Role(each["role"]), content=each["content"]) for each in said]
    replies = [index for index, message in enumerate(messages) if message.role is Role.ASSISTANT]
    answer = messages[replies[-1]].content if replies else ""
    if calls:
        made = tuple(map(_tool_call, calls))
        place = replies[-1] if replies else len(messages)
        messages.insert(place, Message(role=Role.ASSISTANT, tool_calls=made))
    times = [moment for each in said for name in ("start_ms", "end_ms") if (moment := each.get(name)) is not None]
    took = float(max(times) - min(times)) if times else None
    return Transcript(answer=answer, messages=tuple(messages), state=state, duration_ms=took)


def _tool_call(call: Mapping[str, Any]) -> ToolCall:
    arguments = call.get("arguments")
    return ToolCall(
        name=call.get("name") or call["tool_name"],
        arguments=arguments if isinstance(arguments, dict) else {},
        result=ToolResult(content=call["result"]) if "result" in call else None,
    )
