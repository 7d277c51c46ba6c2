"""The parts of a bot's answer, whatever their spelling: fields, tool calls, messages and usage. Results are matched to
the calls they answer; token counts get the meaning of `Usage` (the prompt includes its cached tokens, the completion
does not include the thinking).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import inf
from typing import Any

from msgspec.structs import replace

from howsure.llm.messages import UNREAD_ARGUMENTS, decode_arguments
from howsure.model.transcript import Message, Role, ToolCall, ToolResult, Usage

SHOWN = 200
"""How many characters of an unreadable value are quoted."""


class UnreadableAnswer(ValueError):
    """The bot's reply is no answer; the message says what was expected and what was found."""


class AnswerFields:
    """An object whose keys are found in camelCase, snake_case and kebab-case alike."""

    __slots__ = ("_known", "keys")

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.keys = tuple(given)
        known: dict[str, Any] = {}
        for name, value in given.items():
            plain = _plain(name)
            # Of two spellings of one name, the one with a value counts.
            if known.get(plain) is None:
                known[plain] = value
        self._known = known

    def __contains__(self, name: str) -> bool:
        return _plain(name) in self._known

    def any_of(self, names: frozenset[str]) -> bool:
        """Whether one of these `plain_names` is there."""
        return not names.isdisjoint(self._known)

    def first(self, *names: str) -> Any:
        """The first of these that has a value."""
        for name in names:
            value = self._known.get(_plain(name))
            if value is not None:
                return value
        return None

    def text(self, *names: str) -> str:
        """The first of these that is text or a number (ids are either)."""
        value = self.first(*names)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return ""
        return str(value)


@lru_cache(4096)
def _plain(name: str) -> str:
    return str(name).replace("_", "").replace("-", "").lower()


def plain_names(*names: str) -> frozenset[str]:
    """Names in one spelling: lower case, without `_` and `-`."""
    return frozenset(map(_plain, names))


def kind_of(value: Any) -> str:
    """The kind of a value, in the words of JSON."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return "text"
        case int() | float():
            return "a number"
        case Mapping():
            return "an object"
        case list() | tuple():
            return "a list"
        case _:
            return f"a {type(value).__name__}"


def quote_value(value: Any, limit: int = SHOWN) -> str:
    """A value, quoted and cut."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}…"


def describe_value(value: Any) -> str:
    """`text 'abc'`, `a number 3`, `null`: a value for a message that says what was found."""
    return kind_of(value) if value is None or isinstance(value, bool) else f"{kind_of(value)} {quote_value(value)}"


def list_names(names: tuple[str, ...] | list[str], most: int = 20) -> str:
    """Names for a message; `none` where there are none."""
    fields = ", ".join(str(name) for name in names[:most])
    return f"{fields}, … ({len(names)} in all)" if len(names) > most else fields or "none"


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
        raise UnreadableAnswer(f"`{where}`: expected a list of calls, found {describe_value(value)}")
    return tuple(call_of(one, f"{where}[{place}]") for place, one in enumerate(value))


def call_of(value: Any, where: str) -> ToolCall:
    """One call, `{"name", "arguments"}` or `{"function": {"name", "arguments"}}`."""
    if isinstance(value, ToolCall):
        return value
    if not isinstance(value, Mapping):
        raise UnreadableAnswer(f"`{where}`: expected a call with `name` and `arguments`, found {describe_value(value)}")
    outer = AnswerFields(value)
    nested = outer.first("function", "function_call")
    inner = AnswerFields(nested) if isinstance(nested, Mapping) else outer
    name = inner.text(*NAME) or outer.text(*NAME) or outer.text("function")
    if not name:
        raise UnreadableAnswer(f"`{where}`: expected a call with `name`, found the keys {list_names(outer.keys)}")
    error, content = outer.first("error", "error_message"), outer.first(*RESULT)
    result = None if content is None else result_of(content, outer.first(*FAILED))
    return ToolCall(
        name=name,
        arguments=read_arguments(inner.first(*ARGUMENTS)),
        id=outer.text(*ID) or inner.text(*ID),
        result=ToolResult(content=error, failed=True) if error else result,
    )


def read_arguments(given: Any) -> dict[str, Any]:
    """The arguments: an object, or the JSON text of one. Anything else is kept under `UNREAD_ARGUMENTS`."""
    if given is None:
        return {}
    if isinstance(given, str):
        return decode_arguments(given)
    return dict(given) if isinstance(given, Mapping) else {UNREAD_ARGUMENTS: given}


