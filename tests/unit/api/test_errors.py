"""Errors on the wire: the status that fits, one shape, and nothing of our insides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from howsure.api.errors import BROKEN, ERRORS, OPERATOR, UNAVAILABLE, answer_error, error_answer, field_place
from howsure.errors import (
    ConfigInvalid,
    Conflict,
    DatasetInvalid,
    HowsureError,
    InputError,
    JudgeFailed,
    NotFound,
    PlanRefused,
    Problem,
    Unreachable,
)

OURS = (Path("/srv/howsure/.howsure"), Path("/tmp"))


def told(error: HowsureError) -> tuple[int, dict[str, Any]]:
    answer = answer_error(error, OURS)
    body: dict[str, Any] = json.loads(bytes(answer.body))
    assert body["error"] == ERRORS[answer.status_code][0]
    return answer.status_code, body


@pytest.mark.parametrize(
    ("error", "status", "detail"),
    [
        (NotFound("there is no rubric x"), 404, "there is no rubric x"),
        (Conflict("somebody was faster"), 409, "somebody was faster"),
        (PlanRefused("a run needs cases"), 422, "a run needs cases"),
        (InputError("odd"), 422, "odd"),
        (ConfigInvalid("howsure.yaml: the password is hunter2"), 500, OPERATOR),
        (Unreachable("postgresql://me:secret@db cannot be reached"), 503, UNAVAILABLE),
        (JudgeFailed("Traceback in /home/x"), 500, BROKEN),
    ],
    ids=["missing", "conflict", "refused", "odd", "settings", "database", "ours"],
)
def test_every_error_has_its_status(error: HowsureError, status: int, detail: str) -> None:
    listed = {"problems": [{"code": "refused", "field": "", "message": detail}]} if status == 422 else {}
    assert told(error) == (status, {"error": ERRORS[status][0], "detail": detail, **listed})


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ("since: 'now' is not a time", "since"),
        ("`match` is for plain tables", "match"),
        ("--budget in USD needs a price", "budget"),
        ("items[2]: odd", "items[2]"),
        ("gate 'x', column 1: odd", ""),
        ("the url: odd", ""),
    ],
)
def test_a_message_that_begins_with_a_field_is_of_that_field(message: str, field: str) -> None:
    assert told(PlanRefused(message))[1]["problems"][0]["field"] == field


def test_whoever_may_try_again_is_told_when() -> None:
    assert answer_error(Unreachable("away")).headers["retry-after"] == "5"
    assert "retry-after" not in answer_error(NotFound("x")).headers


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("/tmp/tmpa1/dataset.csv: not recognised", "dataset.csv: not recognised"),
        ("/srv/howsure/.howsure/documents/ab12/cases.jsonl line 3", "cases.jsonl line 3"),
        ("/etc/passwd", "/etc/passwd"),
        ("see /tmp/a/b.json and /tmp/c.json", "see b.json and c.json"),
    ],
)
def test_our_own_files_are_called_by_their_names_alone(message: str, shown: str) -> None:
    assert told(PlanRefused(message))[1]["detail"] == shown


def test_every_problem_is_told_without_the_name_of_our_file() -> None:
    problems = [
        Problem(code="bad-id", message="/tmp/x/dataset.jsonl is odd", file="/tmp/x/dataset.jsonl", line=3, field="id"),
        Problem(code="empty-file", message="nothing", file="/tmp/x/dataset.jsonl", hint="send something"),
    ]
    status, body = told(DatasetInvalid("/tmp/x/dataset.jsonl", problems))
    assert (status, body["detail"]) == (422, "2 problems: see `problems`; nothing was stored")
    assert body["problems"] == [
        {"code": "bad-id", "message": "dataset.jsonl is odd", "line": 3, "field": "id"},
        {"code": "empty-file", "message": "nothing", "field": "", "hint": "send something"},
    ]
    one = json.loads(bytes(answer_error(DatasetInvalid("x", problems[:1])).body))
    assert one["detail"] == "id: /tmp/x/dataset.jsonl is odd"
    read = json.loads(bytes(answer_error(DatasetInvalid("x", problems), reads=True).body))
    assert read["detail"] == "2 problems: see `problems`"


@pytest.mark.parametrize(
    ("parts", "place"),
    [
        (("body",), "body"),
        (("body", "items", 2, "name"), "items[2].name"),
        (("query", "limit"), "limit"),
        (("body", 0), "[0]"),
        (("body", "rules", 1, "examples", "correct"), "rules[1].examples.correct"),
    ],
)
def test_a_field_is_named_as_people_write_it(parts: tuple[Any, ...], place: str) -> None:
    assert field_place(parts) == place


def test_problems_are_there_only_where_there_are_some() -> None:
    assert json.loads(bytes(error_answer(404, "x").body)) == {"error": "not_found", "detail": "x"}
    assert json.loads(bytes(error_answer(422, "x", problems=[]).body))["problems"] == []
    assert json.loads(bytes(error_answer(418, "x").body))["error"] == "error"
