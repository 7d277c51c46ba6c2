"""Reading the fields of an answer whatever their spelling, and telling what is wrong with a value: what answers, calls,
messages and usage are read with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import isfinite
from typing import Any

from msgspec.structs import replace

from howsure.llm.messages import UNREAD_ARGUMENTS, decode_arguments
from howsure.model.transcript import Message, Role, ToolCall, ToolResult, Usage

SHOWN = 200
"""How much of a value that cannot be read is quoted."""


class UnreadableAnswer(ValueError):
    """What came back is no answer; the message says what was expected and what was found."""


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
        """Whether one of these is there; they are `plain_names`."""
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
    """Names without what tells spellings apart."""
    return frozenset(map(_plain, names))


def kind_of(value: Any) -> str:
    """What a value is, in the words of JSON."""
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
    """`text 'abc'`, `a number 3`, `null`: what stands where something else was expected."""
    return kind_of(value) if value is None or isinstance(value, bool) else f"{kind_of(value)} {quote_value(value)}"


def list_names(names: tuple[str, ...] | list[str], most: int = 20) -> str:
    """Names of keys for a message; `none` where there are none."""
    told = ", ".join(str(name) for name in names[:most])
    return f"{told}, … ({len(names)} in all)" if len(names) > most else told or "none"


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
        return decode_arguments(given)
    return dict(given) if isinstance(given, Mapping) else {UNREAD_ARGUMENTS: given}


def _result_in(call: AnswerFields) -> ToolResult | None:
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
        raise UnreadableAnswer(f"`{where}`: expected a list of messages, found {describe_value(value)}")
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
            self._add_object(AnswerFields(value), where)
        else:
            raise UnreadableAnswer(
                f"`{where}`: expected a message with `role` and `content`, found {describe_value(value)}"
            )

    def _add_object(self, fields: AnswerFields, where: str) -> None:
        role = fields.text("role", "type").lower() or "assistant"
        content = fields.first("content", "text", "parts")
        if role in RESULTS:
            self._result(fields.text("tool_call_id", *ID), fields.text("name", "tool_name"), _whole(content), fields)
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
            self._said.append((Message(role=role, content=text, agent=agent), calls))
        for part in results:
            self._result(part.text(*ID), part.text("name"), _whole(part.first("content")), part)

    def _result(self, id: str, name: str, content: Any, told: AnswerFields) -> None:
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


def _whole(content: Any) -> Any:
    """What a tool gave back: an object where its text is the JSON of one, for graders look into it."""
    if isinstance(content, str) and content.lstrip()[:1] == "{":
        read = read_arguments(content)
        return content if UNREAD_ARGUMENTS in read else read
    return content


PROMPT = ("prompt_tokens", "input_tokens", "prompt_token_count", "input_token_count")
COMPLETION = ("completion_tokens", "output_tokens", "candidates_token_count", "output_token_count")
CACHED = ("cached_tokens", "cache_read_input_tokens", "cached_content_token_count", "cache_read_tokens")
THINKING = ("thinking_tokens", "thoughts_token_count", "reasoning_tokens")
COST = ("cost_usd", "total_cost_usd", "cost", "total_cost")
PROMPT_DETAILS = ("prompt_tokens_details", "input_tokens_details", "input_token_details")
COMPLETION_DETAILS = ("completion_tokens_details", "output_tokens_details", "output_token_details")


def usage_of(value: Any, where: str = "usage") -> Usage | None:
    """What was spent; None where nobody says."""
    if value is None or isinstance(value, Usage):
        return value
    if not isinstance(value, Mapping):
        raise UnreadableAnswer(f"`{where}`: expected an object of token counts, found {describe_value(value)}")
    fields, prompt_details, completion_details = AnswerFields(value), *_details(value)
    cached = _count(fields, where, CACHED)
    if cached is None:
        cached = _count(prompt_details, where, ("cached_tokens", "cache_read"))
    inside = _count(completion_details, where, ("reasoning_tokens", "reasoning"))
    thinking = _count(fields, where, THINKING) if inside is None else inside
    usage = Usage(
        prompt_tokens=_with_cached(_count(fields, where, PROMPT), cached),
        completion_tokens=_without(_count(fields, where, COMPLETION), inside),
        cached_tokens=cached,
        thinking_tokens=thinking,
        cost_usd=_money(fields, where),
    )
    return None if usage == Usage() else usage


def _details(value: Mapping[str, Any]) -> tuple[AnswerFields, AnswerFields]:
    fields = AnswerFields(value)
    details = (fields.first(*PROMPT_DETAILS), fields.first(*COMPLETION_DETAILS))
    prompt, completion = (AnswerFields(one) if isinstance(one, Mapping) else AnswerFields({}) for one in details)
    return prompt, completion


def _count(fields: AnswerFields, where: str, names: tuple[str, ...]) -> int | None:
    value = fields.first(*names)
    if value is None:
        return None
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else -1
    if not (isfinite(number) and number >= 0 and int(number) == number):
        raise UnreadableAnswer(f"`{where}.{names[0]}`: expected a whole number from 0, found {describe_value(value)}")
    return int(number)


def _money(fields: AnswerFields, where: str) -> float | None:
    value = fields.first(*COST)
    if value is None:
        return None
    number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else -1.0
    if not (isfinite(number) and number >= 0):
        raise UnreadableAnswer(f"`{where}.{COST[0]}`: expected an amount from 0, found {describe_value(value)}")
    return number


def _with_cached(prompt: int | None, cached: int | None) -> int | None:
    """More cached tokens than prompt: the API counted them beside it."""
    return prompt + cached if prompt is not None and cached is not None and cached > prompt else prompt


def _without(completion: int | None, thinking: int | None) -> int | None:
    """Thinking that is told as a detail of the completion is part of it."""
    if completion is None or thinking is None or thinking > completion:
        return completion
    return completion - thinking