def result_of(content: Any, failed: Any = None) -> ToolResult:
    """A result. It failed where it is marked as failed, has the status `error`, or an `error` in it."""
    if isinstance(failed, bool):
        return ToolResult(content=content, failed=failed)
    fields = isinstance(content, Mapping) and (
        str(content.get("status")).lower() == "error" or bool(content.get("error") or content.get("error_message"))
    )
    return ToolResult(content=content, failed=fields)


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
"""Roles of messages that hold tool results."""


def messages_in(value: Any, where: str = "messages") -> tuple[Message, ...]:
    """The agent's messages after the last user message: earlier ones belong to earlier turns."""
    if not isinstance(value, list | tuple):
        raise UnreadableAnswer(f"`{where}`: expected a list of messages, found {describe_value(value)}")
    reader = _MessageReader()
    for place, one in enumerate(value):
        reader.add(one, f"{where}[{place}]")
    return after_last_user(reader.messages())


def after_last_user(messages: Sequence[Message]) -> tuple[Message, ...]:
    users = [place for place, message in enumerate(messages) if message.role is Role.USER]
    return tuple(messages[users[-1] + 1 :] if users else messages)


def message_of(value: Any, where: str) -> tuple[Message, ...]:
    """One message; plain text is the assistant's. Empty where there is nothing in it."""
    reader = _MessageReader()
    reader.add(value, where)
    return tuple(message for message in reader.messages() if message.role is Role.ASSISTANT)


class _MessageReader:
    """Reads messages in order; results go to the calls they answer."""

    def __init__(self) -> None:
        self._entries: list[tuple[Message, list[ToolCall]]] = []

    def messages(self) -> list[Message]:
        return [replace(message, tool_calls=tuple(calls)) if calls else message for message, calls in self._entries]

    def add(self, value: Any, where: str) -> None:
        if isinstance(value, Message):
            self._entries.append((value, list(value.tool_calls)))
        elif isinstance(value, str):
            self._entries.append((Message(role=Role.ASSISTANT, content=value), []))
        elif isinstance(value, Mapping):
            self._add_object(AnswerFields(value), where)
        else:
            raise UnreadableAnswer(
                f"`{where}`: expected a message with `role` and `content`, found {describe_value(value)}"
            )

    def _add_object(self, fields: AnswerFields, where: str) -> None:
        role = fields.text("role", "type").lower() or "assistant"
        content = fields.first("content", "text", "parts")
        if role in RESULTS:
            self._result(fields.text("tool_call_id", *ID), fields.text("name", "tool_name"), content, fields)
            return
        if role not in ROLES:
            known = ", ".join((*ROLES, *RESULTS))
            raise UnreadableAnswer(f"`{where}.role`: expected one of {known}, found {role!r}")
        if "content" not in fields and content is None and fields.first("tool_calls", "function_call") is None:
            raise UnreadableAnswer(
                f"`{where}`: expected a message with `content`, found the keys {list_names(fields.keys)}"
            )
        self._say(ROLES[role], content, fields, where)

    def _say(self, role: Role, content: Any, fields: AnswerFields, where: str) -> None:
        text, calls, results = _parts(content, where)
        calls += calls_in(fields.first("tool_calls"), f"{where}.tool_calls")
        if isinstance(single := fields.first("function_call"), Mapping):
            calls.append(call_of(single, f"{where}.function_call"))
        # A user's message that only brings tool results is no turn of the user.
        if not (results and not text and not calls):
            agent = fields.text("agent", "agent_name", "name", "sender") if role is Role.ASSISTANT else ""
            self._entries.append((Message(role=role, content=text, agent=agent), calls))
        for part in results:
            self._result(part.text(*ID), part.text("name"), part.first("content"), part)

    def _result(self, id: str, name: str, content: Any, fields: AnswerFields) -> None:
        failed = True if fields.text("status").lower() == "error" else fields.first(*FAILED)
        result = result_of(_parse_result(content), failed)
        for _, calls in reversed(self._entries):
            for place, call in enumerate(calls):
                if call.result is None and (call.id == id if id and call.id else call.name == name or not name):
                    calls[place] = replace(call, result=result)
                    return
        # A result without its call shows that there was a call, with unknown arguments.
        call = ToolCall(name=name or "unknown", id=id, result=result)
        self._entries.append((Message(role=Role.ASSISTANT), [call]))


