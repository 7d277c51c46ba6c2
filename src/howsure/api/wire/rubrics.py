"""Rubrics, field for field as published."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from howsure.api.wire.base import Changelog, Given, Key, Label, Moment, Name, Said, Shape, Text


class EvaluationCriteria(Shape):
    """What makes a rule pass or fail."""

    pass_conditions: list[Said] = Field(default_factory=list)
    fail_conditions: list[Said] = Field(default_factory=list)


class Examples(Shape):
    """How a rule looks when it is broken, and when it is kept."""

    violation: Text | None = None
    correct: Text | None = None


class RuleShape(Shape):
    """One standing rule of an agent."""

    id: Key = Field(examples=["BRIEF_RESPONSES"], description="Its own among the rules")
    name: Label
    severity: Literal["high", "medium", "low"]
    category: Name | None = None
    description: Text | None = None
    prompt_reference: Text | None = None
    evaluation_criteria: EvaluationCriteria | None = None
    examples: Examples | None = None
    component_scope: Literal["prompt", "knowledge_base", "function", "general"] | None = None
    component_ids: list[Key] | None = None
    component_names: list[Label] | None = None


class RubricGiven(Given):
    """A rubric as its author writes it. What was read before may be sent back changed: ids, versions and times in it
    are left aside."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())

    name: Annotated[Label, Field(examples=["Refund desk rubric"])]
    agent_id: Key | None = Field(default=None, examples=["64f0c2a1e4b0a1b2c3d4e5f6"])
    description: Text | None = ""
    severity_definitions: dict[Name, Text] = Field(default_factory=dict)
    rules: Annotated[list[RuleShape], Field(min_length=1)]
    note: Text | None = Field(default=None, description="Why this version was made")


class RubricShape(Shape):
    """A rubric, in one of its versions."""

    rubric_id: str
    agent_id: str | None
    version: int
    name: str
    description: str | None
    severity_definitions: dict[str, str] | None = Field(description="What `high`, `medium` and `low` mean")
    rules: list[RuleShape]
    created_at: Moment
    updated_at: Moment
    author: str | None = None
    note: str | None = None
    latest_version: int
    deleted: bool
    changelog: Changelog = None
