"""Runs and results, field for field as published; what Howsure adds comes after."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from howsure.api.wire.base import Json, Moment, Shape

Status = Literal["pending", "running", "completed", "failed"]


class ComponentScore(Shape):
    """The rules of one component: of `total` checks, `passed` passed; `score` is null where none could be judged."""

    score: float | None
    total: int
    passed: int
    failed: int
    errored: int
    skipped: int


class TallyShape(Shape):
    """Checks of one kind: `total = passed + failed + errored + skipped`."""

    total: int
    passed: int
    failed: int
    errored: int
    skipped: int


class TotalsShape(TallyShape):
    """The results of one candidate; `total` counts those that are pending, too."""

    completed: int
    pending: int
    pass_rate: float | None
    pass_rate_interval: list[float] | None


class SpentShape(Shape):
    """What was spent on models; `usd` is null where calls were made and none has a price."""

    usd: float | None
    tokens: int
    calls: int
    cached: int
    unpriced: int


class PinShape(Shape):
    """The cases, as they were when the run was planned."""

    path: str
    name: str = Field(description='What they are called now; "… (deleted)" where that is gone')
    dialect: str
    cases: int
    sha256: str
    id: str | None
    version: int | None


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
    component_scores: dict[str, ComponentScore] | None = Field(description="By component; null: there is no rubric")
    criteria_passed: int | None = Field(description="Of `criteria_total`; 0 while none is graded, null: there are none")
    criteria_total: int | None = Field(
        description="Criteria of all results that could be graded; 0 while, or because, none could; null: no criteria"
    )
    rubric_rules_passed: int | None = Field(description="Of `rubric_rules_total`; null: there is no rubric")
    rubric_rules_total: int | None = Field(
        description="Rules, over every result that could be graded; 0 while, or because, none could; null: no rubric"
    )
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
    candidates: dict[str, TotalsShape] = Field(description="By candidate; one without a name where there is only one")
    graders: list[Json] = Field(description="What each grader gave: counts, mean, scale, pass mark")
    criteria: TallyShape | None
    rubric_rules: TallyShape | None
    target: str
    criteria_from: str | None
    simulator: str | None
    faults: dict[str, int] = Field(description="Simulated conversations that did not pass, by who is answerable")
    judge: str | None
    gates: list[Json] = Field(description="What came of each gate")
    spent: SpentShape | None
    profile: str | None
    repeat: int
    limit: int | None
    datasets: list[PinShape]
    howsure_version: str | None
    test_set_name: str | None = Field(description='"… (deleted)" where it is gone')
    rubric_name: str | None


class CriterionScore(Shape):
    """One criterion of a result; `passed` and `score` are null where it could not be judged, and `status` says why."""

    criterion: str
    passed: bool | None
    score: float | None
    reasoning: str | None
    status: str = Field(examples=["scored", "error", "not_applicable", "no_judge"])
    criterion_id: str = Field(description="Names it in labels", examples=["8f14e45fceea"])


class RuleScore(Shape):
    """One rule of a result; `passed` and `score` are null where it could not be judged."""

    rule_id: str
    rule_name: str
    severity: Literal["high", "medium", "low"]
    passed: bool | None
    score: float | None
    reasoning: str | None
    status: str = Field(examples=["scored", "error", "not_applicable", "no_judge"])


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
    reasons: list[str] = Field(description="Why the verdict is what it is")
    failures: list[Json] = Field(description="What broke: `kind` and `message`")
    input_kind: str = Field(examples=["single_turn", "scenario", "script"])
    simulation: Json | None
    fault: Json | None = Field(description="Who is answerable for a simulated conversation that did not pass")
    tags: list[str]
    labels: dict[str, str]


class StandingShape(Shape):
    """How an agent stands, by its newest run that is complete; `run` is null where none is."""

    agent_id: str
    agent_name: str | None = Field(description="Null: nobody has described it")
    runs: int = Field(description="How many there are of it, in whatever state")
    criteria_score: float | None = Field(description="The share of criteria that hold, of those that could be judged")
    rubric_score: float | None = Field(description="The same of rules; null: no rubric, or nothing could be judged")
    run: RunShape | None


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
