"""Events of the Agent Development Kit, as plain data, read into replies. Servers write camelCase and drop nulls; files
and runners write snake_case and keep them: both are read. No I/O here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from howsure.errors import TargetFailed
from howsure.model.transcript import Message, Role, Span, ToolCall
from howsure.targets.base import Reply
from howsure.targets.turns import TurnBuilder, tool_arguments, tool_result
from howsure.traces.names import LLM_RESPONSE
from howsure.traces.usage import read_usage
from howsure.traces.values import TraceProblems, pick_value, read_count

Event = Mapping[str, Any]

USER = "user"
PRIVATE = frozenset({"__llm_request_key__"})
"""Keys that ADK keeps in the state for itself."""
CODE = "code_execution"
"""The tool name for code that the model ran."""
NO_ERRORS = frozenset({"", "STOP", "FINISH_REASON_UNSPECIFIED"})
"""Older versions report an empty answer with one of these as its error code."""


def earlier_events(earlier: Iterable[Message], agent: str) -> list[dict[str, Any]]:
    """An earlier conversation as events, with `agent` as the author of the assistant's messages. ADK has no system
    events."""
    return [
        {
            "author": USER if message.role is Role.USER else agent,
            "invocation_id": "earlier",
            "content": {"role": USER if message.role is Role.USER else "model", "parts": [{"text": message.content}]},
        }
        for message in earlier
        if message.role is not Role.SYSTEM
    ]


def read_reply(events: Sequence[Event]) -> Reply:
    """One turn: the messages and calls of each agent, in order, with results and tokens. An error that no agent
    recovered from raises `TargetFailed`."""
    _check(events)
    turn = TurnBuilder()
    fragments: dict[str, str] = {}
    for at, event in enumerate(events):
        author = str(event.get("author") or "")
        if author == USER:
            continue
        text = _text(event)
        if event.get("partial"):
            fragments[author] = fragments.get(author, "") + text
            continue
        if text:
            fragments.pop(author, None)
        turn.add_message(text, author, _calls(event))
        for part in _parts(event):
            if response := pick_value(part, "function_response", "functionResponse"):
                name = str(response.get("name") or "")
                turn.add_result(str(response.get("id") or ""), name, tool_result(response.get("response")))
            if outcome := pick_value(part, "code_execution_result", "codeExecutionResult"):
                failed = outcome.get("outcome") not in (None, "OUTCOME_OK")
                turn.add_result(str(outcome.get("id") or ""), CODE, tool_result(outcome.get("output"), failed))
        turn.add_usage(read_usage({LLM_RESPONSE: event}, "", TraceProblems()))
        agent = pick_value(event.get("actions"), "transfer_to_agent", "transferToAgent")
        if isinstance(agent, str) and not any(later.get("author") == agent for later in events[at + 1 :]):
            turn.add_handoff(agent)
    for author, text in fragments.items():
        # The stream ended before the whole message came: the pieces are all there is.
        turn.add_message(text, author)
    return turn.reply()


def _parts(event: Event) -> Iterator[Mapping[str, Any]]:
    parts = pick_value(event.get("content"), "parts")
    return (part for part in parts if isinstance(part, Mapping)) if isinstance(parts, list | tuple) else iter(())


def _text(event: Event) -> str:
    """The text for the user, without the model's thoughts."""
    return "".join(str(part["text"]) for part in _parts(event) if part.get("text") and not part.get("thought"))


def _calls(event: Event) -> Iterator[ToolCall]:
    for part in _parts(event):
        if call := pick_value(part, "function_call", "functionCall"):
            arguments = tool_arguments(call.get("args"))
            yield ToolCall(name=str(call.get("name") or ""), arguments=arguments, id=str(call.get("id") or ""))
        if code := pick_value(part, "executable_code", "executableCode"):
            arguments = {name: code[name] for name in ("language", "code") if code.get(name) is not None}
            yield ToolCall(name=CODE, arguments=arguments, id=str(code.get("id") or ""))


def _check(events: Sequence[Event]) -> None:
    """Raise the last error, unless a message followed it: agents may try again by themselves."""
    error = ""
    for event in events:
        if "error" in event and "author" not in event:
            error = f"the ADK server broke off: {event['error']}"
            continue
        code = str(pick_value(event, "error_code", "errorCode") or "")
        message = str(pick_value(event, "error_message", "errorMessage") or "")
        if code not in NO_ERRORS or message:
            agent = f"agent {event['author']!r}" if event.get("author") else "the agent"
            error = f"{agent} reported an error: {': '.join(part for part in (code, message) if part)}"
        elif _text(event) and event.get("author") != USER and not event.get("partial"):
            error = ""
    if error:
        raise TargetFailed(error)


def read_state(session: Any) -> dict[str, Any] | None:
    """The session's state, with its `app:` and `user:` keys and without what ADK keeps for itself."""
    state = pick_value(session, "state")
    if not isinstance(state, Mapping):
        return None
    return {name: value for name, value in state.items() if name not in PRIVATE}


def read_spans(value: Any) -> tuple[Span, ...] | None:
    """The spans of a session from the trace endpoint; None: it has none."""
    spans = [_span(span) for span in value if isinstance(span, Mapping)] if isinstance(value, list | tuple) else []
    return tuple(spans) or None


def _span(span: Mapping[str, Any]) -> Span:
    # Newer versions write prompts and answers into logs under the span, older ones on the span itself.
    attributes: dict[str, Any] = {}
    for holder in (*(span.get("logs") or ()), span):
        own = pick_value(holder, "attributes")
        attributes.update(own if isinstance(own, Mapping) else {})
    return Span(
        name=str(span.get("name") or ""),
        span_id=_hex(pick_value(span, "span_id", "spanId"), 16),
        trace_id=_hex(pick_value(span, "trace_id", "traceId"), 32),
        parent_id=_hex(pick_value(span, "parent_span_id", "parentSpanId"), 16),
        start_ns=read_count(pick_value(span, "start_time", "startTime")),
        end_ns=read_count(pick_value(span, "end_time", "endTime")),
        attributes=attributes,
    )


def _hex(number: Any, digits: int) -> str:
    """An id as OpenTelemetry prints it; the endpoint gives numbers."""
    return f"{number:0{digits}x}" if isinstance(number, int) else str(number or "")
