"""Runs and results, field for field as published; what Assay adds comes after."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from assay.api.wire.base import Given, Json, Key, Moment, Name, Shape, Text

Status = Literal["pending", "running", "completed", "failed"]
Scope = Literal["prompt", "knowledge_base", "function", "general"]
Payload = Annotated[dict[Name, Any], Field(description="Variables that every conversation starts with")]
Repeats = Annotated[int, Field(ge=1, le=100)]
Many = Annotated[int, Field(ge=1, le=10_000_000)]
Concurrency = Annotated[int, Field(ge=1, le=1000)]


class ComponentScore(Shape):
    """The rules of one component: of `total` checks, `passed` passed; `score` is null where none could be judged."""

    score: float | None
    total: int
    passed: int


class RunShape(Shape):
    """One execution. `total = passed + failed + errored + skipped + pending`, always."""

    run_id: str
    dataset_id: str
    agent_id: str | None
    status: Status
    total: int
    completed: int
    passed: int
    failed: int
    concurrency: int
    started_at: Moment | None
    completed_at: Moment | None
    error: str | None
    rubric_id: str | None
    rubric_version: int | None
    test_set_id: str | None
    test_set_version: int | None
    component_scope_filter: str | None
    component_ids_filter: list[str]
    component_scores: dict[str, ComponentScore] | None
    criteria_passed: int | None
    criteria_total: int | None
    rubric_rules_passed: int | None
    rubric_rules_total: int | None
    bot_llm_provider: str | None
    bot_llm_model: str | None
    created_at: Moment
    name: str
    state: Literal["pending", "running", "completed", "failed", "interrupted", "out_of_budget", "paused", "cancelled"]
    sentence: str = Field(description="What it means, in words")
    errored: int
    skipped: int
    pending: int
    pass_rate: float | None
    pass_rate_interval: list[float] | None


class CriterionScore(Shape):
    """One criterion of a result; `passed` and `score` are null where it could not be judged."""

    criterion: str
    passed: bool | None
    score: float | None
    reasoning: str | None


class RuleScore(Shape):
    """One rule of a result; `passed` and `score` are null where it could not be judged."""

    rule_id: str
    rule_name: str
    severity: Literal["high", "medium", "low"]
    passed: bool | None
    score: float | None
    reasoning: str | None


class InputShape(Shape):
    """What was put to the agent: `message` of a single turn, `persona`, `initial_message`, `max_turns` of a scenario,
    `turns` of a script."""

    message: str | None = None
    persona: str | None = None
    initial_message: str | None = None
    max_turns: int | None = None
    turns: list[str] | None = None


class MessageShape(Shape):
    """One thing that was said."""

    role: str = Field(examples=["user", "assistant"])
    content: str


class OutputShape(Shape):
    """What was said and done."""

    messages: list[MessageShape]
    tool_calls: list[Json]
    state: Json | None
    answer: str | None


class ScoreShape(Shape):
    """What one grader measured, on its own scale; null where it could not."""

    score: float | None
    comment: str = Field(description="JSON with `passed`, `status`, `scale`, `pass_mark`, `reason` and `details`")


class ResultShape(Shape):
    """One case in one run."""

    result_id: str
    run_id: str
    test_case_id: str
    langsmith_run_id: Any | None
    input: InputShape
    output: OutputShape
    scores: dict[str, ScoreShape] | None = Field(description="By grader: the older shape, which V2 results have too")
    item_name: str | None
    item_type: str | None
    criteria_scores: list[CriterionScore] | None
    criteria_passed: bool | None
    rubric_scores: list[RuleScore] | None
    rubric_passed: bool | None
    passed: bool | None
    duration_ms: int
    created_at: Moment | None
    candidate: str
    repeat: int
    verdict: Literal["passed", "failed", "errored", "skipped"]
    error: str | None


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


class EvaluationShape(Shape):
    """A run that waits for a worker."""

    run_id: str
    dataset_id: str
    config_id: str | None
    status: Status
    total: int
    items_count: int
    rules_count: int
    component_scope_filter: str | None
    component_ids_filter: list[str]
    warnings: list[str]


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
