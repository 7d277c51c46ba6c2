"""Charts and waterfalls as numbers."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.model.transcript import Span, Transcript
from howsure.web.charting import amount, histogram, quantile, spread
from howsure.web.waterfall import milliseconds, waterfall

MS = 1_000_000


def test_a_histogram_counts_every_known_value_and_says_how_many_are_unknown() -> None:
    found = histogram("time", [1.0, 2.0, 3.0, None, 12.0], "s")
    assert found is not None
    assert (found.n, found.missing, found.low, found.middle, found.high, found.most) == (
        4,
        1,
        "1 s",
        "2 s",
        "12 s",
        "12 s",
    )
    assert [bar.said.split(" ")[0] for bar in found.bars] == ["1", "1", "1", "1"]
    assert found.middle_at == pytest.approx(16.67)


@pytest.mark.parametrize("values", [[], [None]])
def test_nothing_known_is_no_chart(values: list[float | None]) -> None:
    assert histogram("time", values, "s") is None


def test_nothing_but_zeros_is_one_bar() -> None:
    found = histogram("cost", [0.0, 0.0], "$")
    assert found is not None
    assert [(bar.x, bar.height) for bar in found.bars] == [(0.2, 100.0)]


@pytest.mark.parametrize(("share", "value"), [(0.5, 2), (0.95, 4), (0.01, 1), (1.0, 4)])
def test_a_quantile_is_a_value_that_was_seen(share: float, value: float) -> None:
    assert quantile([1, 2, 3, 4], share) == value


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [(1.2345, "s", "1.23 s"), (1234.5, "tokens", "1,234 tokens"), (0.000312, "$", "0.000312 $"), (0, "s", "0 s")],
)
def test_amounts_keep_three_digits(value: float, unit: str, said: str) -> None:
    assert amount(value, unit) == said


def test_stops_have_the_same_room() -> None:
    assert [spread(4, place) for place in range(4)] == [12.5, 37.5, 62.5, 87.5]


def a_talk(*spans: Span, **fields: Any) -> Transcript:
    return Transcript(answer="", spans=spans, **fields)


def test_spans_lie_on_one_axis_and_under_their_parents() -> None:
    found = waterfall(
        a_talk(
            Span(name="model", span_id="b", parent_id="a", start_ns=50 * MS, end_ns=100 * MS),
            Span(name="turn", span_id="a", start_ns=0, end_ns=200 * MS),
            Span(name="untimed"),
        )
    )
    assert found is not None
    assert [(fall.name, fall.depth, fall.start, fall.width, fall.took) for fall in found.falls] == [
        ("turn", 0, 0.0, 100.0, "200 ms"),
        ("model", 1, 25.0, 25.0, "50 ms"),
    ]
    assert (found.whole, found.untimed, found.left_out, found.invented) == ("200 ms", 1, 0, False)


def test_spans_that_are_each_other_s_parents_end_somewhere() -> None:
    found = waterfall(
        a_talk(
            Span(name="one", span_id="a", parent_id="b", start_ns=0, end_ns=1),
            Span(name="other", span_id="b", parent_id="a", start_ns=0, end_ns=1),
        )
    )
    assert found is not None
    assert [fall.depth for fall in found.falls] == [1, 1]


@pytest.mark.parametrize("talk", [None, a_talk(), a_talk(Span(name="untimed")), Transcript(answer="")])
def test_without_times_there_is_no_waterfall(talk: Transcript | None) -> None:
    assert waterfall(talk) is None


def test_invented_times_are_said_to_be_that() -> None:
    found = waterfall(a_talk(Span(name="x", start_ns=0, end_ns=1), invented_times=True))
    assert found is not None
    assert found.invented


@pytest.mark.parametrize(("nanoseconds", "said"), [(0, "0 ms"), (1_500_000, "2 ms"), (2_345_000_000, "2.35 s")])
def test_durations_are_read_at_a_glance(nanoseconds: int, said: str) -> None:
    assert milliseconds(nanoseconds) == said
