"""Uploaded datasets and their cases."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StringConstraints

from howsure.api.wire.base import SAID, Changelog, Given, Json, Key, Label, Moment, Name, Shape, Text

Content = Annotated[str, StringConstraints(min_length=1, pattern=SAID)]
DialectName = Annotated[
    Literal["explain", "golden", "simulation", "test-set", "legal"], Field(description="Found out where it is not said")
]


class DatasetGiven(Given):
    """A file of any dialect, as text."""

    name: Annotated[Label, Field(examples=["compliance.jsonl"])]
    agent_id: Key | None = None
    dialect: DialectName | None = None
    content: Content
    note: Text | None = None


class DatasetShape(Shape):
    """An uploaded dataset, in one of its versions. `cases` is how many its newest version has."""

    dataset_id: str
    agent_id: str | None
    version: int
    name: str
    dialect: str
    cases: int | None
    bytes: int
    sha256: str
    created_at: Moment
    updated_at: Moment
    author: str | None
    note: str | None
    latest_version: int
    deleted: bool
    changelog: Changelog = None


class CaseGiven(Given):
    """A case as the dataset's dialect writes it."""

    case: Annotated[Json, Field(description="One line of a JSONL dialect, or one element of a JSON one")]


class CaseShape(Shape):
    """A case of a dataset. `id` is its address here; `test_case_id` is its id in the file, as results name it."""

    id: str
    test_case_id: str
    dataset_id: str
    item_name: str | None
    input_kind: str
    input: Json
    expected: list[Any]
    tags: list[str]
    labels: Json


class ModelShape(Shape):
    """The model that answers for an agent."""

    provider: Name | None = Field(default=None, examples=["openai"])
    model: Name | None = Field(default=None, examples=["gpt-4.1"])
    parameters: Json | None = None


class ToolShape(Shape):
    """A tool that an agent may call."""

    id: Name | None = None
    name: Name | None = None
    tool_name: Label
    type: Name | None = Field(default=None, examples=["human_handoff"])
    description: Text | None = None
    output_instructions: Text | None = None


class KnowledgeBaseShape(Shape):
    """Where an agent can look things up."""

    id: Label
    name: Label
    type: Name | None = Field(default=None, examples=["file"])
    document_count: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None


class StepShape(Shape):
    """One step of how an agent is executed."""

    step: int | None = None
    node: str | None = None
    description: str | None = None


class HarnessShape(Shape):
    """How an agent is executed; what of it matters for judging."""

    version: str | None = None
    description: str | None = None
    execution_flow: list[StepShape] | None = None
    key_behaviors: list[str] | None = None
    evaluation_notes: list[str] | None = None


class BotGiven(Given):
    """The description of an agent (BotContext), without its id, which is in the path."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())

    bot_name: Label
    organization_id: Key | None = None
    organization_name: Name | None = None
    system_prompt: Text | None = ""
    llm_config: ModelShape | None = None
    tools: list[ToolShape] = Field(default_factory=list)
    knowledge_bases: list[KnowledgeBaseShape] = Field(default_factory=list)
    harness_context: HarnessShape | None = None


class BotShape(Shape):
    """The description of an agent (BotContext)."""

    bot_id: str
    bot_name: str
    organization_id: str | None
    organization_name: str | None
    system_prompt: str | None
    llm_config: ModelShape | None
    tools: list[ToolShape]
    knowledge_bases: list[KnowledgeBaseShape]
    harness_context: HarnessShape | None


class BotEditionShape(BotShape):
    """The description of an agent, in one of its versions."""

    version: int
    updated_at: Moment
    author: str | None
    note: str | None
    latest_version: int
    changelog: Changelog = None


class EvaluatorShape(Shape):
    """One grader of a list."""

    type: Name
    enabled: bool = True


class ConfigGiven(Given):
    """Which graders a run has. What was read before may be sent back changed."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())

    name: Label
    agent_id: Key | None = None
    evaluators: Annotated[list[EvaluatorShape], Field(min_length=1)]
    note: Text | None = None


class ConfigShape(Shape):
    """A list of graders."""

    config_id: str
    agent_id: str | None
    version: int
    name: str
    evaluators: list[EvaluatorShape]
    created_at: Moment
    updated_at: Moment
    author: str | None = None
    note: str | None = None
    latest_version: int
    deleted: bool
    changelog: Changelog = None


class TypeShape(Shape):
    """A grader that runs may have."""

    type: str
    description: str
