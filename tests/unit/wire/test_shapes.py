"""Wire shapes: whatever the service answers is read, kept and sent back, and a newer service does not break an older
client. The client may ask for everything that the service takes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure.api import bodies
from howsure.api.app import DOCUMENT_ROUTES
from howsure.api.openapi import read_examples
from howsure.client import requests
from howsure.wire import admin, analyses, discovery, documents, labels, results, runs
from howsure.wire.base import WireShape, read_shape, sendable_body

EXAMPLES = read_examples()

SHAPES: dict[str, type[WireShape]] = {
    "RunShape": runs.Run,
    "ResultShape": results.Result,
    "EvaluationShape": runs.Evaluation,
    "StandingShape": runs.AgentStatus,
    "RubricShape": documents.Rubric,
    "TestSetShape": documents.TestSet,
    "QuestionSetShape": documents.QuestionSet,
    "ConfigShape": documents.EvaluatorConfig,
    "DatasetShape": documents.UploadedDataset,
    "CaseShape": documents.DatasetCase,
    "BotShape": documents.BotContext,
    "BotEditionShape": documents.BotVersion,
    "TypeShape": documents.EvaluatorType,
    "DifferenceShape": documents.DocumentDifference,
    "LabelShape": labels.HumanLabel,
    "ConcordShape": labels.RunAgreement,
    "KeyShape": admin.ApiKey,
    "NewKeyShape": admin.NewApiKey,
    "DeedShape": admin.AuditEntry,
    "HealthShape": admin.ServiceHealth,
    "ImportedShape": admin.ImportedDocument,
    "ErasureShape": admin.Erasure,
    "WebhookShape": admin.Webhook,
    "NewWebhookShape": admin.NewWebhook,
    "WebhookDeliveryShape": admin.WebhookDelivery,
    "LabelTaskShape": labels.LabelTask,
    "ResultEnvelopeShape": results.ResultEnvelope,
    "CallerIdentityShape": discovery.CallerIdentity,
    "KnownAgentShape": discovery.KnownAgent,
    "OfferedTargetShape": discovery.OfferedTarget,
    "OfferedJudgeShape": discovery.OfferedJudge,
    "OfferedGraderShape": discovery.OfferedGrader,
    "OfferedProfileShape": discovery.OfferedProfile,
    "StatsShape": runs.Stats,
    "RunReportShape": runs.RunReport,
    "GateReportShape": analyses.GateReport,
    "ComparisonAnswerShape": analyses.ComparisonAnswer,
}


def test_every_answer_that_the_service_shows_has_its_shape() -> None:
    # What triage finds is shown as the model has it.
    assert {*SHAPES, "TriageShape"} == set(EXAMPLES.answers)


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_an_answer_is_read_whole(name: str) -> None:
    given = EXAMPLES.answers[name]
    found = read_shape(SHAPES[name], given)
    assert found.more == {}, "every field that the service shows is typed"
    for key in given:
        assert hasattr(found, key)


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_what_a_newer_service_adds_is_kept(name: str) -> None:
    found = read_shape(SHAPES[name], {**EXAMPLES.answers[name], "brand_new": {"deep": [1]}})
    assert found.more == {"brand_new": {"deep": [1]}}
    assert sendable_body(found)["brand_new"] == {"deep": [1]}


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_what_was_read_is_sent_back_as_it_came(name: str) -> None:
    given = EXAMPLES.answers[name]
    back = msgspec.json.decode(msgspec.json.encode(sendable_body(read_shape(SHAPES[name], given))))
    assert {key: back[key] for key in given} == msgspec.json.decode(msgspec.json.encode(given))


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_an_answer_without_what_it_must_have_is_refused(name: str) -> None:
    needed = [each.name for each in msgspec.structs.fields(SHAPES[name]) if each.required]
    assert needed
    for missing in needed:
        with pytest.raises(msgspec.ValidationError):
            read_shape(SHAPES[name], {key: value for key, value in EXAMPLES.answers[name].items() if key != missing})


def test_the_run_of_an_agent_is_a_run() -> None:
    standing = read_shape(runs.AgentStatus, EXAMPLES.answers["StandingShape"])
    assert standing.newest == read_shape(runs.Run, EXAMPLES.answers["RunShape"])
    assert read_shape(runs.AgentStatus, {**EXAMPLES.answers["StandingShape"], "run": None}).newest is None


def test_times_are_times() -> None:
    run = read_shape(runs.Run, EXAMPLES.answers["RunShape"])
    assert run.created_at == datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
    assert (run.completed_at or run.created_at) > run.created_at
    with pytest.raises(msgspec.ValidationError):
        read_shape(runs.Run, {**EXAMPLES.answers["RunShape"], "created_at": "yesterday"})


def test_nought_is_not_nothing() -> None:
    """Where nothing could be graded there is nought of nought; where there is no rubric there is nothing."""
    zero = read_shape(
        runs.Run,
        {**EXAMPLES.answers["RunShape"], "criteria_passed": 0, "criteria_total": 0, "rubric_rules_total": None},
    )
    assert (zero.criteria_passed, zero.criteria_total, zero.rubric_rules_total) == (0, 0, None)


def test_a_secret_is_not_shown_when_a_key_is() -> None:
    key = read_shape(admin.NewApiKey, EXAMPLES.answers["NewKeyShape"])
    assert key.secret == "howsure_this-is-shown-once"
    assert "shown-once" not in repr(key)
    assert "shown-once" not in f"{key}"


@settings(max_examples=100, deadline=None)
@given(
    more=st.dictionaries(
        st.text("abcxyz_", min_size=1, max_size=8),
        st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=3),
        max_size=5,
    )
)
def test_whatever_is_added_goes_there_and_back(more: dict[str, Any]) -> None:
    times = dict.fromkeys(("created_at", "updated_at"), "2026-11-15T09:30:00Z")
    body: dict[str, Any] = {"rubric_id": "r", "agent_id": None, "version": 1, "name": "n", "rules": [], **times}
    found = read_shape(documents.Rubric, {**more, **body})
    assert found.more == {key: value for key, value in more.items() if key not in documents.Rubric.__struct_fields__}
    sent = sendable_body(found)
    assert {key: sent[key] for key in more if key not in body} == {
        key: value for key, value in more.items() if key not in body
    }


def test_what_is_not_a_shape_is_sent_as_it_is() -> None:
    body = EXAMPLES.bodies["RubricGiven"]
    assert sendable_body(body) is body
    assert sendable_body(None) is None


OPTIONS: list[tuple[Any, Any, set[str]]] = [
    (requests.StartRunOptions, bodies.RunGiven, set()),
    (requests.EvaluationOptions, bodies.EvaluationGiven, {"bot_id", "test_set_id"}),
    (requests.RegradeOptions, bodies.RegradeGiven, set()),
    (requests.TranscriptOptions, bodies.TranscriptGiven, {"messages"}),
    (requests.LabelOptions, bodies.LabelGiven, {"result_id", "grader", "opinion"}),
]


@pytest.mark.parametrize(("own", "theirs", "apart"), OPTIONS, ids=lambda kind: getattr(kind, "__name__", ""))
def test_everything_may_be_asked_that_the_service_knows(own: Any, theirs: Any, apart: set[str]) -> None:
    assert set(own.__annotations__) | _inherited(own) | apart == set(theirs.model_fields)


def _inherited(kind: Any) -> set[str]:
    return {name for base in getattr(kind, "__orig_bases__", ()) for name in getattr(base, "__annotations__", {})}


def test_every_shelf_has_its_paths() -> None:
    assert {shelf.path for shelf in DOCUMENT_ROUTES} == {
        "/rubrics",
        "/test-sets",
        "/question-sets",
        "/evaluator-configs",
    }


class Point(WireShape, frozen=True, kw_only=True):
    """A place."""

    x: int
    at: datetime | None = None


def test_what_is_not_known_is_kept_and_goes_back() -> None:
    point = read_shape(Point, {"x": 1, "y": {"z": [2]}, "at": "2026-11-15T09:30:00Z", "more": 3})
    assert (point.x, point.more) == (1, {"y": {"z": [2]}, "more": 3})
    assert point.at == datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
    assert sendable_body(point) == {"x": 1, "y": {"z": [2]}, "more": 3, "at": "2026-11-15T09:30:00Z"}
    assert sendable_body({"x": 1}) == {"x": 1}


@pytest.mark.parametrize("given", [{}, {"x": "1"}, [], None, "text"])
def test_what_is_no_shape_is_refused(given: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        read_shape(Point, given)


@pytest.mark.parametrize(
    ("state", "status", "live"),
    [("pending", "pending", True), ("running", "running", True), ("paused", "pending", False),
     ("completed", "completed", False), ("cancelled", "failed", False), ("", "running", True)],
)  # fmt: skip
def test_a_run_lives_while_somebody_will_work_on_it(state: str, status: str, live: bool) -> None:
    run = read_shape(runs.Run, {**EXAMPLES.answers["RunShape"], "state": state, "status": status})
    assert run.is_live is live
