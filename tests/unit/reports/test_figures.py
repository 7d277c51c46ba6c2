"""Numbers as people read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from howsure.model.score import LIKERT, OPEN, UNIT, Scale
from howsure.reports.figures import Rate, format_number, format_on_scale, format_seconds, iso_utc, pluralize


@pytest.mark.parametrize(
    ("rate", "said"),
    [
        (Rate(8, 12), "66.7 % [39–86] n 12"),
        (Rate(12, 12), "100.0 % [76–100] n 12"),
        (Rate(0, 3), "0.0 % [0–56] n 3"),
        (Rate(0, 0), "–"),
        (Rate(3, 3, 7), "100.0 % [44–100] of 3 decided; 30–100 % of all 10"),
        (Rate(0, 0, 7), "–"),
    ],
    ids=["some", "all", "none", "nothing judged is a dash, not 0 %", "some errored", "all errored"],
)
def test_a_rate_is_said_with_its_interval_and_its_count(rate: Rate, said: str) -> None:
    assert str(rate) == said


def test_a_rate_over_nothing_has_neither_value_nor_interval() -> None:
    assert (Rate(0, 0).value, Rate(0, 0).interval, Rate(0, 0).bounds) == (None, None, "")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "–"),
        (0.0, "0"),
        (1.0, "1"),
        (2 / 3, "0.667"),
        (3.5, "3.5"),
        (0.00044, "0.00044"),
        (1234567.0, "1,234,567"),
        (123.456, "123.5"),
        (-0.5, "-0.5"),
    ],
)
def test_a_number_has_no_more_digits_than_say_something(value: float | None, said: str) -> None:
    assert format_number(value) == said


@pytest.mark.parametrize(
    ("value", "scale", "said"),
    [
        (0.85, UNIT, "0.85 of 1"),
        (4.0, LIKERT, "4 of 5"),
        (12.0, OPEN, "12"),
        (None, UNIT, "–"),
        (3, Scale(0, 7), "3 of 7"),
    ],
)
def test_a_value_is_said_with_the_end_of_its_scale(value: float | None, scale: Scale, said: str) -> None:
    assert format_on_scale(value, scale) == said


def test_counts_agree_with_their_noun() -> None:
    assert [pluralize(n, "case") for n in (0, 1, 2, 20000)] == ["0 cases", "1 case", "2 cases", "20,000 cases"]


@pytest.mark.parametrize(
    ("moment", "said"),
    [
        (None, None),
        (datetime(2026, 11, 15, 9, 30, tzinfo=UTC), "2026-11-15T09:30:00Z"),
        (datetime(2026, 11, 15, 9, 30), "2026-11-15T09:30:00Z"),
        (datetime(2026, 11, 15, 9, 30, tzinfo=timezone(timedelta(hours=2))), "2026-11-15T07:30:00Z"),
    ],
    ids=["none", "UTC", "without a zone is UTC", "another zone"],
)
def test_a_time_is_always_utc_with_its_suffix(moment: datetime | None, said: str | None) -> None:
    assert iso_utc(moment) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.0, "0 ms"), (0.00043, "0.43 ms"), (0.6226, "623 ms"), (1.9, "1.90 s"), (12.345, "12.3 s"), (2100.4, "2,100 s")],
)
def test_a_time_is_read_at_a_glance(seconds: float, said: str) -> None:
    assert format_seconds(seconds) == said
