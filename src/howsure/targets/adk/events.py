"""Events of the Agent Development Kit, as plain data, read into replies, whichever way they came: from an agent in this
process or from a server. Servers write camelCase and drop nulls; files and runners write snake_case and keep them: both
are read. No I/O here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from howsure.errors import TargetFailed
from howsure.model.flag import NO_ANSWER, Flag
from howsure.model.transcript import CODE_EXECUTION, Message, Role, ToolCall
from howsure.targets.base import Reply
from howsure.targets.turns import TurnBuilder, tool_call
from howsure.traces.names import LLM_RESPONSE
from howsure.traces.usage import read_usage
from howsure.traces.values import TraceProblems, pick_value

Event = Mapping[str, Any]

USER = "user"
PRIVATE = frozenset({"__llm_request_key__"})
"""Keys that ADK keeps in the state for itself."""
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
        author = author_of(event)
        for response in function_parts(event, "response"):
            turn.add_result(response.get("id"), response.get("name"), response.get("response"))
        if not author:
            continue
        text = _text(event)
        if event.get("partial"):
            fragments[author] = fragments.get(author, "") + text
            continue
        if text:
            fragments.pop(author, None)
        # Code that the provider ran for the model stands before the words, which are an answer with it or without.
        turn.add_message("", author, _code_runs(event))
        turn.add_message(text, author, _calls(event))
        if is_silent(event):
            turn.add_handoff(author)
        for part in _parts(event):
            if outcome := _object(part, "code_execution_result", "codeExecutionResult"):
                failed = outcome.get("outcome") not in (None, "OUTCOME_OK")
                turn.add_result(outcome.get("id"), CODE_EXECUTION, outcome.get("output"), failed)
        turn.add_usage(read_usage({LLM_RESPONSE: event}, "", TraceProblems()))
        agent = pick_value(event.get("actions"), "transfer_to_agent", "transferToAgent")
        if isinstance(agent, str) and not any(later.get("author") == agent for later in events[at + 1 :]):
            turn.add_handoff(agent)
    for author, text in fragments.items():
        # The stream ended before the whole message came: the pieces are all there is.
        turn.add_message(text, author)
    reply = turn.reply()
    return replace(reply, flags=tuple(_silence(events)))


def author_of(event: Event) -> str:
    """The agent that the event is of; "" for one of the user."""
    author = str(event.get("author") or "")
    return "" if author == USER else author


def function_parts(event: Event, kind: str) -> Iterator[Mapping[str, Any]]:
    """The function calls (`call`) or the results of functions (`response`) in an event."""
    for part in _parts(event):
        if found := _object(part, f"function_{kind}", f"function{kind.title()}"):
            yield found


def has_content(event: Event) -> bool:
    return any(True for _ in _parts(event))


def is_silent(event: Event) -> bool:
    """Whether the model answered without words and without a call: with an image, an empty text, or nothing."""
    if _text(event) or any(map(_acts, _parts(event))):
        return False
    counted = pick_value(event, "usage_metadata", "usageMetadata", "model_version", "modelVersion")
    return has_content(event) or counted is not None


ACTIONS = tuple(
    spelling
    for words in (
        ("function", "call"),
        ("function", "response"),
        ("executable", "code"),
        ("code", "execution", "result"),
    )
    for spelling in ("_".join(words), words[0] + "".join(word.title() for word in words[1:]))
)


def _acts(part: Mapping[str, Any]) -> bool:
    return pick_value(part, *ACTIONS) is not None


def _silence(events: Sequence[Event]) -> Iterator[Flag]:
    """That the turn ended without a word to the user."""
    own = [event for event in events if author_of(event) and (has_content(event) or is_silent(event))]
    spoken = any(_text(event) and not any(function_parts(event, "call")) for event in own)
    if spoken or (own and any(map(_acts, _parts(own[-1])))):
        return
    data = [found for part in _parts(own[-1] if own else {}) if (found := _data(part))]
    kinds = dict.fromkeys(str(pick_value(each, "mime_type", "mimeType") or "data") for each in data)
    who = f"the agent {author_of(own[-1])!r}" if own else "the agent"
    yield Flag(NO_ANSWER, f"{who} answered with {', '.join(kinds)} and no text" if kinds else f"{who} said nothing")


def _data(part: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return _object(part, "inline_data", "inlineData", "file_data", "fileData")


def _parts(event: Event) -> Iterator[Mapping[str, Any]]:
    parts = pick_value(event.get("content"), "parts")
    return (part for part in parts if isinstance(part, Mapping)) if isinstance(parts, list | tuple) else iter(())


def _object(part: Mapping[str, Any], *names: str) -> Mapping[str, Any] | None:
    value = pick_value(part, *names)
    return value if isinstance(value, Mapping) else None


def _text(event: Event) -> str:
    """The text for the user, without the model's thoughts. Parts that no space parts are lines, as in ADK."""
    text = ""
    for part in _parts(event):
        if part.get("text") and not part.get("thought"):
            more = str(part["text"])
            is_parted = not text or text[-1].isspace() or more[0].isspace() or event.get("partial")
            text += more if is_parted else f"\n{more}"
    return text


def _calls(event: Event) -> Iterator[ToolCall]:
    for part in _parts(event):
        if call := _object(part, "function_call", "functionCall"):
            yield tool_call(str(call.get("name") or ""), call.get("args"), call.get("id"))


def _code_runs(event: Event) -> Iterator[ToolCall]:
    for part in _parts(event):
        if code := _object(part, "executable_code", "executableCode"):
            arguments = {name: code[name] for name in ("language", "code") if code.get(name) is not None}
            yield tool_call(CODE_EXECUTION, arguments, code.get("id"))


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


def written_state(events: Iterable[Event]) -> dict[str, Any]:
    """The last value of each variable that agents and tools wrote."""
    written: dict[str, Any] = {}
    for event in events:
        delta = pick_value(event.get("actions"), "state_delta", "stateDelta")
        written |= delta if isinstance(delta, Mapping) else {}
    return written


def without_others(state: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """A session's state with the `app:` variables of this conversation alone, as it left them: a server shares them
    between all sessions."""
    mine = {name: value for name, value in own.items() if name.startswith(SHARED) and value is not None}
    return {name: value for name, value in state.items() if not name.startswith(SHARED)} | mine


def read_artifacts(events: Iterable[Event]) -> dict[str, int]:
    """The files that were saved, with the number of the last version of each."""
    saved: dict[str, int] = {}
    for event in events:
        delta = pick_value(event.get("actions"), "artifact_delta", "artifactDelta")
        if isinstance(delta, Mapping):
            saved |= {str(name): version for name, version in delta.items() if isinstance(version, int)}
    return saved


SHARED = "app:"
TEMPORARY = "temp:"
"""The prefix of state that ADK keeps for one invocation: it goes along with each turn."""


def temporary_state(state: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in state.items() if name.startswith(TEMPORARY)}


def lasting_state(state: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in state.items() if not name.startswith(TEMPORARY)}
