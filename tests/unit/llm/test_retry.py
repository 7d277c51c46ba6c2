"""What is transient, and how long to wait."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from howsure.llm.retry import Retry, asked_pause, is_transient

NOON = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 520, 529, 599])
def test_these_may_be_gone_next_time(status: int) -> None:
    assert is_transient(status)


@pytest.mark.parametrize("status", [301, 307, 400, 401, 402, 403, 404, 413, 415, 422])
def test_these_would_be_the_same_next_time(status: int) -> None:
    assert not is_transient(status)


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
    assert asked_pause(headers, lambda: NOON) == seconds


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
    retry = Retry()
    assert retry.pause(failed, None, alone, lambda: 0.0) == 0.0
    assert retry.pause(failed, None, alone, lambda: 1.0) == longest


def test_a_pause_that_was_asked_for_is_kept_and_spread_a_little() -> None:
    assert Retry().pause(1, 20.0, True, lambda: 0.0) == 20.0
    assert Retry().pause(9, 20.0, False, lambda: 1.0) == 20.25
