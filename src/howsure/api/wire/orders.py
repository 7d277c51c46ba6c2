"""What may be asked for: runs, of whatever cases; grading again; and one finished conversation, graded now."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from howsure.api.wire.base import Given, Json, Key, Name, Shape, Text

Scope = Literal["prompt", "knowledge_base", "function", "general"]
Payload = Annotated[dict[Name, Any], Field(description="Variables that every conversation starts with")]
Repeats = Annotated[int, Field(ge=1, le=100)]
Many = Annotated[int, Field(ge=1, le=10_000_000)]
Concurrency = Annotated[int, Field(ge=1, le=1000)]


class Wanted(Given):
    """What may be asked of any run."""

    rubric_id: Key | None = None
    rubric_version: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None
    config_id: Key | None = Field(default=None, description="Which graders: an evaluator config")
    concurrency: Concurrency | None = None
    eval_model: Name | None = Field(default=None, description="The judge; it must be one that the service offers")
    target: Name | None = Field(default=None, description="How the agent is reached; one that the service offers")
    simulator: Name | None = Field(default=None, description="Who plays the users of scenarios")
    profile: Name | None = None
    limit: Many | None = None
    item_ids: list[Key] = Field(default_factory=list, description="Only these cases")
    repeat: Repeats = 1
    budget: Name | None = Field(default=None, examples=["2USD", "500ktok", "10m"])
    initial_payload: Payload = Field(default_factory=dict)
    component_scope: Scope | None = None
    component_ids: list[Key] = Field(default_factory=list)
    gates: list[Name] = Field(default_factory=list, examples=[["pass_rate >= 0.9"]])
    name: Name | None = None
    engine: Literal["local", "ray"] | None = Field(default=None, description="Where it runs; as the operator says")


class RunGiven(Wanted):
    """A run over a dataset or a question set (the older scores), or over a test set."""

    dataset_id: Key | None = None
    question_set_id: Key | None = None
    test_set_id: Key | None = None
    agent_id: Key | None = None


class EvaluationGiven(Wanted):
    """A run over a test set. `mode: transcript` grades finished conversations instead of calling the bot."""

    bot_id: Key
    test_set_id: Key
    test_set_version: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None
    keep: bool = Field(default=True, description="Keep the cases as a dataset of their own")
    mode: Literal["transcript"] | None = None
    conversation_ids: list[Key] = Field(default_factory=list, description="Results whose conversations are graded")


class RegradeGiven(Given):
    """The answers of a run, graded again: by the same rubric or another, by the same judge or another."""

    rubric_id: Key | None = None
    rubric_version: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None
    eval_model: Name | None = None
    profile: Name | None = None
    name: Name | None = None


class TranscriptMessage(Shape):
    """One thing that was said."""

    role: Literal["user", "assistant", "system"]
    content: Text


class TranscriptGiven(Given):
    """A finished conversation, and what to hold it against: criteria, those of a test set, a rubric."""

    messages: Annotated[list[TranscriptMessage], Field(min_length=1)]
    tool_calls: list[Json] = Field(default_factory=list)
    success_criteria: list[Text] = Field(default_factory=list)
    test_set_id: Key | None = None
    rubric_id: Key | None = None
    bot_id: Key | None = None
    eval_model: Name | None = None
    component_scope: Scope | None = None
    component_ids: list[Key] = Field(default_factory=list)
