"""Test sets and question sets, field for field as published."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from assay.api.wire.base import Given, Json, Key, Moment, Name, Shape, Text


class Inputs(Shape):
    """`message` for a single turn; `persona`, `initial_message` and `max_turns` for a scenario."""

    message: Text | None = None
    persona: Text | None = None
    initial_message: Text | None = None
    max_turns: Annotated[int, Field(ge=1, le=1000)] | None = None


class Expected(Shape):
    """What is expected of the agent."""

    success_criteria: list[Text] = Field(default_factory=list)
    should_use_tools: list[Name] = Field(default_factory=list)
    should_not_use_tools: list[Name] = Field(default_factory=list)
    expected_outcome: Text | None = None


class EntryShape(Shape):
    """One thing to try."""

    item_id: Key | None = Field(default=None, description="Made where it is missing")
    type: Literal["single_turn", "scenario"]
    name: Name = Field(min_length=1)
    inputs: Inputs
    expected: Expected
    tags: list[Name] = Field(default_factory=list)
    priority: Name | None = None


class TestSetGiven(Given):
    """A test set as its author writes it. What was read before may be sent back changed."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())

    name: Annotated[Name, Field(min_length=1, examples=["Refund desk test set"])]
    agent_id: Key | None = Field(default=None, examples=["64f0c2a1e4b0a1b2c3d4e5f6"])
    description: Text | None = ""
    items: Annotated[list[EntryShape], Field(min_length=1)]
    note: Text | None = Field(default=None, description="Why this version was made")


class TestSetShape(Shape):
    """A test set, in one of its versions."""

    test_set_id: str
    agent_id: str | None
    version: int
    name: str
    description: str | None
    items: list[Json]
    created_at: Moment
    updated_at: Moment
    author: str | None = None
    note: str | None = None
    latest_version: int
    deleted: bool


class QuestionShape(Shape):
    """A question, and what its answer is held against: an expected answer, criteria, or both."""

    question_id: Key | None = Field(default=None, description="Made where it is missing")
    question: Text = Field(min_length=1)
    expected_answer: Text | None = None
    criteria: list[Text] | None = None
    context: Text | None = None
    tags: list[Name] | None = None


class QuestionSetGiven(Given):
    """A question set as its author writes it."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())

    name: Annotated[Name, Field(min_length=1)]
    agent_id: Key | None = None
    description: Text | None = ""
    questions: Annotated[list[QuestionShape], Field(min_length=1)]
    note: Text | None = None


class QuestionSetShape(Shape):
    """A question set, in one of its versions."""

    question_set_id: str
    agent_id: str | None
    version: int
    name: str
    description: str | None
    questions: list[Json]
    created_at: Moment
    updated_at: Moment
    author: str | None = None
    note: str | None = None
    latest_version: int
    deleted: bool


class DifferenceShape(Shape):
    """One place that is not as it was."""

    path: str = Field(examples=["rules[BRIEF_RESPONSES].severity"])
    kind: Literal["added", "removed", "changed", "moved"]
    before: Any = None
    after: Any = None
