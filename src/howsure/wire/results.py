"""Results, in both scoring eras: runs over a dataset answer V1 (`scores`), runs over a test set V2 (`criteria_scores`
and `rubric_scores`; `scores` too). The fields of the published shape come first; what Howsure adds comes after."""

# ruff: noqa: RUF012
# Empty defaults are safe here: msgspec makes a new list or dict for each struct.
from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from howsure.model.flag import Flag
from howsure.model.result import Failure
from howsure.model.simulation import Fault, Simulation
from howsure.model.transcript import Usage
from howsure.wire.base import OMITTABLE, Json, WireShape, documented_as

Severity = Annotated[str, Meta(extra_json_schema={"enum": ["high", "medium", "low"]})]
VerdictName = Annotated[str, Meta(extra_json_schema={"enum": ["passed", "failed", "errored", "skipped", "damaged"]})]
CheckStatus = Annotated[str, Meta(examples=["scored", "error", "not_applicable", "no_judge"])]


class CriterionScore(Struct, frozen=True, kw_only=True):
    """One criterion of a result; `passed` and `score` are null where it could not be judged, and `status` says why."""

    criterion: str
    passed: bool | None
    score: float | None
    reasoning: str | None = None
    status: CheckStatus = ""
    criterion_id: Annotated[str, Meta(description="Names it in labels", examples=["8f14e45fceea"])] = ""
    weight: Annotated[float | UnsetType, OMITTABLE] = UNSET
    severity: Annotated[Severity | UnsetType, OMITTABLE] = UNSET
    evidence: Annotated[list[str] | UnsetType, OMITTABLE] = UNSET


class RuleScore(Struct, frozen=True, kw_only=True):
    """One rule of a result; `passed` and `score` are null where it could not be judged."""

    rule_id: str
    rule_name: str
    severity: Severity
    passed: bool | None
    score: float | None
    reasoning: str | None = None
    status: CheckStatus = ""
    component_scope: str | None = None


class ResultInput(Struct, frozen=True, kw_only=True):
    """What was put to the agent: `message` of a single turn, `persona`, `initial_message`, `max_turns` of a scenario,
    `turns` of a script."""

    message: Annotated[str | None, OMITTABLE] = None
    persona: Annotated[str | None, OMITTABLE] = None
    initial_message: Annotated[str | None, OMITTABLE] = None
    max_turns: Annotated[int | None, OMITTABLE] = None
    turns: Annotated[list[str] | None, OMITTABLE] = None
    goal: Annotated[str | None, OMITTABLE] = None
    facts: Annotated[list[Json] | None, OMITTABLE] = None
    conversation_plan: Annotated[list[Json] | None, OMITTABLE] = None
    context: Annotated[str | None, OMITTABLE] = None
    history: Annotated[list[Json] | None, OMITTABLE] = None
    attachments: Annotated[list[Json] | None, OMITTABLE] = None
    messages: Annotated[list[Json] | None, OMITTABLE] = None
    voice_metrics: Annotated[Json | None, OMITTABLE] = None


class ResultMessage(Struct, frozen=True, kw_only=True):
    """One thing that was said."""

    role: Annotated[str, Meta(examples=["user", "assistant"])]
    content: str
    agent: Annotated[str | None, OMITTABLE] = None


class ToolCallResult(Struct, frozen=True, kw_only=True):
    """What a tool answered."""

    content: Any
    failed: bool


class ToolCallRecord(Struct, frozen=True, kw_only=True):
    """A tool that the agent called."""

    name: str
    arguments: Any
    id: str | None
    result: ToolCallResult | None


class ResultOutput(Struct, frozen=True, kw_only=True):
    """What was said and done."""

    messages: list[ResultMessage]
    tool_calls: list[ToolCallRecord]
    state: Json | None
    answer: str | None
    usage: Usage | None


class GraderScore(Struct, frozen=True, kw_only=True):
    """What one grader measured, on its own scale; null where it could not."""

    score: float | None
    comment: Annotated[
        str, Meta(description="JSON with `passed`, `status`, `scale`, `pass_mark`, `reason` and `details`")
    ]


class FailureAttribution(Struct, frozen=True, kw_only=True):
    """Who is answerable for a result that did not pass, for what, and how sure that is."""

    party: Annotated[
        str,
        Meta(
            extra_json_schema={
                "enum": [
                    "agent",
                    "evaluation",
                    "test_design",
                    "retrieval",
                    "simulator",
                    "environment",
                    "judge",
                ]
            }
        ),
    ]
    cause: Annotated[str, Meta(examples=["rule_broken"])]
    confidence: Annotated[str, Meta(extra_json_schema={"enum": ["certain", "likely", "possible"]})]
    why: str


SCORES = documented_as(dict[str, GraderScore] | None, "By grader: the older shape, which V2 results have too")


class Result(WireShape, frozen=True, kw_only=True):
    """One case in one run."""

    result_id: str
    run_id: str
    test_case_id: str
    langsmith_run_id: Any | None = None
    input: Annotated[Json, documented_as(ResultInput)]
    output: Annotated[Json, documented_as(ResultOutput)]
    scores: Annotated[Json | None, SCORES]
    item_name: str | None
    item_type: str | None
    criteria_scores: list[CriterionScore] | None
    criteria_passed: bool | None
    rubric_scores: list[RuleScore] | None
    rubric_passed: bool | None
    passed: bool | None
    duration_ms: int
    created_at: datetime | None
    candidate: str = ""
    repeat: int = 1
    verdict: VerdictName = ""
    error: str | None = None
    reasons: Annotated[list[str], Meta(description="Why the verdict is what it is")] = []
    failures: Annotated[list[Json], documented_as(list[Failure], "What broke")] = []
    input_kind: Annotated[str, Meta(examples=["single_turn", "scenario", "script"])] = ""
    simulation: Annotated[Json | None, documented_as(Simulation | None, "The user's side, where it was simulated")] = (
        None
    )
    fault: Annotated[
        Json | None,
        documented_as(Fault | None, "Who is answerable for a simulated conversation that did not pass"),
    ] = None
    flags: Annotated[list[Json], documented_as(list[Flag], "What a reader must know besides the verdict")] = []
    tags: list[str] = []
    labels: dict[str, str] = {}
    failure_attribution: Annotated[
        FailureAttribution | None,
        Meta(description="Judged by this result alone; triage looks at the whole run. Null: it did not fail"),
    ] = None


class ResultEnvelope(WireShape, frozen=True, kw_only=True):
    """A page of results with its account. `total` counts all that fit; `next_cursor` is null on the last page."""

    items: Annotated[list[Json], documented_as(list[Result])]
    total: int
    next_cursor: str | None
