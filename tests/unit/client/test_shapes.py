"""Shapes: whatever the service says is read, kept and sent back; a newer service does not break an older client."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure.api.illustrated_answers import ANSWERED
from howsure.api.illustrations import GIVEN
from howsure.client.wire import admin, bulk, documents, labels, runs
from howsure.client.wire.base import Shape, read, sendable

SHAPES: dict[str, type[Shape]] = {
    "RunShape": runs.Run,
    "ResultShape": runs.Result,
    "EvaluationShape": runs.Evaluation,
    "StandingShape": runs.Standing,
    "RubricShape": documents.Rubric,
    "TestSetShape": documents.TestSet,
    "QuestionSetShape": documents.QuestionSet,
    "ConfigShape": documents.EvaluatorConfig,
    "DatasetShape": documents.Dataset,
    "CaseShape": documents.DatasetCase,
    "BotShape": documents.Bot,
    "BotEditionShape": documents.BotEdition,
    "TypeShape": documents.EvaluatorType,
    "DifferenceShape": documents.Difference,
    "LabelShape": labels.Label,
    "ConcordShape": labels.Concord,
    "KeyShape": admin.Key,
    "NewKeyShape": admin.NewKey,
    "DeedShape": admin.Deed,
    "HealthShape": admin.Health,
    "ImportedShape": bulk.Imported,
}


def test_every_answer_that_the_service_shows_has_its_shape() -> None:
    assert set(SHAPES) == set(ANSWERED)


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_an_answer_is_read_whole(name: str) -> None:
    given = ANSWERED[name]
    found = read(SHAPES[name], given)
    assert found.more == {}, "every field that the service shows is typed"
    for key in given:
        assert hasattr(found, key)


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_what_a_newer_service_adds_is_kept(name: str) -> None:
    found = read(SHAPES[name], {**ANSWERED[name], "brand_new": {"deep": [1]}})
    assert found.more == {"brand_new": {"deep": [1]}}
    assert sendable(found)["brand_new"] == {"deep": [1]}


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_what_was_read_is_sent_back_as_it_came(name: str) -> None:
    given = ANSWERED[name]
    back = msgspec.json.decode(msgspec.json.encode(sendable(read(SHAPES[name], given))))
    assert {key: back[key] for key in given} == msgspec.json.decode(msgspec.json.encode(given))


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_an_answer_without_what_it_must_have_is_refused(name: str) -> None:
    needed = [each.name for each in msgspec.structs.fields(SHAPES[name]) if each.required]
    assert needed
    for missing in needed:
        with pytest.raises(msgspec.ValidationError):
            read(SHAPES[name], {key: value for key, value in ANSWERED[name].items() if key != missing})


def test_the_run_of_an_agent_is_a_run() -> None:
    standing = read(runs.Standing, ANSWERED["StandingShape"])
    assert standing.newest == read(runs.Run, ANSWERED["RunShape"])
    assert read(runs.Standing, {**ANSWERED["StandingShape"], "run": None}).newest is None


def test_times_are_times() -> None:
    run = read(runs.Run, ANSWERED["RunShape"])
    assert run.created_at == datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
    assert (run.completed_at or run.created_at) > run.created_at
    with pytest.raises(msgspec.ValidationError):
        read(runs.Run, {**ANSWERED["RunShape"], "created_at": "yesterday"})


def test_nought_is_not_nothing() -> None:
    """Where nothing could be graded there is nought of nought; where there is no rubric there is nothing."""
    zero = read(
        runs.Run, {**ANSWERED["RunShape"], "criteria_passed": 0, "criteria_total": 0, "rubric_rules_total": None}
    )
    assert (zero.criteria_passed, zero.criteria_total, zero.rubric_rules_total) == (0, 0, None)


def test_a_secret_is_not_shown_when_a_key_is() -> None:
    key = read(admin.NewKey, ANSWERED["NewKeyShape"])
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
    found = read(documents.Rubric, {**more, **body})
    assert found.more == {key: value for key, value in more.items() if key not in documents.Rubric.__struct_fields__}
    sent = sendable(found)
    assert {key: sent[key] for key in more if key not in body} == {
        key: value for key, value in more.items() if key not in body
    }


def test_what_is_not_a_shape_is_sent_as_it_is() -> None:
    body = GIVEN["RubricGiven"]
    assert sendable(body) is body
    assert sendable(None) is None
