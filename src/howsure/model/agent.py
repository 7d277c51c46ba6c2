"""An Agent: who is under test. A description only; a Target is how to reach it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field


class AgentTool(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool of the agent. `tool_name` is the name in its calls."""

    tool_name: str
    id: str = ""
    name: str = ""
    type: str = ""
    description: str = ""
    output_instructions: str = ""


class KnowledgeBase(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A collection of documents that the agent can search."""

    id: str
    name: str
    type: str = ""
    document_count: int | None = None


class AgentModel(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The language model behind the agent."""

    provider: str = ""
    model: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)


class Agent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Prompt, tools, knowledge bases, model and harness (the BotContext of the evaluation API)."""

    id: str
    name: str
    organization_id: str = ""
    organization_name: str = ""
    system_prompt: str = ""
    model: AgentModel | None = None
    tools: tuple[AgentTool, ...] = ()
    knowledge_bases: tuple[KnowledgeBase, ...] = ()
    harness: dict[str, Any] | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
