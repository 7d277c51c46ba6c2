"""Runs, and how each agent stands by its newest run. The fields of the published shape come first; what Howsure adds
comes after."""

# ruff: noqa: RUF012
# Empty defaults are safe here: msgspec makes a new list or dict for each struct.
from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from howsure.model.score import Direction
from howsure.wire.analyses import GateDecision
from howsure.wire.base import Json, WireShape, documented_as, read_shape
from howsure.wire.results import Result

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
    damaged: int = 0
    pass_rate: float | None
    pass_rate_interval: Interval | None
    pass_rate_if_decided: Interval | None = None


class GraderTotals(Struct, frozen=True, kw_only=True):
    """What one grader gave the cases of one candidate: `scored` counts those that have a value."""

    name: str
    candidate: str
    scored: int
    passed: int
    failed: int
    errored: int
    not_applicable: int
    no_judge: int
    mean: float | None
    scale: tuple[float | None, float | None]
    direction: Direction
    pass_mark: float | None
    pass_rate: float | None
    pass_rate_interval: Interval | None


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


class UsedDocument(Struct, frozen=True, kw_only=True):
    """A document that a run used, in the version that it used. A document without versions has an id made from its
    content."""

    id: str
    version: int | None


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
    dict[str, ComponentScore] | None, Meta(description="By component, all four; null: there is no rubric")
]
CriteriaPassed = Annotated[
    int | None, Meta(description="Of `criteria_total`; 0 while none is graded, null: there are none")
]
CriteriaTotal = Annotated[
    int | None,
    Meta(
        description="Criteria that the results list, those of answers that broke, too; 0 while there are no results; "
        "null: no criteria"
    ),
]
RulesTotal = Annotated[
    int | None,
    Meta(description="Rules, over every result that could be graded; 0 while, or because, none could; null: no rubric"),
]


class Run(WireShape, frozen=True, kw_only=True):
    """One execution. `total = passed + failed + errored + skipped + damaged + pending`, always."""

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
    sentence: Annotated[str, Meta(description="The result in words")] = ""
    errored: int = 0
    skipped: int = 0
    damaged: Annotated[int, Meta(description="Results that cannot be read: `howsure db check` names them")] = 0
    pending: int = 0
    pass_rate: float | None = None
    pass_rate_interval: Interval | None = None
    pass_rate_if_decided: Interval | None = None
    candidates: Annotated[
        dict[str, CandidateTotals],
        Meta(description="By candidate, what is certain first; one without a name where there is only one"),
    ] = {}
    graders: Annotated[list[Json], documented_as(list[GraderTotals], "What each grader gave")] = []
    criteria: Tally | None = None
    rubric_rules: Tally | None = None
    target: str | None = None
    criteria_from: str | None = None
    simulator: str | None = None
    faults: Annotated[
        dict[str, int], Meta(description="Simulated conversations that did not pass, by who is answerable")
    ] = {}
    judge: str | None = None
    gates: Annotated[list[Json], documented_as(list[GateDecision], "The ruling on each gate")] = []
    spent: ModelSpending | None = None
    profile: str | None = None
    repeat: int = 1
    limit: int | None = None
    filters: Annotated[dict[str, list[str]], Meta(description="Only cases with one of these values")] = {}
    graders_asked: Annotated[
        list[str] | None, Meta(description="Only these, or `+added` and `-taken away`; null: the usual ones")
    ] = None
    normalization: str | None = None
    marks: Annotated[dict[str, float], Meta(description="Of the profile, besides the built-in ones")] = {}
    settings: Annotated[Json, Meta(description="Settings that shaped the run and were changed")] = {}
    until_sure: Annotated[str | None, Meta(description="The gate of `until_sure`: the first of `gates`")] = None
    order_seed: Annotated[
        int | None, Meta(description="The seed of the random order of its cases; null: the order of the files")
    ] = None
    stopped_early: Annotated[bool, Meta(description="Whether it was sure before all cases were asked")] = False
    notes: Annotated[list[str], Meta(description="Sentences that a reader must know besides the numbers")] = []
    flags: Annotated[dict[str, int], Meta(description="Results with a flag, by its kind")] = {}
    breakdown: Annotated[list[SliceTotals], Meta(description="By the values of labels; when the run has ended")] = []
    datasets: list[DatasetPin] = []
    made_of: Annotated[
        dict[str, UsedDocument],
        Meta(
            description="By kind: `test_set`, `question_set`, `dataset`, `rubric`, `config`, `bot_context`, "
            "`initial_payload`; what it was made without is not there"
        ),
    ] = {}
    rubrics: Annotated[list[UsedDocument], Meta(description="All of them; `rubric_id` is the first")] = []
    initial_payload: Annotated[Json, Meta(description="Variables that every conversation started with")] = {}
    howsure_version: str | None = None
    test_set_name: Annotated[str | None, Meta(description='"… (deleted)" where it is gone')] = None
    rubric_name: str | None = None
    tags: Annotated[list[str], Meta(description="What people call it by: `PATCH` changes them")] = []

    @property
    def is_live(self) -> bool:
        """Whether it waits for a worker or is being worked on; a paused run does neither."""
        return (self.state or self.status) in ("pending", "running")


class RunReport(WireShape, frozen=True, kw_only=True):
    """A run with all its results, in the order of its cases."""

    run: Annotated[Json, documented_as(Run)]
    results: Annotated[list[Json], documented_as(list[Result])]


class AgentStatus(WireShape, frozen=True, kw_only=True):
    """How an agent stands, by its newest run that is complete; `run` is null where none is."""

    agent_id: str
    agent_name: Annotated[str | None, Meta(description="Null: the agent is not described")]
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
    warnings: list[str] = []


class StatsGroup(Struct, frozen=True, kw_only=True):
    """Checks of one rule, or results that one party is answerable for."""

    key: Annotated[str, Meta(examples=["BRIEF_RESPONSES", "agent"])]
    passed: int
    failed: int
    errored: int
    skipped: int
    total: int
    pass_rate: float | None
    pass_rate_interval: Interval | None


class Stats(WireShape, frozen=True, kw_only=True):
    """Counts over the newest runs."""

    group_by: Annotated[str, Meta(extra_json_schema={"enum": ["rule", "failure_attribution"]})]
    runs: Annotated[int, Meta(description="The number of runs counted")]
    groups: list[StatsGroup]
