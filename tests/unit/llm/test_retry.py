"""What a failed attempt means, how long to wait, and when to give up."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from howsure.llm.retry import (
    FailureKind,
    RetryPolicy,
    quote_body,
    response_failure,
    retry,
    retry_after,
    transport_failure,
    unreadable_failure,
)
from howsure.llm.transport import HttpResponse, TransportError, TransportFault

NOON = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 520, 529, 599])
def test_these_may_be_gone_next_time(status: int) -> None:
    kind = FailureKind.OVERLOADED if status in (429, 503, 529) else FailureKind.PASSING
    assert response_failure(HttpResponse(status, {}, b""), lambda: NOON).kind is kind


@pytest.mark.parametrize("status", [301, 307, 400, 401, 402, 403, 404, 413, 415, 422])
def test_these_would_be_the_same_next_time(status: int) -> None:
    assert response_failure(HttpResponse(status, {}, b""), lambda: NOON).kind is FailureKind.FINAL


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "Sun, 15 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sun, 15 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "Sun, 15 Nov 2026 12:00:30 GMT", "date": "Sun, 15 Nov 2026 12:00:20 GMT"}, 10.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "tomorrow"}, None),
        ({"retry-after": ""}, None),
    ],
    ids=str,
)
def test_what_the_server_asks_for_is_understood(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, lambda: NOON) == seconds


@pytest.mark.parametrize(
    ("failed", "alone", "longest"),
    [
        (1, False, 0.25),
        (2, False, 0.5),
        (3, False, 1.0),
        (8, False, 30.0),
        (10_000, False, 30.0),
        (1, True, 0.25),
        (4, True, 2.0),
        (5, True, 2.0),
        (10_000, True, 2.0),
    ],
)
def test_pauses_are_anything_up_to_a_bound_that_doubles(failed: int, alone: bool, longest: float) -> None:
    policy = RetryPolicy()
    assert policy.pause(failed, None, alone, lambda: 0.0) == 0.0
    assert policy.pause(failed, None, alone, lambda: 1.0) == longest


def test_a_pause_that_was_asked_for_is_kept_and_spread_a_little() -> None:
    assert RetryPolicy().pause(1, 20.0, True, lambda: 0.0) == 20.0
    assert RetryPolicy().pause(9, 20.0, False, lambda: 1.0) == 20.25


@pytest.mark.parametrize(
    ("status", "body", "kind", "message"),
    [
        (
            400,
            b'{"error": {"message": "bad temperature", "code": "x"}}',
            FailureKind.FINAL,
            "HTTP 400: bad temperature",
        ),
        (401, b'{"type": "error", "error": {"type": "a", "message": "no key"}}', FailureKind.FINAL, "HTTP 401: no key"),
        (404, b'{"error": "model not found"}', FailureKind.FINAL, "HTTP 404: model not found"),
        (422, b'{"detail": [{"loc": ["body"]}]}', FailureKind.FINAL, 'HTTP 422: [{"loc":["body"]}]'),
        (400, b'[{"error": {"message": "API key not valid"}}]', FailureKind.FINAL, "HTTP 400: API key not valid"),
        (500, b"<html>\n  oops</html>", FailureKind.PASSING, "HTTP 500: <html> oops</html>"),
        (502, b"", FailureKind.PASSING, "HTTP 502: "),
        (408, b"{}", FailureKind.PASSING, "HTTP 408: {}"),
        (429, b'{"message": "slow down"}', FailureKind.OVERLOADED, "HTTP 429: slow down"),
        (503, b'{"error": null}', FailureKind.OVERLOADED, 'HTTP 503: {"error": null}'),
        (529, b"\xff\xfe", FailureKind.OVERLOADED, "HTTP 529: \ufffd\ufffd"),
    ],
)
def test_the_status_decides_and_the_words_are_for_people(
    status: int, body: bytes, kind: FailureKind, message: str
) -> None:
    failed = response_failure(HttpResponse(status, {}, body), lambda: NOON)
    assert (failed.kind, failed.message, failed.status) == (kind, message, status)


def test_a_transient_word_does_not_make_a_final_status_transient() -> None:
    assert (
        response_failure(HttpResponse(400, {}, b'{"error": "rate limit, try again later"}'), lambda: NOON).kind
        is FailureKind.FINAL
    )


def test_a_redirect_is_not_followed_and_says_where_it_leads() -> None:
    failed = response_failure(HttpResponse(308, {"location": "https://new/v1"}, b""), lambda: NOON)
    assert failed.kind is FailureKind.FINAL
    assert failed.message == "HTTP 308: redirected to https://new/v1: set that as the address"


@pytest.mark.parametrize(
    ("headers", "body", "asked"),
    [
        ({"retry-after": "3"}, b"", 3.0),
        ({}, b'{"error": {"details": [{"@type": "x"}, {"retryDelay": "34.5s"}]}}', 34.5),
        ({"retry-after": "3"}, b'{"error": {"details": [{"retryDelay": "34s"}]}}', 3.0),
        ({}, b'{"error": {"details": "soon"}}', None),
        ({}, b'{"error": {"details": [{"retryDelay": "soon"}]}}', None),
    ],
)
def test_the_pause_is_found_in_header_or_body(headers: dict[str, str], body: bytes, asked: float | None) -> None:
    assert response_failure(HttpResponse(429, headers, body), lambda: NOON).wait_seconds == asked


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [
        (TransportFault.TIMEOUT, FailureKind.TIMED_OUT),
        (TransportFault.CONNECTION, FailureKind.PASSING),
        (TransportFault.TLS, FailureKind.FINAL),
        (TransportFault.TOO_LARGE, FailureKind.FINAL),
    ],
)
def test_without_a_response_the_kind_of_trouble_decides(trouble: TransportFault, kind: FailureKind) -> None:
    failed = transport_failure(TransportError(trouble, "why"))
    assert (failed.kind, failed.message, failed.has_reply) == (kind, "why", False)


def test_a_reply_without_an_answer_is_quoted() -> None:
    failed = unreadable_failure(HttpResponse(200, {}, b"I am\nnot JSON"), ValueError("why"))
    assert failed.message == "HTTP 200 without an answer (why): I am not JSON"
    assert unreadable_failure(HttpResponse(200, {}, b""), ValueError("why")).message.endswith(": an empty body")


def test_quotes_are_short() -> None:
    assert quote_body(b"x" * 10_000) == "x" * 300 + "…"


@pytest.mark.parametrize(
    ("script", "outcome", "attempts"),
    [
        (["fine"], "fine", 1),
        (["busy", "fine"], "fine", 2),
        ([OSError("away"), "fine"], "fine", 2),
        (["busy", "busy", "busy"], "busy", 3),
        (["busy", "busy", OSError("away")], "away", 3),
        ([ValueError("no")], "no", 1),
    ],
    ids=["at once", "second", "after an error", "never", "the last error", "another error"],
)
async def test_attempts_are_repeated_until_one_is_no_failure(
    script: list[str | Exception], outcome: str, attempts: int
) -> None:
    made = 0

    async def attempt() -> str:
        nonlocal made
        made += 1
        step = script[made - 1]
        if isinstance(step, Exception):
            raise step
        return step

    try:
        result = await retry(attempt, (0.0, 0.0), OSError, lambda text: text == "busy")
    except (OSError, ValueError) as error:
        result = str(error)
    assert (result, made) == (outcome, attempts)
