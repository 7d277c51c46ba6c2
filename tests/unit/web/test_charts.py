"""Charts and waterfalls as numbers."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from howsure.model.run import Counts, Run
from howsure.model.transcript import Span, Transcript
from howsure.store.results import CostTotals
from howsure.web.conversations import waterfall
from howsure.web.pages.charts import SAMPLE_SIZE, amount, charts_page, histogram, quantile, sample_positions
from store.making import a_run

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


def of(passed: int) -> Run:
    return replace(a_run(), counts=Counts(total=passed, passed=passed))


TOLLS = [CostTotals(position=place, seconds=1.0 + place) for place in range(4)]


def test_of_few_all_are_looked_at() -> None:
    run = of(SAMPLE_SIZE)
    assert sample_positions(run) is None
    page = charts_page(run, TOLLS)
    assert page.answer == "Time of an answer: 2 s as a rule, 95 of 100 under 4 s."
    assert (page.looked_at, page.results) == (4, SAMPLE_SIZE)


def test_of_many_some_are_drawn_and_the_page_says_so() -> None:
    run = of(20_000)
    drawn = sample_positions(run)
    assert drawn is not None
    assert (len(set(drawn)), drawn == sorted(drawn), drawn == sample_positions(run)) == (SAMPLE_SIZE, True, True)
    # By chance, not every hundredth: where two candidates take turns, both are among them.
    assert SAMPLE_SIZE / 3 < sum(position % 2 for position in drawn) < SAMPLE_SIZE * 2 / 3
    assert max(drawn) > 19_000
    page = charts_page(run, TOLLS)
    assert page.answer.endswith("under 4 s. Of 4 answers drawn by chance from 20,000 results.")


def test_where_nothing_was_recorded_that_is_said() -> None:
    assert charts_page(of(3), []).answer == "Nobody recorded what the answers took."
