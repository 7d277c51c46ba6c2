"""The client's shapes are the service's: held against what the service says of itself in OpenAPI."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from howsure.api.wire import datasets, labels, rubrics, runs, test_sets
from howsure.api.wire import orders as asked
from howsure.api.wire.base import ChangeShape

from howsure.api.app import DOCUMENT_ROUTES
from howsure.api.examples import ANSWERS
from howsure.api.routes.admin import DeedShape, KeyShape, NewKeyShape
from howsure.api.routes.bulk import ImportedShape
from howsure.api.routes.health import HealthShape
from howsure.client import requests
from howsure.wire import admin, documents
from howsure.wire import bulk as own_bulk
from howsure.wire import labels as own_labels
from howsure.wire import runs as own_runs
from howsure.wire.base import WireShape, read_shape, sendable_body

PAIRS: list[tuple[type[msgspec.Struct], Any]] = [
    (own_runs.Run, runs.RunShape),
    (own_runs.Result, runs.ResultShape),
    (own_runs.CriterionScore, runs.CriterionScore),
    (own_runs.RuleScore, runs.RuleScore),
    (own_runs.ComponentScore, runs.ComponentScore),
    (own_runs.Tally, runs.TallyShape),
    (own_runs.CandidateTotals, runs.TotalsShape),
    (own_runs.ModelSpending, runs.SpentShape),
    (own_runs.DatasetPin, runs.PinShape),
    (own_runs.Evaluation, runs.EvaluationShape),
    (own_runs.AgentStatus, runs.StandingShape),
    (documents.Rubric, rubrics.RubricShape),
    (documents.TestSet, test_sets.TestSetShape),
    (documents.QuestionSet, test_sets.QuestionSetShape),
    (documents.EvaluatorConfig, datasets.ConfigShape),
    (documents.UploadedDataset, datasets.DatasetShape),
    (documents.DatasetCase, datasets.CaseShape),
    (documents.BotContext, datasets.BotShape),
    (documents.BotVersion, datasets.BotEditionShape),
    (documents.Revision, ChangeShape),
    (documents.EvaluatorType, datasets.TypeShape),
    (documents.DocumentDifference, test_sets.DifferenceShape),
    (own_labels.HumanLabel, labels.LabelShape),
    (own_labels.RunAgreement, labels.ConcordShape),
    (own_labels.Agreement, labels.AgreementShape),
    (own_labels.ConfusionCounts, labels.ConfusionShape),
    (own_labels.AnnotatorAgreement, labels.TogetherShape),
    (own_bulk.ImportedDocument, ImportedShape),
    (admin.ApiKey, KeyShape),
    (admin.NewApiKey, NewKeyShape),
    (admin.AuditEntry, DeedShape),
    (admin.ServiceHealth, HealthShape),
]
ASKED: list[tuple[Any, Any, set[str]]] = [
    (requests.StartRunOptions, asked.RunGiven, set()),
    (requests.EvaluationOptions, asked.EvaluationGiven, {"bot_id", "test_set_id"}),
    (requests.RegradeOptions, asked.RegradeGiven, set()),
    (requests.TranscriptOptions, asked.TranscriptGiven, {"messages"}),
    (requests.LabelOptions, labels.LabelGiven, {"result_id", "grader", "opinion"}),
]


@pytest.mark.parametrize(("own", "theirs"), PAIRS, ids=lambda kind: kind.__name__)
def test_every_published_field_is_typed(own: type[msgspec.Struct], theirs: Any) -> None:
    assert set(theirs.model_fields) - set(own.__struct_fields__) == set()


@pytest.mark.parametrize(("own", "theirs"), PAIRS, ids=lambda kind: kind.__name__)
def test_nothing_is_required_that_the_service_may_leave_out(own: type[msgspec.Struct], theirs: Any) -> None:
    needed = {each.name for each in msgspec.structs.fields(own) if each.required}
    assert needed <= {name for name, field in theirs.model_fields.items() if field.is_required()}


@pytest.mark.parametrize(("own", "theirs", "apart"), ASKED, ids=lambda kind: getattr(kind, "__name__", ""))
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
    run = read_shape(own_runs.Run, {**ANSWERS["RunShape"], "state": state, "status": status})
    assert run.is_live is live
