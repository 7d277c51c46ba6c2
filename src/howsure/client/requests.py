"""The keyword arguments of the client's methods. What is left out is decided by the service."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

Scope = Literal["prompt", "knowledge_base", "function", "general"]


class RunOptions(TypedDict, total=False):
    """What may be asked of any run. `eval_model` is the judge, `item_ids` are the ids of cases."""

    rubric_id: str
    rubric_version: int
    rubric_ids: list[str]
    config_id: str
    concurrency: int
    eval_model: str
    target: str
    simulator: str
    profile: str
    limit: int
    item_ids: list[str]
    repeat: int
    budget: str
    initial_payload: dict[str, Any]
    component_scope: Scope
    component_ids: list[str]
    gates: list[str]
    until_sure: str
    tags: list[str]
    name: str
    engine: Literal["local", "ray"]


class StartRunOptions(RunOptions, total=False):
    """A run over one of a dataset, a question set and a test set."""

    dataset_id: str
    question_set_id: str
    question_set_version: int
    test_set_id: str
    test_set_version: int
    agent_id: str
    map: dict[str, str]
    match: Literal["exact", "includes", "regex", "numeric"]


class EvaluationOptions(RunOptions, total=False):
    """A run over a test set; `mode="transcript"` grades the conversations of earlier results."""

    test_set_version: int
    keep: bool
    mode: Literal["transcript"]
    conversation_ids: list[str]


class RegradeOptions(TypedDict, total=False):
    """By what the answers of a run are graded again."""

    rubric_id: str
    rubric_version: int
    test_set_version: int
    eval_model: str
    profile: str
    name: str


class TranscriptOptions(TypedDict, total=False):
    """What a finished conversation is graded against."""

    tool_calls: list[dict[str, Any]]
    state: dict[str, Any]
    success_criteria: list[str]
    test_set_id: str
    rubric_id: str
    bot_id: str
    eval_model: str
    component_scope: Scope
    component_ids: list[str]


class StatsOptions(TypedDict, total=False):
    """Which runs are counted, and by what."""

    group_by: Literal["rule", "failure_attribution"]
    run_id: str
    agent_id: str
    since: str
    limit: int


class LabelOptions(TypedDict, total=False):
    """Optional fields of a label. `criterion_id`: of a criterion or a rule, or its exact text; `blind`: the labeler had
    not seen the judge's verdict; `labeler`: the person, where it is not the owner of the key; `drawn`: how likely the
    answer was to be drawn, as `labels.next` says."""

    criterion_id: str
    why: str
    blind: bool
    labeler: str
    drawn: float


class ResultOptions(TypedDict, total=False):
    """Which results, of all runs. `since` is a time: only of runs that were created after it."""

    agent_id: str
    failed_only: bool
    rule_id: str
    since: str
