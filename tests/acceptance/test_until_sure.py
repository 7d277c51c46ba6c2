"""Stopping when it is sure, on verdicts of people: what it saves, and how often the opposite is decided."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from bench.coverage_sure import orders_of_questions, questions

pytestmark = pytest.mark.shared


@pytest.mark.parametrize("away", [-0.1, 0.1], ids=["gate below", "gate above"])
def test_a_third_of_the_questions_decide_and_hardly_ever_the_opposite(
    shared_data: Callable[..., Path], away: float
) -> None:
    path = shared_data("openqa_eval", "nq301.jsonl")
    values, weights = questions(path)
    rate = float(np.average(values, weights=weights))
    assert (len(values), round(rate, 4)) == (301, 0.5477)
    asked, undecided, opposite = orders_of_questions(rate + away, 1_000, 5, path)
    assert asked <= 0.35
    assert (undecided, opposite) == (0, 0)
