"""The tools and the instructions of an agent, if the spans of its model calls have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from howsure.model.transcript import Span, Tool
from howsure.traces.values import decode_value, pick_value

DEFINITIONS = "gen_ai.tool.definitions"
INSTRUCTIONS = "gen_ai.system_instructions"


def declared_tools(spans: Sequence[Span] | None) -> tuple[Tool, ...] | None:
    """The tools of all agents, each once; None: nothing tells of them. One whose parameters differ from agent to agent
    is there with each; spans that leave out the parameters add nothing to those that tell them."""
    lists = [_objects(span.attributes.get(DEFINITIONS)) for span in spans or () if DEFINITIONS in span.attributes]
    tools: dict[str, list[Tool]] = {}
    for one in (each for found in lists for each in found):
        inner = one.get("function")
        own = inner if isinstance(inner, Mapping) else one
        name, parameters = str(own.get("name") or ""), own.get("parameters")
        known = dict(parameters) if isinstance(parameters, Mapping) else None
        others = tools.setdefault(name, [])
        if all(known is not None and known != other.parameters for other in others):
            others.append(Tool(name=name, description=str(own.get("description") or ""), parameters=known))
    return tuple(tool for name, each in tools.items() if name for tool in _with_parameters(each)) if lists else None


def _with_parameters(tools: Sequence[Tool]) -> Sequence[Tool]:
    return [tool for tool in tools if tool.parameters is not None] or tools


def declared_instructions(spans: Sequence[Span] | None) -> str:
    """The instructions of the agents, each once; "" where nothing tells of them."""
    texts = (
        str(text)
        for span in spans or ()
        for part in _objects(span.attributes.get(INSTRUCTIONS))
        if (text := pick_value(part, "content", "text"))
    )
    return "\n\n".join(dict.fromkeys(texts))


def _objects(value: Any) -> list[Mapping[str, Any]]:
    found = decode_value(value)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list | tuple) else []
