"""Messages in an answer: lists of roles and contents as chat APIs and agent frameworks keep them, with tool results
brought to the calls they answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from howsure.llm.wire import UNREAD_ARGUMENTS
from howsure.model.transcript import Message, Role, ToolCall, ToolResult
from howsure.targets.answers.calls import ID, call_of, calls_in, read_arguments, result_of
from howsure.targets.answers.fields import Fields, Unreadable, found, listed

ROLES = {
    "assistant": Role.ASSISTANT,
    "ai": Role.ASSISTANT,
    "model": Role.ASSISTANT,
    "agent": Role.ASSISTANT,
    "bot": Role.ASSISTANT,
    "user": Role.USER,
    "human": Role.USER,
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
}
RESULTS = ("tool", "function")
"""Roles of messages that hold what a tool gave back."""


def messages_in(value: Any, where: str = "messages") -> tuple[Message, ...]:
    """What the agent said after the last user message: what stands before it was said in earlier turns."""
    if not isinstance(value, list | tuple):
        raise Unreadable(f"`{where}`: expected a list of messages, found {found(value)}")
    talk = _Talk()
    for place, one in enumerate(value):
        talk.add(one, f"{where}[{place}]")
    return since_the_user(talk.messages())


def since_the_user(messages: Sequence[Message]) -> tuple[Message, ...]:
    users = [place for place, message in enumerate(messages) if message.role is Role.USER]
    return tuple(messages[users[-1] + 1 :] if users else messages)


def message_of(value: Any, where: str) -> tuple[Message, ...]:
    """One message; text alone is the assistant's. Empty where there is nothing in it."""
    talk = _Talk()
    talk.add(value, where)
    return tuple(message for message in talk.messages() if message.role is Role.ASSISTANT)


class _Talk:
    """Takes messages down in order; results go to the calls they answer."""

    def __init__(self) -> None:
        self._said: list[tuple[Message, list[ToolCall]]] = []

    def messages(self) -> list[Message]:
        return [replace(message, tool_calls=tuple(calls)) if calls else message for message, calls in self._said]

    def add(self, value: Any, where: str) -> None:
        if isinstance(value, Message):
            self._said.append((value, list(value.tool_calls)))
        elif isinstance(value, str):
            self._said.append((Message(role=Role.ASSISTANT, content=value), []))
        elif isinstance(value, Mapping):
            self._add_object(Fields(value), where)
        else:
            raise Unreadable(f"`{where}`: expected a message with `role` and `content`, found {found(value)}")

    def _add_object(self, fields: Fields, where: str) -> None:
        role = fields.text("role", "type").lower() or "assistant"
        content = fields.first("content", "text", "parts")
        if role in RESULTS:
            self._result(fields.text("tool_call_id", *ID), fields.text("name", "tool_name"), _whole(content), fields)
            return
        if role not in ROLES:
            known = ", ".join((*ROLES, *RESULTS))
            raise Unreadable(f"`{where}.role`: expected one of {known}, found {role!r}")
        if "content" not in fields and content is None and fields.first("tool_calls", "function_call") is None:
            raise Unreadable(f"`{where}`: expected a message with `content`, found the keys {listed(fields.keys)}")
        self._say(ROLES[role], content, fields, where)

    def _say(self, role: Role, content: Any, fields: Fields, where: str) -> None:
        text, calls, results = _parts(content, where)
        calls += calls_in(fields.first("tool_calls"), f"{where}.tool_calls")
        if isinstance(single := fields.first("function_call"), Mapping):
            calls.append(call_of(single, f"{where}.function_call"))
        # A user's message that only brings tool results is no turn of the user.
        if not (results and not text and not calls):
            agent = fields.text("agent", "agent_name", "name", "sender") if role is Role.ASSISTANT else ""
            self._said.append((Message(role=role, content=text, agent=agent), calls))
        for part in results:
            self._result(part.text(*ID), part.text("name"), _whole(part.first("content")), part)

    def _result(self, id: str, name: str, content: Any, told: Fields) -> None:
        failed = told.first("failed", "is_error")
        failed = True if told.text("status").lower() == "error" else failed
        result = result_of(content, failed)
        for _, calls in reversed(self._said):
            for place, call in enumerate(calls):
                if call.result is None and (call.id == id if id and call.id else call.name == name or not name):
                    calls[place] = replace(call, result=result)
                    return
        self._unasked(id, name, result)

    def _unasked(self, id: str, name: str, result: ToolResult) -> None:
        """A result whose call was not told shows that there was one; its arguments nobody wrote down."""
        call = ToolCall(name=name or "unknown", id=id, result=result)
        self._said.append((Message(role=Role.ASSISTANT), [call]))


def _parts(content: Any, where: str) -> tuple[str, list[ToolCall], list[Fields]]:
    """The text, the calls and the results in the content of a message: text, or a list of parts."""
    if content is None or isinstance(content, str):
        return content or "", [], []
    if not isinstance(content, list | tuple):
        raise Unreadable(f"`{where}.content`: expected text or a list of parts, found {found(content)}")
    texts: list[str] = []
    calls: list[ToolCall] = []
    results: list[Fields] = []
    for place, part in enumerate(content):
        if isinstance(part, str):
            texts.append(part)
            continue
        if not isinstance(part, Mapping):
            raise Unreadable(f"`{where}.content[{place}]`: expected text or a part, found {found(part)}")
        fields = Fields(part)
        kind = fields.text("type")
        if kind in ("tool_use", "tool_call", "function_call"):
            calls.append(call_of(part, f"{where}.content[{place}]"))
        elif kind == "tool_result":
            results.append(fields)
        elif kind in ("", "text", "output_text"):
            texts.append(fields.text("text", "content"))
    return "".join(texts), calls, results


def _whole(content: Any) -> Any:
    """What a tool gave back: an object where its text is the JSON of one, for graders look into it."""
    if isinstance(content, str) and content.lstrip()[:1] == "{":
        read = read_arguments(content)
        return content if UNREAD_ARGUMENTS in read else read
    return content
