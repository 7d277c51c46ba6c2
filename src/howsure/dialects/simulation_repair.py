"""One converter rewrites every key inside session events in camel case, the arguments and results of tools with them
(`customer_id` → `customerId`), so that no reference would match. Where the row also holds a call as it really was, and
rewriting that gives what the event says, the real one is used. Nothing else is ever changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import structs

from howsure.dialects.simulation_talk import objects_in
from howsure.model.transcript import Message, ToolCall, ToolResult

Original = tuple[str, Any, Any]
"""The name of a tool, and the arguments or the result of one call (None: not told)."""


def repaired(messages: tuple[Message, ...], originals: Iterable[Original]) -> tuple[Message, ...]:
    known = _Originals(originals)
    if not known or not any(message.tool_calls for message in messages):
        return messages
    return tuple(
        structs.replace(message, tool_calls=tuple(map(known.restored, message.tool_calls)))
        if message.tool_calls
        else message
        for message in messages
    )


class _Originals:
    """Arguments and results by tool, in order; each is used once."""

    def __init__(self, originals: Iterable[Original]) -> None:
        self._arguments: dict[str, list[Any]] = {}
        self._results: dict[str, list[Any]] = {}
        for name, arguments, result in originals:
            for told, value in ((self._arguments, arguments), (self._results, result)):
                if value is not None and camel(value) != value:
                    told.setdefault(name, []).append(value)

    def __bool__(self) -> bool:
        return bool(self._arguments or self._results)

    def restored(self, call: ToolCall) -> ToolCall:
        arguments = _taken(self._arguments.get(call.name, []), call.arguments)
        result = call.result
        if result is not None:
            content = _taken(self._results.get(call.name, []), result.content)
            result = ToolResult(content=content, failed=result.failed)
        return structs.replace(call, arguments=arguments, result=result)


def _taken(originals: list[Any], rewritten: Any) -> Any:
    for place, original in enumerate(originals):
        if camel(original) == rewritten:
            return originals.pop(place)
    return rewritten


def camel(value: Any) -> Any:
    """The value with every key in camel case, at any depth."""
    if isinstance(value, dict):
        return {_camel_key(key): camel(inner) for key, inner in value.items()}
    return [camel(inner) for inner in value] if isinstance(value, list) else value


def _camel_key(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(word.title() for word in rest)


def originals_in(extract: Any) -> Iterator[Original]:
    """The calls that `custom_extract` tells of."""
    for entry in objects_in(extract):
        for call in objects_in(entry.get("tool_calls")):
            yield str(call.get("name", "")), call.get("args"), None
        for given in objects_in(entry.get("tool_responses")):
            yield str(given.get("name", "")), None, given.get("response")
