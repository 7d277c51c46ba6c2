"""Messages in the shapes that chat APIs and tracing libraries write: OpenAI's two, Azure's parts, Gemini's contents,
LangChain's dumps, OpenTelemetry's parts. Each becomes the same plain `LoggedMessage`, and a list of those the messages
of a Transcript.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from howsure.dialects.simulation_messages import arguments_of, first_present, log_from_events, objects_in
from howsure.dialects.strict_json import Json
from howsure.model.transcript import Message, Tool
from howsure.traces.values import UNREADABLE, decode_value

USER, ASSISTANT, SYSTEM, TOOL = "user", "assistant", "system", "tool"
_ROLES = {
    "user": USER, "human": USER, "humanmessage": USER,
    "assistant": ASSISTANT, "ai": ASSISTANT, "model": ASSISTANT, "aimessage": ASSISTANT, "aimessagechunk": ASSISTANT,
    "system": SYSTEM, "developer": SYSTEM, "systemmessage": SYSTEM,
    "tool": TOOL, "function": TOOL, "toolmessage": TOOL,
}  # fmt: skip
_WRAPPERS = ("messages", "contents", "choices", "candidates", "output", "new_message", "message", "input")
_CALLS = ("tool_call", "function_call", "function", "tool-call")
_RESULTS = ("tool_result", "tool_call_response", "function_response", "tool-result")


class LoggedToolCall(Struct, frozen=True):
    """A tool call, as the model requested it."""

    id: str
    name: str
    arguments: Json


class LoggedToolResult(Struct, frozen=True):
    """A tool's result. Without a name, the id tells which call it answers."""

    id: str
    name: str
    content: Any


class LoggedMessage(Struct, frozen=True):
    """One message as it was logged."""

    role: str
    text: str = ""
    calls: tuple[LoggedToolCall, ...] = ()
    answers: tuple[LoggedToolResult, ...] = ()
    agent: str = ""

    @property
    def empty(self) -> bool:
        return not (self.text or self.calls or self.answers)


def read_messages(raw: Any, role: str = USER) -> list[LoggedMessage]:
    """The messages in a value of any of these shapes; `role` is used where none is named. Empty: no messages."""
    value = decode_value(raw)
    if value is UNREADABLE or value is None:
        return []
    if isinstance(value, str):
        return [LoggedMessage(role, value.strip())] if value.strip() else []
    if isinstance(value, list):
        return [message for one in value for message in read_messages(one, role)] if _are_messages(value) else []
    if isinstance(value, Mapping):
        return [message for message in _in_object(dict(value), role) if not message.empty]
    return []


def _are_messages(value: Any) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    if not isinstance(value, list):
        return isinstance(value, Mapping)
    objects = all(isinstance(one, Mapping) for one in value)
    return bool(value) and (objects or (len(value) == 1 and isinstance(value[0], str)))


def _in_object(value: Json, role: str) -> Iterator[LoggedMessage]:
    if "role" in value or value.get("type") in _ROLES or _type(value) in ("message", *_CALLS[:2]):
        yield from _message(value, role)
    elif _type(value) in ("function_call_output", *_RESULTS):
        yield LoggedMessage(TOOL, answers=(_answer(value, value),))
    elif isinstance(value.get("args"), list):
        yield from (message for one in value["args"][:1] for message in read_messages(one, role))
    elif wrapper := next((name for name in _WRAPPERS if _are_messages(value.get(name))), ""):
        config = value.get("config")
        instruction = first_present(value, "instructions", "system_instruction", "systemInstruction")
        instruction = instruction or (config.get("system_instruction") if isinstance(config, dict) else None)
        if isinstance(instruction, str) and instruction.strip():
            yield LoggedMessage(SYSTEM, instruction.strip())
        yield from read_messages(value[wrapper], ASSISTANT if wrapper in ("choices", "candidates", "output") else role)
    elif isinstance(value.get("parts"), list) or "content" in value or "text" in value:
        yield from _message(value, role)


def _message(value: Json, role: str) -> Iterator[LoggedMessage]:
    speaker = _ROLES.get(str(value.get("role") or value.get("type") or "").lower(), role)
    if isinstance(value.get("content"), dict) and isinstance(value["content"].get("parts"), list):
        value = {**value, **value["content"]}
        speaker = _ROLES.get(str(value.get("role") or "").lower(), speaker)
    if _type(value) in _CALLS[:2]:
        yield LoggedMessage(ASSISTANT, calls=(_call(value),))
        return
    content = first_present(value, "parts", "content", "text", "contents")
    parts = objects_in(content)
    # One library writes the calls themselves in the tool's name.
    speaker = ASSISTANT if speaker == TOOL and parts and all(map(_is_call, parts)) else speaker
    if speaker == TOOL and not any(_type(part) in _RESULTS or _response(part) for part in parts):
        if _declaration(content) is None:
            yield LoggedMessage(TOOL, answers=(_answer(value, {"content": content}),))
        return
    extra: Any = value.get("additional_kwargs")
    extra = extra.get("tool_calls") if isinstance(extra, dict) else None
    raw_calls = [part for part in parts if _is_call(part)] + (objects_in(value.get("tool_calls")) or objects_in(extra))
    calls = tuple(_call(one) for one in raw_calls)
    answers = tuple(_answer({**value, **part}, part) for part in parts if _type(part) in _RESULTS or _response(part))
    yield LoggedMessage(speaker, _text(content), calls if speaker == ASSISTANT else (), answers)