def _parts(content: Any, where: str) -> tuple[str, list[ToolCall], list[AnswerFields]]:
    """The text, the calls and the results in the content of a message: text, or a list of parts."""
    if content is None or isinstance(content, str):
        return content or "", [], []
    if not isinstance(content, list | tuple):
        raise UnreadableAnswer(f"`{where}.content`: expected text or a list of parts, found {describe_value(content)}")
    texts: list[str] = []
    calls: list[ToolCall] = []
    results: list[AnswerFields] = []
    for place, part in enumerate(content):
        if isinstance(part, str):
            texts.append(part)
            continue
        if not isinstance(part, Mapping):
            raise UnreadableAnswer(f"`{where}.content[{place}]`: expected text or a part, found {describe_value(part)}")
        fields = AnswerFields(part)
        kind = fields.text("type")
        if kind in ("tool_use", "tool_call", "function_call"):
            calls.append(call_of(part, f"{where}.content[{place}]"))
        elif kind == "tool_result":
            results.append(fields)
        elif kind in ("", "text", "output_text"):
            texts.append(fields.text("text", "content"))
    return "".join(texts), calls, results


def _parse_result(content: Any) -> Any:
    """A tool's result: an object where its text is the JSON of one, because graders look into it."""
    if isinstance(content, str) and content.lstrip()[:1] == "{":
        read = read_arguments(content)
        return content if UNREAD_ARGUMENTS in read else read
    return content


PROMPT = ("prompt_tokens", "input_tokens", "prompt_token_count", "input_token_count")
COMPLETION = ("completion_tokens", "output_tokens", "candidates_token_count", "output_token_count")
CACHED = ("cached_tokens", "cache_read_input_tokens", "cached_content_token_count", "cache_read_tokens")
THINKING = ("thinking_tokens", "thoughts_token_count", "reasoning_tokens")
TOOL_PROMPT, GEMINI_TOOL_PROMPT = ("tool_prompt_tokens",), ("tool_use_prompt_token_count",)
COST = ("cost_usd", "total_cost_usd", "cost", "total_cost")
PROMPT_DETAILS = ("prompt_tokens_details", "input_tokens_details", "input_token_details")
COMPLETION_DETAILS = ("completion_tokens_details", "output_tokens_details", "output_token_details")


def usage_of(value: Any, where: str = "usage") -> Usage | None:
    """The usage; None where none is reported."""
    if value is None or isinstance(value, Usage):
        return value
    if not isinstance(value, Mapping):
        raise UnreadableAnswer(f"`{where}`: expected an object of token counts, found {describe_value(value)}")
    fields = AnswerFields(value)
    details = (fields.first(*PROMPT_DETAILS), fields.first(*COMPLETION_DETAILS))
    prompt_details, completion_details = (AnswerFields(one if isinstance(one, Mapping) else {}) for one in details)
    prompt, completion = _count(fields, where, PROMPT), _count(fields, where, COMPLETION)
    cached = _count(fields, where, CACHED)
    if cached is None:
        cached = _count(prompt_details, where, ("cached_tokens", "cache_read"))
    inside = _count(completion_details, where, ("reasoning_tokens", "reasoning"))
    thinking = _count(fields, where, THINKING) if inside is None else inside
    brought = _count(fields, where, GEMINI_TOOL_PROMPT)
    if prompt is not None and brought is not None:
        # Gemini counts what tools add to the prompt apart.
        prompt += brought
    if prompt is not None and cached is not None and cached > prompt:
        # More cached tokens than prompt means that they were counted apart.
        prompt += cached
    if completion is not None and inside is not None and inside <= completion:
        # Thinking that is reported as a detail of the completion is part of it.
        completion -= inside
    usage = Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=cached,
        thinking_tokens=thinking,
        tool_prompt_tokens=_count(fields, where, TOOL_PROMPT) if brought is None else brought,
        cost_usd=_amount(fields, where, COST),
    )
    return None if usage == Usage() else usage


def _count(fields: AnswerFields, where: str, names: tuple[str, ...]) -> int | None:
    number = _amount(fields, where, names, "a whole number")
    return None if number is None else int(number)


def _amount(fields: AnswerFields, where: str, names: tuple[str, ...], expected: str = "an amount") -> float | None:
    value = fields.first(*names)
    if value is None:
        return None
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else -1
    if not 0 <= number < inf or (expected != "an amount" and int(number) != number):
        raise UnreadableAnswer(f"`{where}.{names[0]}`: expected {expected} from 0, found {describe_value(value)}")
    return number
