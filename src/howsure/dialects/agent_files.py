"""Agent files: the BotContext of the evaluation API as JSON (prompt, tools, knowledge bases, model, harness), read
strictly and written back. Not a dialect: they hold no cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from howsure.dialects.documents import JsonDocument
from howsure.dialects.extras import KEY as UNKNOWN
from howsure.dialects.extras import restore_unknown, separate_unknown
from howsure.dialects.problems import SchemaChecker, Spot
from howsure.dialects.reference_data import TEXT
from howsure.dialects.strict_json import Json, head_keys
from howsure.errors import DatasetInvalid, Level, Problem
from howsure.model.agent import Agent, AgentModel, AgentTool, KnowledgeBase

Warn = Callable[[Problem], object]

_LOOSE: Json = {"type": ["string", "null"]}
_TOOL: Json = {
    "type": "object",
    "required": ["tool_name"],
    "properties": {
        "id": _LOOSE,
        "name": _LOOSE,
        "tool_name": TEXT,
        "type": _LOOSE,
        "description": _LOOSE,
        "output_instructions": _LOOSE,
    },
}
_BASE: Json = {
    "type": "object",
    "required": ["id", "name"],
    "properties": {
        "id": TEXT,
        "name": TEXT,
        "type": _LOOSE,
        "document_count": {"type": ["integer", "null"], "minimum": 0},
    },
}
_MODEL: Json = {
    "type": ["object", "null"],
    "properties": {"provider": _LOOSE, "model": _LOOSE, "parameters": {"type": ["object", "null"]}},
}
SCHEMA: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "An agent (BotContext)",
    "type": "object",
    "required": ["bot_id", "bot_name"],
    "properties": {
        "bot_id": TEXT,
        "bot_name": TEXT,
        "organization_id": _LOOSE,
        "organization_name": _LOOSE,
        "system_prompt": _LOOSE,
        "llm_config": _MODEL,
        "tools": {"type": ["array", "null"], "items": _TOOL},
        "knowledge_bases": {"type": ["array", "null"], "items": _BASE},
        "harness_context": {"type": ["object", "null"]},
    },
}
_SHAPE = SchemaChecker(SCHEMA)


def is_agent(path: Path, head: bytes) -> bool:
    """Whether the file is a BotContext, judged by its first bytes."""
    return "bot_id" in head_keys(head)


def read_agent(path: Path, warn: Warn | None = None) -> Agent:
    """The agent, or DatasetInvalid with every problem. `warn` gets the warnings: unknown fields, repeated tools."""
    document = JsonDocument(path)
    problems = [*document.problems, *_problems(document)]
    errors = [problem for problem in problems if problem.level is Level.ERROR]
    if errors or document.value is None:
        raise DatasetInvalid(str(path), errors)
    value = {**document.value, "tools": _distinct(document.value.get("tools") or ())}
    unknown = separate_unknown(value, SCHEMA, document.spot)
    if warn:
        for problem in [*problems, *unknown.warnings]:
            warn(problem)
    return _agent(value, unknown.kept)


def _problems(document: JsonDocument) -> Iterator[Problem]:
    if document.value is None:
        return
    yield from _SHAPE.problems(document.value, document.spot)
    seen: dict[tuple[str, str], Spot] = {}
    for spot, tool in document.elements("tools"):
        if isinstance(tool, dict) and seen.setdefault(_key(tool), spot) != spot:
            name, first = tool.get("tool_name"), seen[_key(tool)]
            message = f"the tool {name!r} is listed already (`{first.prefix}`); it counts once"
            yield spot.warning("duplicate-tool", message, hint="the first one is used")


def _key(tool: Json) -> tuple[str, str]:
    return str(tool.get("id") or ""), str(tool.get("tool_name"))


def _distinct(tools: Any) -> list[Json]:
    """Each tool once; the service that writes these files repeats them."""
    first: dict[tuple[str, str], Json] = {}
    for tool in tools:
        first.setdefault(_key(tool), tool)
    return list(first.values())


def _agent(value: Json, unknown: Json) -> Agent:
    return Agent(
        id=value["bot_id"],
        name=value["bot_name"],
        organization_id=value.get("organization_id") or "",
        organization_name=value.get("organization_name") or "",
        system_prompt=value.get("system_prompt") or "",
        model=_model(value.get("llm_config")),
        tools=tuple(
            AgentTool(**{name: tool.get(name) or "" for name in _TOOL["properties"]}) for tool in value["tools"]
        ),
        knowledge_bases=tuple(_knowledge_base(base) for base in value.get("knowledge_bases") or ()),
        harness=value.get("harness_context"),
        metadata={UNKNOWN: unknown} if unknown else {},
    )


def _model(config: Json | None) -> AgentModel | None:
    if config is None:
        return None
    return AgentModel(
        provider=config.get("provider") or "",
        model=config.get("model") or "",
        parameters=config.get("parameters") or {},
    )


def _knowledge_base(raw: Json) -> KnowledgeBase:
    count = raw.get("document_count")
    return KnowledgeBase(
        id=raw["id"],
        name=raw["name"],
        type=raw.get("type") or "",
        document_count=None if count is None else int(count),
    )


def agent_document(agent: Agent) -> Json:
    """The agent as a BotContext."""
    model = agent.model
    document: Json = {
        "bot_id": agent.id,
        "bot_name": agent.name,
        "organization_id": agent.organization_id,
        "organization_name": agent.organization_name,
        "system_prompt": agent.system_prompt,
        "llm_config": model and {"provider": model.provider, "model": model.model, "parameters": model.parameters},
        "tools": [{name: getattr(tool, name) for name in _TOOL["properties"]} for tool in agent.tools],
        "knowledge_bases": [
            {name: getattr(base, name) for name in _BASE["properties"]} for base in agent.knowledge_bases
        ],
        "harness_context": agent.harness,
    }
    restore_unknown(document, agent.metadata.get(UNKNOWN, {}))
    return document
