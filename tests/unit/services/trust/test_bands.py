"""Bands: a judge that is worth something gives the better answer the higher value."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.errors import PlanRefused
from howsure.model.score import Direction, Score
from howsure.model.trust import Bands
from howsure.services.trust.bands import banded, ordered, placed
from unit.services.trust.making import a_result, checked, rated, stream


async def bands(*given: tuple[str, float | None], key: str = "quality_band") -> Bands:
    labels: list[dict[str, Any]] = [{key: band} for band, _ in given]
    results = [a_result(f"c{n}", rated(value), **labels[n]) for n, (_, value) in enumerate(given)]
    (found,) = banded(await placed(stream(results), key), key)
    return found


async def test_bands_stand_worst_first_with_the_mean_of_each() -> None:
    found = await bands(("excellent", 5), ("poor", 1), ("poor", 2), ("good", 4), ("mixed", None))
    assert [(band.value, band.mean.value, band.mean.n, band.unscored) for band in found.bands] == [
        ("poor", 1.5, 2, 0),
        ("mixed", None, 0, 1),
        ("good", 4.0, 1, 0),
        ("excellent", 5.0, 1, 0),
    ]
    assert found.spearman is not None
    assert found.spearman.value == pytest.approx(0.9487, abs=1e-4)
    assert found.ordered is not None
    assert (found.ordered.value, found.ordered.n) == (1.0, 5)


@pytest.mark.parametrize(
    ("known", "share"),
    [
        ([(0, 1), (1, 2)], 1.0),
        ([(0, 2), (1, 1)], 0.0),
        ([(0, 1), (1, 1)], 0.5),
        ([(0, 1), (0, 5)], None),
        ([(0, 1), (1, 2), (2, 1.5)], pytest.approx(2 / 3)),
    ],
)
def test_the_share_of_pairs_in_the_right_order(known: list[tuple[float, float]], share: float | None) -> None:
    assert ordered(known) == share


async def test_a_key_with_numbers_has_their_order_and_one_with_words_has_none() -> None:
    numbers = await bands(("10", 5), ("9", 4), ("2", 1), key="level")
    assert [band.value for band in numbers.bands] == ["2", "9", "10"]
    assert numbers.ordered is not None
    assert numbers.ordered.value == 1.0
    words = await bands(("easy", 5), ("hard", 1), key="difficulty")
    assert (words.spearman, words.ordered) == (None, None)
    assert [band.value for band in words.bands] == ["easy", "hard"]


async def test_where_low_is_good_the_order_is_turned() -> None:
    def toxic(value: float) -> Score:
        return Score(name="Toxicity", value=value, direction=Direction.LOWER, judge="j")

    results = [a_result("a", toxic(0.9), quality_band="poor"), a_result("b", toxic(0.1), quality_band="good")]
    (found,) = banded(await placed(stream(results), "quality_band"), "quality_band")
    assert found.ordered is not None
    assert found.ordered.value == 1.0
    assert [band.mean.value for band in found.bands] == [0.9, 0.1]


async def test_criteria_and_grades_that_no_judge_gave_are_left_out() -> None:
    by_program = Score(name="tool_calls", value=1.0)
    results = [a_result("a", by_program, checked(True, "k"), rated(4), quality_band="good")]
    assert [each.grader for each in await placed(stream(results), "quality_band")] == ["RelevanceExplain"]


async def test_without_the_key_there_is_nothing_to_compare() -> None:
    with pytest.raises(PlanRefused, match="none of 1 results has both `quality_band`"):
        await placed(stream([a_result("a", rated(4))]), "quality_band")


async def test_an_interval_stays_on_the_scale_and_needs_three_values() -> None:
    found = await bands(("good", 5), ("good", 5), ("good", 3), ("poor", 1), ("poor", 2))
    poor, good = found.bands
    assert poor.mean.interval is None
    assert good.mean.interval is not None
    assert good.mean.interval[1] == 5.0
