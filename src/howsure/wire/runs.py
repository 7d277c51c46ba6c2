"""Runs, and how each agent stands by its newest run. The fields of the published shape come first; what Howsure adds
comes after."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct, field

from howsure.wire.base import Json, WireShape, documented_as, read_shape

Interval = tuple[float, float]
RunStatus = Annotated[str, Meta(extra_json_schema={"enum": ["pending", "running", "completed", "failed"]})]
STATES = ("pending", "running", "completed", "failed", "interrupted", "out_of_budget", "paused", "cancelled")
RunStateName = Annotated[str, Meta(extra_json_schema={"enum": list(STATES)})]


class ComponentScore(Struct, frozen=True, kw_only=True):
    """The rules of one component: of `total` checks, `passed` passed; `score` is null where none could be judged."""

    score: float | None
    total: int
    passed: int
    failed: int = 0
    errored: int = 0
    skipped: int = 0


class Tally(Struct, frozen=True, kw_only=True):
    """Checks of one kind: `total = passed + failed + errored + skipped`."""

    passed: int
    failed: int
    errored: int
    skipped: int
    total: int


class CandidateTotals(Struct, frozen=True, kw_only=True):
    """The results of one candidate; `total` counts those that are pending, too. `pass_rate_if_decided` is what the rate
    of all would be if everything that errored had failed, or passed; null where nothing errored."""

    total: int
    completed: int
    passed: int
    failed: int
    errored: int
    skipped: int
    pending: int
    pass_rate: float | None
    pass_rate_interval: Interval | None
    pass_rate_if_decided: Interval | None = None


class SliceTotals(CandidateTotals, frozen=True, kw_only=True):
    """The results of the cases whose `label` has this value."""

    label: Annotated[str, Meta(description="A label of the cases, `tag`, or `file`")]
    value: str
    candidate: str


class ModelSpending(Struct, frozen=True, kw_only=True):
    """What was spent on models; `usd` is null where calls were made and none has a price."""

    usd: float | None
    tokens: int
    calls: int
    cached: int
    unpriced: int


class DatasetPin(Struct, frozen=True, kw_only=True):
    """The cases, as they were when the run was planned."""

    path: str
    name: Annotated[str, Meta(description='What they are called now; "… (deleted)" where that is gone')]
    dialect: str
    cases: Annotated[int, Meta(description="In the file")]
    selected: Annotated[int | None, Meta(description="In the run, by filters and limit; null: not known")] = None
    sha256: str
    id: str | None
    version: int | None


ComponentScores = Annotated[
    dict[str, ComponentScore] | None, Meta(description="By component; null: there is no rubric")
]
CriteriaPassed = Annotated[
    int | None, Meta(description="Of `criteria_total`; 0 while none is graded, null: there are none")
]
CriteriaTotal = Annotated[
    int | None,
    Meta(
        description="Criteria of all results that could be graded; 0 while, or because, none could; null: no criteria"
    ),
]
RulesTotal = Annotated[
    int | None,
    Meta(description="Rules, over every result that could be graded; 0 while, or because, none could; null: no rubric"),
]


class Run(WireShape, frozen=True, kw_only=True):
    """One execution. `total = passed + failed + errored + skipped + pending`, always."""

    run_id: str
    dataset_id: str
    agent_id: str | None
    status: RunStatus
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
    component_scores: ComponentScores
    criteria_passed: CriteriaPassed
    criteria_total: CriteriaTotal
    rubric_rules_passed: Annotated[int | None, Meta(description="Of `rubric_rules_total`; null: there is no rubric")]
    rubric_rules_total: RulesTotal
    bot_llm_provider: str | None
    bot_llm_model: str | None
    created_at: datetime
    name: str = ""
    state: RunStateName = ""
    sentence: Annotated[str, Meta(description="What it means, in words")] = ""
    errored: int = 0
    skipped: int = 0
    pending: int = 0
    pass_rate: float | None = None
    pass_rate_interval: Interval | None = None
    pass_rate_if_decided: Interval | None = None
    candidates: Annotated[
        dict[str, CandidateTotals],
        Meta(description="By candidate, what is certain first; one without a name where there is only one"),
    ] = field(default_factory=dict)
    graders: Annotated[list[Json], Meta(description="What each grader gave: counts, mean, scale, pass mark")] = field(
        default_factory=list
    )
    criteria: Tally | None = None
    rubric_rules: Tally | None = None
    target: str = ""
    criteria_from: str | None = None
    simulator: str | None = None
    faults: Annotated[
        dict[str, int], Meta(description="Simulated conversations that did not pass, by who is answerable")
    ] = field(default_factory=dict)
    judge: str | None = None
    gates: Annotated[list[Json], Meta(description="What came of each gate")] = field(default_factory=list)
    spent: ModelSpending | None = None
    profile: str | None = None
    repeat: int = 1
    limit: int | None = None
    filters: Annotated[dict[str, list[str]], Meta(description="Only cases with one of these values")] = field(
        default_factory=dict
    )
    graders_asked: Annotated[
        list[str] | None, Meta(description="Only these, or `+added` and `-taken away`; null: the usual ones")
    ] = None
    normalization: str | None = None
    marks: Annotated[dict[str, float], Meta(description="Of the profile, besides the built-in ones")] = field(
        default_factory=dict
    )
    settings: Annotated[Json, Meta(description="Settings that shaped the run and were changed")] = field(
        default_factory=dict
    )
    notes: Annotated[list[str], Meta(description="What a reader must know besides the numbers")] = field(
        default_factory=list
    )
    flags: Annotated[dict[str, int], Meta(description="Results with a flag, by its kind")] = field(default_factory=dict)
    breakdown: Annotated[list[SliceTotals], Meta(description="By the values of labels; when the run has ended")] = (
        field(default_factory=list)
    )
    datasets: list[DatasetPin] = field(default_factory=list)
    howsure_version: str | None = None
    test_set_name: Annotated[str | None, Meta(description='"… (deleted)" where it is gone')] = None
    rubric_name: str | None = None

    @property
    def is_live(self) -> bool:
        """Whether it waits for a worker or is being worked on; a paused run does neither."""
        return (self.state or self.status) in ("pending", "running")


class AgentStatus(WireShape, frozen=True, kw_only=True):
    """How an agent stands, by its newest run that is complete; `run` is null where none is."""

    agent_id: str
    agent_name: Annotated[str | None, Meta(description="Null: nobody has described it")]
    runs: Annotated[int, Meta(description="How many there are of it, in whatever state")]
    criteria_score: Annotated[
        float | None, Meta(description="The share of criteria that hold, of those that could be judged")
    ]
    rubric_score: Annotated[
        float | None, Meta(description="The same of rules; null: no rubric, or nothing could be judged")
    ]
    run: Annotated[Json | None, documented_as(Run | None)]

    @property
    def newest(self) -> Run | None:
        """The run, typed."""
        return None if self.run is None else read_shape(Run, self.run)


class Evaluation(WireShape, frozen=True, kw_only=True):
    """A run that waits for a worker."""

    run_id: str
    dataset_id: str
    config_id: str | None
    status: RunStatus
    total: int
    items_count: int
    rules_count: int
    component_scope_filter: str | None
    component_ids_filter: list[str]
    warnings: list[str] = field(default_factory=list)
