"""What a client raises: one class for each thing that a caller might do about it, with all that the service said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure.client.errors import (
    KINDS,
    SHOWN,
    Conflicting,
    Invalid,
    RequestProblem,
    ResourceNotFound,
    ServiceError,
    Unavailable,
    VersionConflict,
    WaitedTooLong,
    error_of,
    unreadable,
)
from howsure.errors import Conflict, HowsureError, InputError, NotFound

PLACE = "GET http://127.0.0.1:8002/api/v1/runs"


def said(status: int, **body: Any) -> ServiceError:
    whole = {"error": "some_kind", "detail": "a sentence", **body}
    return error_of(status, json.dumps(whole).encode(), PLACE, "r1")


@pytest.mark.parametrize(
    ("kind", "also"),
    [
        (ResourceNotFound, NotFound),
        (ResourceNotFound, InputError),
        (Conflicting, Conflict),
        (VersionConflict, Conflict),
        (Invalid, InputError),
        (WaitedTooLong, TimeoutError),
        (Unavailable, ServiceError),
    ],
)
def test_an_error_is_caught_as_what_it_also_is(kind: type[ServiceError], also: type[Exception]) -> None:
    error = kind("a sentence", kind="k", status=1, request_id="r1")
    assert isinstance(error, also)
    assert isinstance(error, HowsureError)
    assert (error.detail, error.kind, error.status, error.problems, error.request_id) == (
        "a sentence",
        "k",
        1,
        (),
        "r1",
    )


@pytest.mark.parametrize("status", [*KINDS, 429, 500, 418])
def test_a_status_has_its_class_and_what_has_none_is_plain(status: int) -> None:
    error = said(status)
    assert type(error) is KINDS.get(status, ServiceError)
    assert (error.status, error.kind, error.detail, str(error)) == (status, "some_kind", "a sentence", "a sentence")


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>Bad gateway</html>", b"null", b"[]", b'{"error": 1, "detail": 2}', b'{"detail": "x"}', b"\xff\xfe",
     b'{"error": "x", "detail": "y", "problems": [1]}'],
    ids=["nothing", "a page", "null", "a list", "other types", "no kind", "not text", "odd problems"],
)  # fmt: skip
def test_what_is_not_the_services_own_is_named_as_that(body: bytes) -> None:
    error = error_of(502, body, PLACE)
    assert isinstance(error, Unavailable)
    assert str(error) == f"{PLACE} answered 502, and not as the service does: is this the service's address?"
    assert error.problems == ()


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        ({"message": "is odd"}, "is odd"),
        ({"message": "is odd", "field": "rules[0].id"}, "`rules[0].id`: is odd"),
        ({"message": "is odd", "line": 3}, "line 3: is odd"),
        ({"message": "is odd", "line": 3, "field": "id"}, "line 3 `id`: is odd"),
        ({"message": "is odd", "hint": "send another"}, "is odd (send another)"),
        ({"message": "is odd", "line": 0, "code": "c", "column": 7}, "line 0: is odd"),
    ],
    ids=["alone", "a field", "a line", "both", "a hint", "the first line"],
)
def test_a_problem_says_where_it_is(problem: dict[str, Any], told: str) -> None:
    (found,) = said(422, problems=[problem]).problems
    assert str(found) == told
    assert str(said(422, problems=[problem])) == f"a sentence: {told}"


@settings(max_examples=50, deadline=None)
@given(number=st.integers(0, 20))
def test_a_message_tells_so_many_and_the_error_has_all(number: int) -> None:
    error = said(422, problems=[{"message": f"m{place}"} for place in range(number)])
    assert len(error.problems) == number
    assert [str(each) for each in error.problems] == [f"m{place}" for place in range(number)]
    assert str(error).count("; m") == max(0, min(number, SHOWN) - 1)
    assert (f"; and {number - SHOWN} more" in str(error)) == (number > SHOWN)


def test_fields_that_are_new_do_no_harm() -> None:
    """A newer service may say more of a problem than this client knows."""
    error = said(422, problems=[{"message": "m", "colour": "green"}], trace="t")
    assert error.problems == (RequestProblem(message="m"),)


def test_an_answer_that_cannot_be_read_says_whose() -> None:
    error = unreadable(PLACE, ValueError("expected `int`"))
    assert (str(error), error.kind, error.status) == (
        f"the answer of {PLACE} cannot be read: expected `int`",
        "unreadable",
        None,
    )


def test_nobody_is_asked_to_wait_unless_the_service_says_so() -> None:
    assert said(503).retry_after == 0.0
