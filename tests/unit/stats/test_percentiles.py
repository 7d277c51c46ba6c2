"""Percentiles against published ranks and exact binomial tails; coverage by simulation."""

from __future__ import annotations

from math import inf
from random import Random

import pytest

from howsure.stats.estimates import Form
from howsure.stats.percentiles import for_percentile, ranks, values_needed


@pytest.mark.parametrize(
    ("n", "share", "expected"),
    [
        (6, 0.5, (1, 6)),
        (9, 0.5, (2, 8)),
        (10, 0.5, (2, 9)),
        (20, 0.5, (6, 15)),
        (5, 0.5, (0, 6)),
        (71, 0.95, (63, 72)),
        (73, 0.95, (65, 73)),
        (100, 0.95, (90, 100)),
    ],
)
def test_the_ranks_of_an_interval_are_those_of_published_tables(
    n: int, share: float, expected: tuple[int, int]
) -> None:
    assert ranks(n, share) == expected


@pytest.mark.parametrize(("share", "above", "expected"), [(0.5, True, 6), (0.95, True, 72), (0.99, True, 368),
                                                          (0.95, False, 2), (0.5, False, 6)])  # fmt: skip
def test_how_many_values_an_end_takes(share: float, above: bool, expected: int) -> None:
    assert values_needed(share, above=above) == expected


def test_a_percentile_lies_between_values_that_were_seen() -> None:
    found = for_percentile([float(number) for number in range(100, 0, -1)], 0.95)
    assert found is not None
    assert (found.value, found.interval, found.n, found.form) == (95.0, (90.0, 100.0), 100, Form.ORDER)


def test_with_too_few_values_the_upper_end_is_not_known() -> None:
    found = for_percentile([1.0, 2.0, 3.0], 0.95)
    assert found is not None
    assert found.value == 3.0
    assert found.interval == (2.0, inf)


def test_a_value_that_is_not_known_counts_as_the_worst() -> None:
    found = for_percentile([*range(1, 96), inf, inf, inf, inf, inf], 0.9)
    assert found is not None
    assert found.value == 90
    assert found.interval == (84, inf)


def test_repeats_of_one_case_count_less_than_cases() -> None:
    values = [float(number) for number in range(100)]
    apart = for_percentile(values, 0.9)
    together = for_percentile(values, 0.9, [number // 5 for number in range(100)])
    assert apart is not None and together is not None
    assert apart.interval == (83.0, 95.0)
    assert together.interval is not None
    assert together.interval[0] < 83.0
    assert together.clusters == 20


def test_nothing_has_no_percentile() -> None:
    assert for_percentile([], 0.5) is None


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, 95.0])
def test_a_share_outside_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="a percentile lies between 0 and 1"):
        for_percentile([1.0], share)


@pytest.mark.parametrize(("n", "share"), [(30, 0.5), (100, 0.95), (200, 0.9)])
def test_the_interval_covers_as_often_as_it_promises(n: int, share: float) -> None:
    random, covered = Random(7), 0
    for _ in range(400):
        found = for_percentile([random.random() for _ in range(n)], share)
        assert found is not None and found.interval is not None
        covered += found.interval[0] <= share <= found.interval[1]
    assert covered >= 0.93 * 400
