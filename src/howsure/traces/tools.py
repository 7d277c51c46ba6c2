"""Calls of tools, each once: a call and its response may be one span or two, and wrappers repeat both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from howsure.traces import names
from howsure.traces.kinds import Kind, agent_name, tool_name
from howsure.traces.tree import Tree
from howsure.traces.values import UNREADABLE, Notes, decoded, present
from howsure.traces.views import Outcome, ToolUse

#: The spans between which a wrapper and what it wraps are not looked for: an agent used as a tool calls its own.
BOUNDARIES = (Kind.TOOL, Kind.TOOL_RESPONSE, Kind.AGENT, Kind.INVOCATION, Kind.LLM)
#: Keys under which frameworks wrap what the tool itself returned.
WRAPPINGS = ("result", "response", "output")


def tool_uses(tree: Tree, notes: Notes) -> list[ToolUse]:
    """Every call of a tool, in order."""
    calls: list[ToolUse] = []
    owners: dict[int, int] = {}
    lone: list[ToolUse] = []
    for place in tree.of_kind(Kind.TOOL, Kind.TOOL_RESPONSE):
        use = _use(tree, place, notes)
        around = tree.nearest(place, *BOUNDARIES)
        if around in owners and _same_call(calls[owners[around]], use):
            owners[place] = owners[around]
            calls[owners[around]] = _merged(calls[owners[around]], use)
        elif tree.kinds[place] is Kind.TOOL_RESPONSE or _answers_only(use):
            lone.append(use)
        else:
            owners[place] = len(calls)
            calls.append(use)
    return _in_order(_paired(calls, lone))


def _in_order(uses: list[ToolUse]) -> list[ToolUse]:
    if any(use.start_ns is None for use in uses):
        return uses
    return sorted(uses, key=lambda use: use.start_ns or 0)


def _paired(calls: list[ToolUse], responses: list[ToolUse]) -> list[ToolUse]:
    """Each response with its call: the one with its id, else the first of its name that still waits for one."""
    for response in responses:
        waiting = [place for place, call in enumerate(calls) if call.outcome is Outcome.NO_RESPONSE]
        place = next(
            (place for place in waiting if response.call_id and calls[place].call_id == response.call_id), None
        )
        if place is None:
            place = next((place for place in waiting if _same_call(calls[place], response)), None)
        if place is None:
            calls.append(replace(response, name=response.name or "tool_response"))
        else:
            calls[place] = _merged(calls[place], response)
    return calls


def _same_call(call: ToolUse, other: ToolUse) -> bool:
    """Same tool (a response may leave its name out), and no two ids that differ."""
    return other.name in (call.name, "") and (not call.call_id or not other.call_id or call.call_id == other.call_id)


def _answers_only(use: ToolUse) -> bool:
    return use.arguments is None and (use.response is not None or use.outcome is Outcome.UNREADABLE)


def _merged(call: ToolUse, other: ToolUse) -> ToolUse:
    answered = call if call.outcome is not Outcome.NO_RESPONSE else other
    # A failure that either span reports is a failure.
    outcome = Outcome.FAILED if call.failed or other.failed else answered.outcome
    return replace(
        call,
        call_id=call.call_id or other.call_id,
        arguments=other.arguments if call.arguments is None else call.arguments,
        response=answered.response,
        outcome=outcome,
        end_ns=max((end for end in (call.end_ns, other.end_ns) if end is not None), default=None),
        spans=call.spans + other.spans,
    )


def _use(tree: Tree, place: int, notes: Notes) -> ToolUse:
    span = tree.spans[place]
    agent = tree.nearest(place, Kind.AGENT)
    arguments = _read(span.attributes, names.ARGUMENTS, tree.title(place), notes)
    response = _read(span.attributes, names.RESPONSES, tree.title(place), notes)
    if arguments is UNREADABLE:
        # They were there all the same: the span is a call, not a response.
        arguments = span.attributes[present(span.attributes, names.ARGUMENTS) or ""]
    return ToolUse(
        name="" if span.name == tool_name(span) and tree.kinds[place] is Kind.TOOL_RESPONSE else tool_name(span),
        call_id=_call_id(span.attributes),
        arguments=arguments,
        response=None if response is UNREADABLE else response,
        outcome=_outcome(span.attributes, response),
        agent="" if agent is None else agent_name(tree.spans[agent]),
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        spans=(span.span_id or span.name,),
    )


def _read(attributes: Mapping[str, Any], spellings: tuple[str, ...], span: str, notes: Notes) -> Any:
    """The value under the first spelling that has one, decoded; UNREADABLE (and noted) where it is broken."""
    name = present(attributes, spellings)
    value = decoded(attributes[name]) if name else None
    if value == names.NOT_SPECIFIED or value == {"result": names.NOT_SPECIFIED}:
        return None
    # ADK writes JSON here and nothing else: text that is none was cut off or garbled.
    if value is UNREADABLE or (name == names.TOOL_RESPONSE and isinstance(value, str)):
        notes.add("unreadable_json", "is not JSON", span, name or "", attributes[name or ""])
        return UNREADABLE
    return value


def _call_id(attributes: Mapping[str, Any]) -> str:
    """Some libraries write the id of the run and that of the call together: the last is the call's."""
    value = decoded(attributes.get(present(attributes, names.CALL_IDS) or ""))
    if isinstance(value, list) and value:
        value = value[-1]
    return value if isinstance(value, str) else "" if value is None or value is UNREADABLE else str(value)


def _outcome(attributes: Mapping[str, Any], response: Any) -> Outcome:
    if present(attributes, names.ERRORS) or _status(attributes) == "ERROR":
        return Outcome.FAILED
    if response is UNREADABLE:
        return Outcome.UNREADABLE
    if response is None:
        return Outcome.NO_RESPONSE
    return Outcome.FAILED if says_error(response) else Outcome.SUCCEEDED


def _status(attributes: Mapping[str, Any]) -> str:
    value = attributes.get(present(attributes, names.STATUSES) or "")
    return str(value).upper().removeprefix("STATUS_CODE_")


def says_error(response: Any, depth: int = 2) -> bool:
    """Whether a tool's response reports an error: status "error", something in `error`, or the mark that MCP sets."""
    if isinstance(response, str) and response.lstrip()[:1] == "{":
        response = decoded(response)
    if not isinstance(response, Mapping):
        return False
    if str(response.get("status") or "").lower() == "error" or response.get("isError") is True:
        return True
    if any(response.get(key) not in (None, "", False, [], {}, 0) for key in ("error", "error_message")):
        return True
    return depth > 0 and any(says_error(response.get(key), depth - 1) for key in WRAPPINGS)