def _type(part: Json) -> str:
    return str(part.get("type") or "").lower()


def _is_call(part: Json) -> bool:
    return _type(part) in _CALLS or first_present(part, "function_call", "functionCall") is not None


def _response(part: Json) -> Json | None:
    response = first_present(part, "function_response", "functionResponse")
    return response if isinstance(response, dict) else None


def _text(content: Any) -> str:
    """The text of a content; parts that are not text are skipped."""
    if isinstance(content, str):
        return content.strip()
    texts = [
        first_present(part, "text", "content")
        for part in objects_in(content)
        if (_type(part) in ("", "text", "output_text", "input_text") and not part.get("thought"))
    ]
    return "\n".join(text.strip() for text in texts if isinstance(text, str) and text.strip())


def _call(raw: Json) -> LoggedToolCall:
    inner = first_present(raw, "tool_call", "function_call", "functionCall")
    whole: Json = {**raw, **inner} if isinstance(inner, dict) else raw
    function = whole.get("function")
    named: Json = function if isinstance(function, dict) else whole
    arguments = arguments_of(first_present(named, "arguments", "args", "input"))
    return LoggedToolCall(
        _id(first_present(whole, "tool_call_id", "call_id", "id")), str(named.get("name") or ""), arguments
    )


def _answer(value: Json, part: Json) -> LoggedToolResult:
    response = _response(part)
    if response is not None:
        return LoggedToolResult(_id(response.get("id")), str(response.get("name") or ""), response.get("response"))
    content = next(
        (part[name] for name in ("tool_result", "response", "output", "content", "result") if name in part), None
    )
    return LoggedToolResult(
        _id(first_present(value, "tool_call_id", "call_id", "id")), str(value.get("name") or ""), content
    )


def _id(raw: Any) -> str:
    """The id of a call. Some libraries write the run's id and the call's together; the last is the call's."""
    raw = decode_value(raw) if isinstance(raw, str) and raw.startswith("[") else raw
    if isinstance(raw, list):
        raw = raw[-1] if raw else ""
    return raw if isinstance(raw, str) else "" if raw is None or raw is UNREADABLE else str(raw)


def _declaration(content: Any) -> Json | None:
    """A tool declaration in the place of a message."""
    function = content.get("function") if isinstance(content, dict) else None
    return function if isinstance(function, dict) and "parameters" in function else None


def tools_in(declarations: Any) -> tuple[Tool, ...] | None:
    """The tools in a list of declarations, plain or wrapped; None where there are none."""
    tools: dict[str, Tool] = {}
    for one in objects_in(decode_value(declarations)):
        inner = first_present(one, "function", "tool")
        named: Json = inner if isinstance(inner, dict) else one
        if isinstance(named.get("name"), str) and named["name"].strip():
            parameters = first_present(named, "parameters", "input_schema", "parameters_json_schema")
            tools[named["name"]] = Tool(
                name=named["name"],
                description=str(named.get("description") or ""),
                parameters=parameters if isinstance(parameters, dict) else None,
            )
    return tuple(tools.values()) or None


def declared_tools(request: Any) -> list[Any]:
    """The tool declarations among a request's messages, in its `tools`, or in the configuration of a Gemini request."""
    value = decode_value(request)
    if isinstance(value, list):
        return [one.get("content") for one in objects_in(value) if _declaration(one.get("content")) is not None]
    if not isinstance(value, dict):
        return []
    config = value.get("config")
    tools = objects_in(value.get("tools")) or objects_in(config.get("tools") if isinstance(config, dict) else None)
    return [one for tool in tools for one in objects_in(tool.get("function_declarations")) or [tool]]


def match_results(messages: Sequence[LoggedMessage]) -> list[LoggedMessage]:
    """Gives results without an id to the earliest call that waits for one; where none waits, they are dropped."""
    waiting: list[LoggedToolCall] = []
    matched: list[LoggedMessage] = []
    for message in messages:
        waiting += message.calls
        answers: list[LoggedToolResult] = []
        for answer in message.answers:
            fitting = (
                call
                for call in waiting
                if (answer.id == call.id if answer.id and call.id else not answer.name or answer.name == call.name)
            )
            call = next(fitting, None)
            if call is not None:
                waiting.remove(call)
                answers.append(LoggedToolResult(answer.id or call.id, answer.name or call.name, answer.content))
            elif answer.id or answer.name:
                answers.append(answer)
        matched.append(structs.replace(message, answers=tuple(answers)))
    return [message for message in matched if not message.empty]


def transcript_messages(messages: Sequence[LoggedMessage]) -> tuple[Message, ...]:
    """The messages of a Transcript, with each result at its call."""
    events: list[Json] = []
    for message in match_results(messages):
        parts: list[Json] = [{"text": message.text}] if message.text else []
        calls = [{"id": call.id, "name": call.name, "args": call.arguments} for call in message.calls]
        parts += [{"functionCall": call} for call in calls]
        for answer in message.answers:
            texts, content = [one.get("text") for one in objects_in(answer.content)], answer.content
            if texts and all(isinstance(text, str) for text in texts):
                content = "\n".join(map(str, texts))
            parts.append({"functionResponse": {"id": answer.id, "name": answer.name, "response": content}})
        author = message.agent or (ASSISTANT if message.role == TOOL else message.role)
        events.append({"author": author, "content": {"parts": parts}})
    return log_from_events(events).messages
