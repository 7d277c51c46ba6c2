"""Messages of recorded conversations, out of the forms in which simulation rows hold them: session events, extracts of
them, separate traces of agents and tools, or plain contents. Each form becomes the same messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from howsure.dialects.strict_json import Json
from howsure.model.transcript import CODE_EXECUTION, Message, Role, ToolCall, ToolResult

_NOBODY = ("model", "agent", "assistant", "")
"""Authors that name no agent."""
_SAID = (
    *("text", "functionCall", "function_call", "functionResponse", "function_response"),
    *("executableCode", "executable_code", "codeExecutionResult", "code_execution_result"),
)


class ConversationLog(Struct, frozen=True):
    """The messages, and what the source holds beyond them (times, models, tokens, thoughts), event by event."""

    messages: tuple[Message, ...]
    details: list[Json]


class _OpenCall(Struct, eq=False):
    """A call that may still receive its result."""

    name: str
    arguments: Any
    id: str
    result: ToolResult | None = None


class MessageRecorder:
    """Records a conversation in order; results are attached to the calls they answer."""

    def __init__(self) -> None:
        self._messages: list[tuple[Role, str, str, list[_OpenCall]]] = []
        self._open: list[_OpenCall] = []

    def add_message(self, author: str, text: str, calls: Iterable[_OpenCall] = (), *, silent: bool = False) -> None:
        """`silent`: the agent answered, but not in words."""
        open_calls = list(calls)
        if text or open_calls or silent:
            role = {"user": Role.USER, "system": Role.SYSTEM}.get(author, Role.ASSISTANT)
            agent = "" if author in _NOBODY or role is not Role.ASSISTANT else author
            self._messages.append((role, text, agent, open_calls))
            self._open += open_calls

    def add_result(self, author: str, name: str, id: str, result: ToolResult) -> None:
        """Attaches a result to the call with its id, else to the earliest open call of that name. A result without a
        call implies one, with unknown arguments."""
        fitting = (call for call in self._open if (call.id == id if id and call.id else call.name == name))
        call = next(fitting, None)
        if call is None:
            call = _OpenCall(name, {}, id)
            self.add_message(author, "", [call])
        self._open.remove(call)
        call.result = result

    def messages(self) -> tuple[Message, ...]:
        return tuple(
            Message(
                role=role,
                content=text,
                agent=agent,
                tool_calls=tuple(
                    ToolCall(name=call.name, arguments=call.arguments, id=call.id, result=call.result) for call in calls
                ),
            )
            for role, text, agent, calls in self._messages
        )


def log_from_events(events: Sequence[Any]) -> ConversationLog:
    """The log of ADK session events, with keys in either spelling."""
    recorder, details = MessageRecorder(), []
    for place, event in enumerate(events):
        if not isinstance(event, dict) or event.get("partial"):
            continue
        content = event["content"] if isinstance(event.get("content"), dict) else {}
        parts = objects_in(content.get("parts"))
        author = event.get("author") or ("user" if content.get("role") == "user" else "model")
        _record_parts(recorder, str(author), parts)
        beyond = {key: value for key, value in event.items() if key not in ("author", "content")}
        # What the parts hold besides texts and calls: thoughts, data, code.
        others = [
            {key: value for key, value in part.items() if key not in _SAID}
            | ({"text": part.get("text")} if part.get("thought") else {})
            for part in parts
        ]
        if beyond_parts := without_empty(others):
            beyond["parts"] = beyond_parts
        if rest := without_empty(beyond):
            details.append({"event": place, **rest})
    return ConversationLog(recorder.messages(), details)


def _record_parts(recorder: MessageRecorder, author: str, parts: list[Json]) -> None:
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str) and not part.get("thought")]
    open_calls = [
        _OpenCall(str(call.get("name", "")), arguments_of(call.get("args")), _id(call))
        for call in _each(parts, "functionCall", "function_call")
    ]
    # Code that the provider ran for the model stands before the words, which are an answer with it or without.
    code = _each(parts, "executableCode", "executable_code")
    runs = [{name: each[name] for name in ("language", "code") if each.get(name) is not None} for each in code]
    recorder.add_message(
        author, "", [_OpenCall(CODE_EXECUTION, run, _id(each)) for run, each in zip(runs, code, strict=True)]
    )
    # An image, a file, or nothing at all is an answer too: it shows which agent took part.
    silent = author != "user" and any(map(_is_silent, parts))
    recorder.add_message(author, ("" if author == "user" else "\n").join(texts), open_calls, silent=silent)
    for response in _each(parts, "functionResponse", "function_response"):
        content = response["response"] if "response" in response else response.get("content")
        result = result_of(content, response.get("failed"))
        recorder.add_result(author, str(response.get("name", "")), _id(response), result)
    for outcome in _each(parts, "codeExecutionResult", "code_execution_result"):
        result = ToolResult(content=outcome.get("output"), failed=outcome.get("outcome") not in (None, "OUTCOME_OK"))
        recorder.add_result(author, CODE_EXECUTION, _id(outcome), result)


def _each(parts: list[Json], *names: str) -> list[Json]:
    return objects_in([first_present(part, *names) for part in parts])


def _is_silent(part: Json) -> bool:
    """An empty text, or something that is no text: neither a thought nor the response of a tool."""
    return part.get("text") == "" or (bool(part) and not part.get("thought") and part.keys().isdisjoint(_SAID))


def log_from_extract(entries: Sequence[Any]) -> ConversationLog:
    """The log of `custom_extract`: one entry an event, with separate texts, calls and responses."""
    recorder, details = MessageRecorder(), []
    for place, entry in enumerate(entries):
        if not isinstance(entry, dict):
            continue
        author = str(entry.get("role") or "model")
        calls = objects_in(entry.get("tool_calls"))
        open_calls = [_OpenCall(str(call.get("name", "")), arguments_of(call.get("args")), _id(call)) for call in calls]
        text = entry.get("content_text")
        recorder.add_message(author, text if isinstance(text, str) else "", open_calls)
        for response in objects_in(entry.get("tool_responses")):
            recorder.add_result(
                author, str(response.get("name", "")), _id(response), result_of(response.get("response"))
            )
        read = ("turn_index", "role", "content_text", "tool_calls", "tool_responses")
        if other := without_empty({key: value for key, value in entry.items() if key not in read}):
            details.append({"event": place, **other})
    return ConversationLog(recorder.messages(), details)


def log_from_traces(turns: Sequence[str], agent_entries: Sequence[Any], interactions: Sequence[Any]) -> ConversationLog:
    """The log of `sub_agent_trace` and `tool_interactions`, which list agents and tools separately: user and agent take
    turns, the calls come before the last message, and the remaining agent texts after the last user turn."""
    recorder = MessageRecorder()
    texts = [entry for entry in agent_entries if isinstance(entry, dict) and _text(entry)]
    calls = [entry for entry in interactions if isinstance(entry, dict) and entry.get("tool_name")]
    before = texts[:-1]
    for place, turn in enumerate(turns, 1):
        recorder.add_message("user", turn)
        for entry in before[place - 1 : place if place < len(turns) else None]:
            recorder.add_message(_name(entry), _text(entry))
    for call in calls:
        id, arguments = str(call.get("call_id") or ""), arguments_of(call.get("input_arguments"))
        open_call = _OpenCall(str(call["tool_name"]), arguments, id)
        recorder.add_message("model", "", [open_call])
        if call.get("status") != "no_response":
            recorder.add_result("model", open_call.name, id, result_of(call.get("output_result")))
    for entry in texts[-1:]:
        recorder.add_message(_name(entry), _text(entry))
    return ConversationLog(recorder.messages(), [])


def _text(entry: Json) -> str:
    text = first_present(entry, "text_response", "text")
    return text if isinstance(text, str) else ""


def _name(entry: Json) -> str:
    return str(first_present(entry, "agent_name", "name") or "model")


def log_from_contents(contents: Sequence[Any], answer: str | None) -> ConversationLog:
    """The log of `conversation_history` or `request.contents`, and the answer that follows."""
    recorder = MessageRecorder()
    for content in contents:
        if isinstance(content, dict):
            _record_parts(
                recorder, "user" if content.get("role") == "user" else "model", objects_in(content.get("parts"))
            )
    messages = recorder.messages()
    if answer and not (messages and messages[-1] == Message(role=Role.ASSISTANT, content=answer)):
        messages = (*messages, Message(role=Role.ASSISTANT, content=answer))
    return ConversationLog(messages, [])


def log_from_turns(turns: Sequence[str], answer: str | None) -> ConversationLog:
    messages = [Message(role=Role.USER, content=turn) for turn in turns]
    if answer:
        messages.append(Message(role=Role.ASSISTANT, content=answer))
    return ConversationLog(tuple(messages), [])


def events_of(messages: Iterable[Message]) -> Iterator[Json]:
    """The messages as session events, which `log_from_events` turns back into the same messages."""
    for message in messages:
        author = "model" if message.role is Role.ASSISTANT and not message.agent else message.agent
        author = author if message.role is Role.ASSISTANT else message.role.value
        parts: list[Json] = [{"text": message.content}] if message.content or not message.tool_calls else []
        answers: list[Json] = []
        for call in message.tool_calls:
            named = {**({"id": call.id} if call.id else {}), "name": call.name}
            parts.append({"functionCall": {**named, "args": call.arguments}})
            if result := call.result:
                marked = {"failed": result.failed} if result.failed != result_of(result.content).failed else {}
                answers.append({"functionResponse": {**named, "response": result.content, **marked}})
        role = "user" if message.role is Role.USER else "model"
        yield {"author": author, "content": {"role": role, "parts": parts}}
        if answers:
            yield {"author": author, "content": {"role": "user", "parts": answers}}


def shown_columns(messages: Sequence[Message]) -> Json:
    """What readers of the seed's columns find in a row, beside the events that hold it all: what agents said, the
    conversation as plain text, and the calls of tools (a part of `extracted_data`)."""
    spoken = [message for message in messages if message.content]
    return {
        "sub_agent_trace": [
            {"name": message.agent, "text": message.content} for message in spoken if message.role is Role.ASSISTANT
        ],
        "trace_summary": "\n".join(f"{message.agent or message.role.value}: {message.content}" for message in spoken),
        "tool_interactions": [
            {"tool_name": call.name, "input_arguments": call.arguments, "call_id": call.id}
            | ({"output_result": call.result.content} if call.result else {"status": "no_response"})
            for message in messages
            for call in message.tool_calls
        ],
    }


def result_of(content: Any, failed: Any = None) -> ToolResult:
    """The result of a call. It counts as failed with status `error`, or an `error` or `error_message` that is not
    empty."""
    if isinstance(failed, bool):
        return ToolResult(content=content, failed=failed)
    reports_error = isinstance(content, dict) and (
        str(content.get("status")).lower() == "error" or bool(content.get("error") or content.get("error_message"))
    )
    return ToolResult(content=content, failed=reports_error)


def arguments_of(raw: Any) -> Json:
    """The arguments of a call: an object, or the JSON text of one; anything else is kept under `value`."""
    if isinstance(raw, str):
        try:
            raw = msgspec.json.decode(raw)
        except (msgspec.DecodeError, ValueError, RecursionError):
            return {"value": raw}
    if raw is None:
        return {}
    return raw if isinstance(raw, dict) else {"value": raw}


def objects_in(value: Any) -> list[Json]:
    """The objects in a list; none where the value is not a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def first_present(holder: Json, *names: str) -> Any:
    return next((holder[name] for name in names if holder.get(name) is not None), None)


def _id(holder: Json) -> str:
    return str(holder.get("id") or "")


def without_empty(value: Any) -> Any:
    """The value without anything empty in it."""
    if isinstance(value, dict):
        filled = {key: inner for key, raw in value.items() if (inner := without_empty(raw)) is not None}
        return filled or None
    if isinstance(value, list):
        return [inner for raw in value if (inner := without_empty(raw)) is not None] or None
    return None if value == "" else value
