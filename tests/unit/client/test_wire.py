"""The client's shapes are the service's: held against what the service says of itself in OpenAPI."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from howsure.api.app import SHELVES
from howsure.api.illustrated_answers import ANSWERED
from howsure.api.routes.admin import DeedShape, KeyShape, NewKeyShape
from howsure.api.routes.bulk import ImportedShape
from howsure.api.routes.health import HealthShape
from howsure.api.wire import datasets, labels, rubrics, runs, test_sets
from howsure.api.wire import orders as asked
from howsure.api.wire.base import ChangeShape
from howsure.client.wire import admin, documents, orders
from howsure.client.wire import bulk as own_bulk
from howsure.client.wire import labels as own_labels
from howsure.client.wire import runs as own_runs
from howsure.client.wire.base import Shape, read, sendable

PAIRS: list[tuple[type[msgspec.Struct], Any]] = [
    (own_runs.Run, runs.RunShape),
    (own_runs.Result, runs.ResultShape),
    (own_runs.CriterionScore, runs.CriterionScore),
    (own_runs.RuleScore, runs.RuleScore),
    (own_runs.ComponentScore, runs.ComponentScore),
    (own_runs.Tally, runs.TallyShape),
    (own_runs.Totals, runs.TotalsShape),
    (own_runs.Spent, runs.SpentShape),
    (own_runs.Pin, runs.PinShape),
    (own_runs.Evaluation, runs.EvaluationShape),
    (own_runs.Standing, runs.StandingShape),
    (documents.Rubric, rubrics.RubricShape),
    (documents.TestSet, test_sets.TestSetShape),
    (documents.QuestionSet, test_sets.QuestionSetShape),
    (documents.EvaluatorConfig, datasets.ConfigShape),
    (documents.Dataset, datasets.DatasetShape),
    (documents.DatasetCase, datasets.CaseShape),
    (documents.Bot, datasets.BotShape),
    (documents.BotEdition, datasets.BotEditionShape),
    (documents.Change, ChangeShape),
    (documents.EvaluatorType, datasets.TypeShape),
    (documents.Difference, test_sets.DifferenceShape),
    (own_labels.Label, labels.LabelShape),
    (own_labels.Concord, labels.ConcordShape),
    (own_labels.Agreement, labels.AgreementShape),
    (own_labels.Confusion, labels.ConfusionShape),
    (own_labels.Together, labels.TogetherShape),
    (own_bulk.Imported, ImportedShape),
    (admin.Key, KeyShape),
    (admin.NewKey, NewKeyShape),
    (admin.Deed, DeedShape),
    (admin.Health, HealthShape),
]
ASKED: list[tuple[Any, Any, set[str]]] = [
    (orders.RunWanted, asked.RunGiven, set()),
    (orders.EvaluationWanted, asked.EvaluationGiven, {"bot_id", "test_set_id"}),
    (orders.RegradeWanted, asked.RegradeGiven, set()),
    (orders.TranscriptWanted, asked.TranscriptGiven, {"messages"}),
    (orders.LabelWanted, labels.LabelGiven, {"result_id", "grader", "opinion"}),
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
    assert {shelf.path for shelf in SHELVES} == {"/rubrics", "/test-sets", "/question-sets", "/evaluator-configs"}


class Point(Shape, frozen=True, kw_only=True):
    """A place."""

    x: int
    at: datetime | None = None


def test_what_is_not_known_is_kept_and_goes_back() -> None:
    point = read(Point, {"x": 1, "y": {"z": [2]}, "at": "2026-11-15T09:30:00Z", "more": 3})
    assert (point.x, point.more) == (1, {"y": {"z": [2]}, "more": 3})
    assert point.at == datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
    assert sendable(point) == {"x": 1, "y": {"z": [2]}, "more": 3, "at": "2026-11-15T09:30:00Z"}
    assert sendable({"x": 1}) == {"x": 1}


@pytest.mark.parametrize("given", [{}, {"x": "1"}, [], None, "text"])
def test_what_is_no_shape_is_refused(given: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        read(Point, given)


@pytest.mark.parametrize(
    ("state", "status", "live"),
    [("pending", "pending", True), ("running", "running", True), ("paused", "pending", False),
     ("completed", "completed", False), ("cancelled", "failed", False), ("", "running", True)],
)  # fmt: skip
def test_a_run_lives_while_somebody_will_work_on_it(state: str, status: str, live: bool) -> None:
    run = read(own_runs.Run, {**ANSWERED["RunShape"], "state": state, "status": status})
    assert run.is_live is live
