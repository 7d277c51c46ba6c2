"""How many cases settle a question: checked by making so many and asking again."""

from __future__ import annotations

import pytest

from howsure.stats.rates import for_rate
from howsure.stats.settling_limits import cases_for_rate, cases_for_value


@pytest.mark.parametrize(
    ("passed", "judged", "limit", "expected"),
    [
        (10, 10, 0.9, 36),
        (0, 10, 0.1, 36),
        (20, 20, 0.95, 72),
        (100, 100, 0.9, 100),
        (9, 10, 0.9, None),
        (0, 0, 0.9, None),
    ],
    ids=["0.9 to the 36th is 0.0225", "the same from below", "0.95 to the 72nd is 0.0249", "settled already",
         "on the limit", "nothing judged"],
)  # fmt: skip
def test_the_cases_that_settle_a_rate(passed: int, judged: int, limit: float, expected: int | None) -> None:
    assert cases_for_rate(passed, judged, limit) == expected


@pytest.mark.parametrize(("passed", "judged", "limit"), [(45, 50, 0.8), (30, 50, 0.7), (190, 200, 0.93), (3, 20, 0.3)])
def test_so_many_cases_really_settle_it(passed: int, judged: int, limit: float) -> None:
    enough = cases_for_rate(passed, judged, limit)
    assert enough is not None and enough > judged
    found = for_rate(round(passed / judged * enough), enough)
    assert found is not None and found.interval is not None
    assert found.interval[0] > limit or found.interval[1] < limit


@pytest.mark.parametrize(
    ("value", "interval", "n", "limit", "expected"),
    [
        (4.2, (3.8, 4.6), 25, 4.0, 100),
        (-0.01, (-0.05, 0.03), 100, -0.02, 1600),
        (2.0, (1.0, 3.0), 10, 2.5, 40),
        (4.0, (3.5, 4.5), 25, 4.0, None),
        (4.0, (3.9, 4.1), 25, 3.0, 25),
        (4.000001, (3.0, 5.0), 25, 4.0, None),
    ],
    ids=["half the width takes four times", "a drop", "from below", "on the limit", "settled already", "too near"],
)
def test_other_intervals_shrink_with_the_root(
    value: float, interval: tuple[float, float], n: int, limit: float, expected: int | None
) -> None:
    assert cases_for_value(value, interval, n, limit) == expected
