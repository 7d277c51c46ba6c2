"""Tool calls in an answer: the spellings of the common frameworks, brought to one form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from howsure.llm.wire import UNREAD_ARGUMENTS, arguments_of
from howsure.model.transcript import ToolCall, ToolResult
from howsure.targets.answers.fields import Fields, Unreadable, found, listed

NAME = ("name", "tool_name", "function_name", "tool")
ARGUMENTS = ("arguments", "args", "input", "input_arguments", "parameters", "params", "tool_input")
ID = ("id", "call_id", "tool_call_id", "tool_use_id")
RESULT = ("result", "output", "response", "observation", "output_result", "tool_result")
FAILED = ("failed", "is_error")


def calls_in(value: Any, where: str) -> tuple[ToolCall, ...]:
    """The calls of a list; null is none."""
    if value is None:
        return ()
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, list | tuple):
        raise Unreadable(f"`{where}`: expected a list of calls, found {found(value)}")
    return tuple(call_of(one, f"{where}[{place}]") for place, one in enumerate(value))


def call_of(value: Any, where: str) -> ToolCall:
    """One call, `{"name", "arguments"}` or `{"function": {"name", "arguments"}}`."""
    if isinstance(value, ToolCall):
        return value
    if not isinstance(value, Mapping):
        raise Unreadable(f"`{where}`: expected a call with `name` and `arguments`, found {found(value)}")
    outer = Fields(value)
    nested = outer.first("function", "function_call")
    inner = Fields(nested) if isinstance(nested, Mapping) else outer
    name = inner.text(*NAME) or outer.text(*NAME) or outer.text("function")
    if not name:
        raise Unreadable(f"`{where}`: expected a call with `name`, found the keys {listed(outer.keys)}")
    return ToolCall(
        name=name,
        arguments=read_arguments(inner.first(*ARGUMENTS)),
        id=outer.text(*ID) or inner.text(*ID),
        result=_result_in(outer),
    )


def read_arguments(given: Any) -> dict[str, Any]:
    """An object, or the JSON text of one. What is neither is kept as it came, under a name of its own."""
    if given is None:
        return {}
    if isinstance(given, str):
        return arguments_of(given)
    return dict(given) if isinstance(given, Mapping) else {UNREAD_ARGUMENTS: given}


def _result_in(call: Fields) -> ToolResult | None:
    error = call.first("error", "error_message")
    if error:
        return ToolResult(content=error, failed=True)
    content = call.first(*RESULT)
    return None if content is None else result_of(content, call.first(*FAILED))


def result_of(content: Any, failed: Any = None) -> ToolResult:
    """A result that says so is a failure: it is marked as one, has the status `error`, or an `error` in it."""
    if isinstance(failed, bool):
        return ToolResult(content=content, failed=failed)
    told = isinstance(content, Mapping) and (
        str(content.get("status")).lower() == "error" or bool(content.get("error") or content.get("error_message"))
    )
    return ToolResult(content=content, failed=told)
