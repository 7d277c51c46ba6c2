"""Agent files: the BotContext of the evaluation API as JSON (prompt, tools, knowledge bases, model, harness), read
strictly and written back. Not a dialect: they hold no cases.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from howsure.dialects.documents import load_object
from howsure.dialects.extras import KEY as UNKNOWN
from howsure.dialects.extras import restore_unknown, separate_unknown
from howsure.dialects.problems import SchemaChecker, Spot
from howsure.dialects.reference_data import LOOSE, TEXT
from howsure.dialects.strict_json import Json, head_keys
from howsure.errors import DatasetInvalid, Level, Problem
from howsure.model.agent import Agent, AgentModel, AgentTool, KnowledgeBase

Warn = Callable[[Problem], object]

_TOOL: Json = {
    "type": "object",
    "required": ["tool_name"],
    "properties": {
        "id": LOOSE,
        "name": LOOSE,
        "tool_name": TEXT,
        "type": LOOSE,
        "description": LOOSE,
        "output_instructions": LOOSE,
    },
}
_BASE: Json = {
    "type": "object",
    "required": ["id", "name"],
    "properties": {
        "id": TEXT,
        "name": TEXT,
        "type": LOOSE,
        "document_count": {"type": ["integer", "null"], "minimum": 0},
    },
}
_MODEL: Json = {
    "type": ["object", "null"],
    "properties": {"provider": LOOSE, "model": LOOSE, "parameters": {"type": ["object", "null"]}},
}
SCHEMA: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "An agent (BotContext)",
    "type": "object",
    "required": ["bot_id", "bot_name"],
    "properties": {
        "bot_id": TEXT,
        "bot_name": TEXT,
        "organization_id": LOOSE,
        "organization_name": LOOSE,
        "system_prompt": LOOSE,
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
    document = load_object(path)
    problems = list(document.problems)
    if document.value is not None:
        problems += _SHAPE.problems(document.value, document.spot)
    first: dict[tuple[str, str], Spot] = {}
    for spot, tool in document.elements("tools"):
        if isinstance(tool, dict) and first.setdefault(_key(tool), spot) != spot:
            name, place = tool.get("tool_name"), first[_key(tool)].prefix
            message = f"the tool {name!r} is listed already (`{place}`); it counts once"
            problems.append(spot.warning("duplicate-tool", message, hint="the first one is used"))
    errors = [problem for problem in problems if problem.level is Level.ERROR]
    if errors or document.value is None:
        raise DatasetInvalid(str(path), errors)
    tools: dict[tuple[str, str], Json] = {}  # each once: the service that writes these files repeats them
    for tool in document.value.get("tools") or ():
        tools.setdefault(_key(tool), tool)
    value = {**document.value, "tools": list(tools.values())}
    unknown = separate_unknown(value, SCHEMA, document.spot)
    if warn:
        for problem in [*problems, *unknown.warnings]:
            warn(problem)
    return _agent(value, unknown.kept)


def _key(tool: Json) -> tuple[str, str]:
    return str(tool.get("id") or ""), str(tool.get("tool_name"))


def _agent(value: Json, unknown: Json) -> Agent:
    model = value.get("llm_config")
    return Agent(
        id=value["bot_id"],
        name=value["bot_name"],
        organization_id=value.get("organization_id") or "",
        organization_name=value.get("organization_name") or "",
        system_prompt=value.get("system_prompt") or "",
        model=None
        if model is None
        else AgentModel(
            provider=model.get("provider") or "",
            model=model.get("model") or "",
            parameters=model.get("parameters") or {},
        ),
        tools=tuple(
            AgentTool(**{name: tool.get(name) or "" for name in _TOOL["properties"]}) for tool in value["tools"]
        ),
        knowledge_bases=tuple(
            KnowledgeBase(
                id=base["id"],
                name=base["name"],
                type=base.get("type") or "",
                document_count=None if base.get("document_count") is None else int(base["document_count"]),
            )
            for base in value.get("knowledge_bases") or ()
        ),
        harness=value.get("harness_context"),
        metadata={UNKNOWN: unknown} if unknown else {},
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
