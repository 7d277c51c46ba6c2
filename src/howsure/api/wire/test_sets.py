"""Test sets and question sets, field for field as published."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from howsure.api.wire.base import DISTINCT, SAID, Changelog, Given, Key, Label, Moment, Name, Said, Shape, Text


class Inputs(Shape):
    """`message` for a single turn; `persona`, `initial_message` and `max_turns` for a scenario."""

    message: Text | None = None
    persona: Text | None = None
    initial_message: Text | None = None
    starting_prompt: Text | None = Field(default=None, description="Another name of `initial_message`")
    max_turns: Annotated[int, Field(ge=1, le=1000)] | None = None


class Expected(Shape):
    """What is expected of the agent."""

    success_criteria: Annotated[list[Said], DISTINCT] = Field(default_factory=list)
    should_use_tools: Annotated[list[Label], DISTINCT] = Field(default_factory=list)
    should_not_use_tools: Annotated[list[Label], DISTINCT] = Field(default_factory=list)
    expected_outcome: Text | None = None


def _with(*names: str) -> dict[str, Any]:
    return {"required": list(names), "properties": {name: {"type": "string", "pattern": SAID} for name in names}}


def _when(kind: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """What the inputs of a type of entry cannot be without."""
    return {"if": {"properties": {"type": {"const": kind}}}, "then": {"properties": {"inputs": inputs}}}


OPENING = {"anyOf": [_with("initial_message"), _with("starting_prompt")]}
"""Either name of what a scenario begins with will do."""


class EntryShape(Shape):
    """One thing to try."""

    model_config = ConfigDict(
        extra="allow",
        protected_namespaces=(),
        json_schema_extra={
            "allOf": [_when("single_turn", _with("message")), _when("scenario", {**_with("persona"), **OPENING})]
        },
    )

    item_id: Key | None = Field(default=None, description="Made where it is missing")
    type: Literal["single_turn", "scenario"]
    name: Label
    inputs: Inputs
    expected: Expected
    tags: list[Label] = Field(default_factory=list)
    priority: Name | None = None


class TestSetGiven(Given):
    """A test set as its author writes it. What was read before may be sent back changed."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())

    name: Annotated[Label, Field(examples=["Refund desk test set"])]
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
    items: list[EntryShape]
    created_at: Moment
    updated_at: Moment
    author: str | None = None
    note: str | None = None
    latest_version: int
    deleted: bool
    changelog: Changelog = None


class QuestionShape(Shape):
    """A question, and what its answer is held against: an expected answer, criteria, or both."""

    model_config = ConfigDict(
        extra="allow",
        protected_namespaces=(),
        json_schema_extra={
            "anyOf": [
                {
                    "required": ["expected_answer"],
                    "properties": {"expected_answer": {"type": "string", "minLength": 1}},
                },
                {"required": ["criteria"], "properties": {"criteria": {"type": "array", "minItems": 1}}},
            ]
        },
    )

    question_id: Key | None = Field(default=None, description="Made where it is missing")
    question: Said
    expected_answer: Said | None = None
    criteria: list[Said] | None = None
    context: Said | None = None
    tags: list[Label] | None = None


class QuestionSetGiven(Given):
    """A question set as its author writes it."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())

    name: Label
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
    questions: list[QuestionShape]
    created_at: Moment
    updated_at: Moment
    author: str | None = None
    note: str | None = None
    latest_version: int
    deleted: bool
    changelog: Changelog = None


class DifferenceShape(Shape):
    """One place that is not as it was."""

    path: str = Field(examples=["rules[BRIEF_RESPONSES].severity"])
    kind: Literal["added", "removed", "changed", "moved"]
    before: Any = None
    after: Any = None
