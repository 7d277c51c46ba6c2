"""Uploaded datasets and their cases."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field, StringConstraints

from assay.api.wire.base import NO_NUL, Given, Json, Key, Moment, Name, Shape, Text

Content = Annotated[str, StringConstraints(min_length=1)]
DialectName = Annotated[
    str,
    StringConstraints(pattern=NO_NUL, max_length=40),
    Field(description="explain, golden, simulation, test-set or legal; found out where it is not said"),
]


class DatasetGiven(Given):
    """A file of any dialect, as text."""

    name: Annotated[Name, Field(min_length=1, examples=["compliance.jsonl"])]
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


class BotGiven(Given):
    """The description of an agent (BotContext), without its id, which is in the path."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())

    bot_name: Annotated[Name, Field(min_length=1)]
    organization_id: Key | None = None
    organization_name: Name | None = None
    system_prompt: Text | None = ""
    llm_config: Json | None = None
    tools: list[Json] = Field(default_factory=list)
    knowledge_bases: list[Json] = Field(default_factory=list)
    harness_context: Json | None = None


class BotShape(Shape):
    """The description of an agent (BotContext)."""

    bot_id: str
    bot_name: str
    organization_id: str | None
    organization_name: str | None
    system_prompt: str | None
    llm_config: Json | None
    tools: list[Json]
    knowledge_bases: list[Json]
    harness_context: Json | None


class EvaluatorShape(Shape):
    """One grader of a list."""

    type: Name
    enabled: bool = True


class ConfigGiven(Given):
    """Which graders a run has."""

    name: Annotated[Name, Field(min_length=1)]
    agent_id: Key | None = None
    evaluators: Annotated[list[EvaluatorShape], Field(min_length=1)]
    note: Text | None = None


class ConfigShape(Shape):
    """A list of graders."""

    config_id: str
    agent_id: str | None
    version: int
    name: str
    evaluators: list[Json]
    created_at: Moment
    updated_at: Moment
    author: str | None = None
    note: str | None = None
    latest_version: int
    deleted: bool


class TypeShape(Shape):
    """A grader that runs may have."""

    type: str
    description: str
