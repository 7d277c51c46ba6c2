"""Runs and results."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct, field

from howsure.client.wire.base import Json, Shape, read


class ComponentScore(Struct, frozen=True, kw_only=True):
    """The rules of one component; `score` is None where none could be judged."""

    score: float | None
    total: int
    passed: int
    failed: int = 0
    errored: int = 0
    skipped: int = 0


class Tally(Struct, frozen=True, kw_only=True):
    """Checks of one kind: `total = passed + failed + errored + skipped`."""

    total: int
    passed: int
    failed: int
    errored: int
    skipped: int


class Totals(Tally, frozen=True, kw_only=True):
    """The results of one candidate; `total` counts those that are pending, too."""

    completed: int
    pending: int
    pass_rate: float | None
    pass_rate_interval: tuple[float, float] | None


class Spent(Struct, frozen=True, kw_only=True):
    """What was spent on models; `usd` is None where calls were made and none has a price."""

    usd: float | None
    tokens: int
    calls: int
    cached: int
    unpriced: int


class Pin(Struct, frozen=True, kw_only=True):
    """The cases, as they were when the run was planned."""

    path: str
    name: str
    dialect: str
    cases: int
    sha256: str
    id: str | None
    version: int | None


class Run(Shape, frozen=True, kw_only=True):
    """One execution. `total = passed + failed + errored + skipped + pending`, always."""

    run_id: str
    dataset_id: str
    agent_id: str | None
    status: str
    total: int
    completed: int
    passed: int
    failed: int
    concurrency: int
    started_at: datetime | None
    completed_at: datetime | None
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
    created_at: datetime
    name: str = ""
    state: str = ""
    sentence: str = ""
    errored: int = 0
    skipped: int = 0
    pending: int = 0
    pass_rate: float | None = None
    pass_rate_interval: tuple[float, float] | None = None
    candidates: dict[str, Totals] = field(default_factory=dict)
    graders: list[Json] = field(default_factory=list)
    criteria: Tally | None = None
    rubric_rules: Tally | None = None
    target: str = ""
    criteria_from: str | None = None
    simulator: str | None = None
    faults: dict[str, int] = field(default_factory=dict)
    judge: str | None = None
    gates: list[Json] = field(default_factory=list)
    spent: Spent | None = None
    profile: str | None = None
    repeat: int = 1
    limit: int | None = None
    datasets: list[Pin] = field(default_factory=list)
    howsure_version: str | None = None
    test_set_name: str | None = None
    rubric_name: str | None = None

    @property
    def is_live(self) -> bool:
        """Whether it is waiting for a worker or being worked on; one that is paused is neither."""
        return (self.state or self.status) in ("pending", "running")


class CriterionScore(Struct, frozen=True, kw_only=True):
    """One criterion of a result; `passed` and `score` are None where it could not be judged."""

    criterion: str
    passed: bool | None
    score: float | None
    reasoning: str | None = None
    status: str = ""
    criterion_id: str = ""


class RuleScore(Struct, frozen=True, kw_only=True):
    """One rule of a result; `passed` and `score` are None where it could not be judged."""

    rule_id: str
    rule_name: str
    severity: str
    passed: bool | None
    score: float | None
    reasoning: str | None = None
    status: str = ""


class Result(Shape, frozen=True, kw_only=True):
    """One case in one run."""

    result_id: str
    run_id: str
    test_case_id: str
    input: Json
    output: Json
    scores: Json | None
    item_name: str | None
    item_type: str | None
    criteria_scores: list[CriterionScore] | None
    criteria_passed: bool | None
    rubric_scores: list[RuleScore] | None
    rubric_passed: bool | None
    passed: bool | None
    duration_ms: float
    created_at: datetime | None
    langsmith_run_id: Any = None
    candidate: str = ""
    repeat: int = 1
    verdict: str = ""
    error: str | None = None
    reasons: list[str] = field(default_factory=list)
    failures: list[Json] = field(default_factory=list)
    input_kind: str = ""
    simulation: Json | None = None
    fault: Json | None = None
    tags: list[str] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)


class Standing(Shape, frozen=True, kw_only=True):
    """How an agent stands, by its newest run that is complete; `run` is None where none is."""

    agent_id: str
    agent_name: str | None
    runs: int
    criteria_score: float | None
    rubric_score: float | None
    run: Json | None

    @property
    def newest(self) -> Run | None:
        """The run, typed."""
        return None if self.run is None else read(Run, self.run)


class Evaluation(Shape, frozen=True, kw_only=True):
    """A run over a test set that waits for a worker."""

    run_id: str
    dataset_id: str
    config_id: str | None
    status: str
    total: int
    items_count: int
    rules_count: int
    component_scope_filter: str | None
    component_ids_filter: list[str]
    warnings: list[str] = field(default_factory=list)
