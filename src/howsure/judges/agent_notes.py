"""The agent in words: what it is told, what it has, how it is run, and, without their output, which sources it used."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from howsure.judges.quoting import prefixed
from howsure.judges.turns import compact, name_of
from howsure.model.agent import Agent
from howsure.model.case import Case
from howsure.model.transcript import ToolCall, Transcript

NO_TOOLS = "(the agent has no tools)"
NOTHING_USED = "(no tool and no knowledge base was used)"

# How tools that search call the list of what they found.
_FOUND = ("documents", "results", "chunks", "sources", "passages", "articles", "hits", "matches", "snippets")
# `rag` stands in storage and average, too.
_SEARCHING = re.compile(r"retriev|knowledge|search|faq|(?<![a-z])rag(?![a-z])")


def agent_notes(agent: Agent | None) -> str:
    """What a judge of standing rules knows of the agent."""
    return "\n".join(_notes(agent)) if agent else ""


def available_tools(case: Case, agent: Agent | None) -> str:
    """The tools that could be called: those of the case, else the agent's; never those that happened to be called."""
    if case.tools is not None:
        described = [_tool(tool.name, tool.description, tool.parameters) for tool in case.tools]
    elif agent is not None:
        described = [_tool(tool.tool_name, tool.description, None) for tool in agent.tools]
    else:
        return ""
    return "\n".join(described) or NO_TOOLS


def source_notes(transcript: Transcript, agent: Agent | None) -> str:
    """Which tools were used and how much they found: enough to ask whether a claim has a source, and no more."""
    kinds = {tool.tool_name: tool.type for tool in agent.tools} if agent else {}
    grouped: dict[str, list[ToolCall]] = {}
    for call in transcript.tool_calls:
        grouped.setdefault(call.name, []).append(call)
    notes = [_source(name, kinds.get(name, ""), calls) for name, calls in grouped.items()]
    return "\n".join(notes) or NOTHING_USED


def _notes(agent: Agent) -> Iterator[str]:
    yield f"name: {name_of(agent.name)}"
    if agent.system_prompt:
        yield f"its instructions:\n{prefixed(agent.system_prompt)}"
    for tool in agent.tools:
        yield f"tool {_tool(tool.tool_name, tool.description, None)}"
        if tool.output_instructions:
            yield f"what it should do with the output:\n{prefixed(tool.output_instructions)}"
    for base in agent.knowledge_bases:
        count = "" if base.document_count is None else f", {base.document_count} documents"
        yield f"knowledge base {name_of(base.name)}{count}"
    if agent.harness:
        yield "how it is run:"
        yield from (f"{name_of(key)}:\n{prefixed(compact(value))}" for key, value in agent.harness.items())


def _tool(name: str, description: str, parameters: Mapping[str, Any] | None) -> str:
    takes = "" if parameters is None else f"parameters: {compact(parameters)}"
    return "\n".join((name_of(name), *(prefixed(line) for line in (description, takes) if line)))


def _source(name: str, kind: str, calls: list[ToolCall]) -> str:
    searched = _SEARCHING.search(f"{kind} {name}".lower())
    what = "knowledge base searched with" if searched else "tool called:"
    times = "once" if len(calls) == 1 else f"{len(calls)} times"
    notes = [f"{what} {name_of(name)}, {times}"]
    counts = [count for call in calls if call.result and (count := _documents(call.result.content)) is not None]
    if counts:
        notes.append(f"{sum(counts)} {'document' if sum(counts) == 1 else 'documents'} found")
    failed = sum(bool(call.result and call.result.failed) for call in calls)
    silent = sum(call.result is None for call in calls)
    notes += [f"{failed} failed"] * bool(failed) + [f"{silent} without a result"] * bool(silent)
    return ", ".join(notes)


def _documents(content: Any) -> int | None:
    """How many documents a result holds, where it looks like a list of them."""
    if isinstance(content, str) and content[:1] in ("[", "{"):
        try:
            content = json.loads(content)
        except (ValueError, RecursionError):
            return None
    if isinstance(content, list):
        return len(content)
    if isinstance(content, dict):
        return next((len(content[key]) for key in _FOUND if isinstance(content.get(key), list)), None)
    return None
