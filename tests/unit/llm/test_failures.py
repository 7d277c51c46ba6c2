"""What a failed attempt says, and what is to be done about it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from howsure.llm.failures import Kind, of_no_response, of_response, of_unreadable, quoted
from howsure.llm.wire import NoResponse, Response, Trouble


def now() -> datetime:
    return datetime(2026, 11, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "body", "kind", "message"),
    [
        (400, b'{"error": {"message": "bad temperature", "code": "x"}}', Kind.FINAL, "HTTP 400: bad temperature"),
        (401, b'{"type": "error", "error": {"type": "a", "message": "no key"}}', Kind.FINAL, "HTTP 401: no key"),
        (404, b'{"error": "model not found"}', Kind.FINAL, "HTTP 404: model not found"),
        (422, b'{"detail": [{"loc": ["body"]}]}', Kind.FINAL, 'HTTP 422: [{"loc":["body"]}]'),
        (400, b'[{"error": {"message": "API key not valid"}}]', Kind.FINAL, "HTTP 400: API key not valid"),
        (500, b"<html>\n  oops</html>", Kind.PASSING, "HTTP 500: <html> oops</html>"),
        (502, b"", Kind.PASSING, "HTTP 502: "),
        (408, b"{}", Kind.PASSING, "HTTP 408: {}"),
        (429, b'{"message": "slow down"}', Kind.OVERLOADED, "HTTP 429: slow down"),
        (503, b'{"error": null}', Kind.OVERLOADED, 'HTTP 503: {"error": null}'),
        (529, b"\xff\xfe", Kind.OVERLOADED, "HTTP 529: \ufffd\ufffd"),
    ],
)
def test_the_status_decides_and_the_words_are_for_people(status: int, body: bytes, kind: Kind, message: str) -> None:
    failed = of_response(Response(status, {}, body), now)
    assert (failed.kind, failed.message, failed.status) == (kind, message, status)


def test_a_transient_word_does_not_make_a_final_status_transient() -> None:
    assert of_response(Response(400, {}, b'{"error": "rate limit, try again later"}'), now).kind is Kind.FINAL


def test_a_redirect_is_not_followed_and_says_where_it_leads() -> None:
    failed = of_response(Response(308, {"location": "https://new/v1"}, b""), now)
    assert failed.kind is Kind.FINAL
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
    assert of_response(Response(429, headers, body), now).asked == asked


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [
        (Trouble.TIMEOUT, Kind.TIMED_OUT),
        (Trouble.CONNECTION, Kind.PASSING),
        (Trouble.TLS, Kind.FINAL),
        (Trouble.TOO_LARGE, Kind.FINAL),
    ],
)
def test_without_a_response_the_kind_of_trouble_decides(trouble: Trouble, kind: Kind) -> None:
    failed = of_no_response(NoResponse(trouble, "why"))
    assert (failed.kind, failed.message, failed.replied) == (kind, "why", False)


def test_a_reply_without_an_answer_is_quoted() -> None:
    failed = of_unreadable(Response(200, {}, b"I am\nnot JSON"), ValueError("why"))
    assert failed.message == "HTTP 200 without an answer (why): I am not JSON"
    assert of_unreadable(Response(200, {}, b""), ValueError("why")).message.endswith(": an empty body")


def test_quotes_are_short() -> None:
    assert quoted(b"x" * 10_000) == "x" * 300 + "…"
