"""The variance of cases, agent and judge: by hand where the design is even, recovered where it is not."""

from __future__ import annotations

import numpy as np
import pytest

from howsure.stats.variance import split_variance


def test_an_even_design_by_hand() -> None:
    # Two cases × two tries × two questions. Within tries: 4 × 2 = 8 over 4 degrees: 2. Between the tries of a case:
    # means 1, 5 and 7, 11: 2 × 16 = 32 over 2 degrees: 16 = judge 2 + 2 × agent, so 7. Between cases: means 3 and 9:
    # 72 over 1 degree = judge 2 + 2 × agent 14 + 4 × cases, so 14.
    found = split_variance([[[0, 2], [4, 6]], [[6, 8], [10, 12]]])
    assert found.judge is not None and found.agent is not None and found.cases is not None
    assert found.judge.value == pytest.approx(2)
    assert found.agent.value == pytest.approx(7)
    assert found.cases.value == pytest.approx(14)
    assert found.agent_and_judge is not None
    assert found.agent_and_judge.value == pytest.approx(9)
    assert found.judge.interval is None, "two cases say nothing of a third"


def test_one_question_a_try_cannot_tell_agent_from_judge() -> None:
    found = split_variance([[[1], [0]], [[1], [1]]])
    assert (found.agent, found.judge) == (None, None)
    assert found.agent_and_judge is not None
    assert found.agent_and_judge.value == pytest.approx(0.25)


def test_one_try_a_case_tells_only_the_judge() -> None:
    found = split_variance([[[1, 0]], [[1, 1]]])
    assert found.judge is not None
    assert found.judge.value == pytest.approx(0.25)
    assert (found.agent, found.cases, found.agent_and_judge) == (None, None, None)


def test_one_value_a_case_tells_nothing() -> None:
    found = split_variance([[[1]], [[0]]])
    assert (found.cases, found.agent, found.judge, found.agent_and_judge, found.n) == (None, None, None, None, 2)


def test_of_nothing_nothing() -> None:
    assert split_variance([]).n == 0
    assert split_variance([[], [[]]]).n == 0


def test_no_noise_is_zero() -> None:
    found = split_variance([[[1, 1], [1, 1]], [[0, 0], [0, 0]]])
    assert found.judge is not None and found.agent is not None and found.cases is not None
    assert (found.judge.value, found.agent.value) == (0, 0)
    assert found.cases.value == pytest.approx(0.5)


def test_one_mean_square_has_the_interval_of_chi_squared() -> None:
    # Thirty cases whose two judgements differ by 2: variance 2, 30 degrees; 60 / 46.979 and 60 / 16.791 of the table.
    found = split_variance([[[float(place), float(place) + 2]] for place in range(30)]).judge
    assert found is not None and found.value == pytest.approx(2)
    assert found.interval == pytest.approx((1.2772, 3.5734), abs=1e-3)


def test_too_few_cases_that_differ_say_nothing() -> None:
    steady, flaky = [[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [0.0, 0.0]]
    four, five = (split_variance([flaky] * count + [steady] * (30 - count)).agent for count in (4, 5))
    assert four is not None and four.interval is None
    assert five is not None and five.interval is not None and five.interval[0] < five.value < five.interval[1]


def uneven(random: np.random.Generator, cases: int) -> list[list[list[float]]]:
    """Standard deviations 2 between cases, 1 between tries, ½ within; one to four tries, one to three questions."""
    made = []
    for case in random.normal(0, 2, cases):
        tries = case + random.normal(0, 1, random.integers(1, 5))
        made.append([[float(value) for value in each + random.normal(0, 0.5, random.integers(1, 4))] for each in tries])
    return made


def test_an_uneven_design_gives_back_what_went_in_on_average_and_mostly_inside_its_intervals() -> None:
    random, runs = np.random.default_rng(2), 60
    found = [split_variance(uneven(random, 80)) for _ in range(runs)]
    for name, truth, error in (("cases", 4.0, 0.12), ("agent", 1.0, 0.03), ("judge", 0.25, 0.006)):
        parts = [getattr(each, name) for each in found]
        assert np.mean([part.value for part in parts]) == pytest.approx(truth, abs=3 * error)
        assert np.mean([part.interval[0] <= truth <= part.interval[1] for part in parts]) >= 0.85


def test_few_cases_have_wide_intervals_that_hold() -> None:
    """The bootstrap held these parts in 61 to 85 of 100 draws."""
    random, runs = np.random.default_rng(3), 100
    found = [split_variance(uneven(random, 10)) for _ in range(runs)]
    for name, truth in (("cases", 4.0), ("agent", 1.0), ("judge", 0.25)):
        parts = [getattr(each, name) for each in found]
        assert np.mean([part.interval[0] <= truth <= part.interval[1] for part in parts]) >= 0.88
    few = split_variance(uneven(random, 7)).cases
    assert few is not None and few.interval is None
