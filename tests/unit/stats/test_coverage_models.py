"""The intervals of rankings, raters, slices and predicted rates hold as often as promised: a short version of the
simulation in bench/coverage_models.py, with what so few draws leave open."""

from __future__ import annotations

from math import sqrt
from pathlib import Path
from runpy import run_path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.thorough]
DRAWS = 60


def test_intervals_hold_as_often_as_promised() -> None:
    measured = list(run_path(str(Path(__file__).parents[3] / "bench" / "coverage_models.py"))["rows"](DRAWS, 5))
    assert len(measured) == 101
    # Several intervals of one draw are not independent: as if each draw had one.
    low = [(setting, share) for setting, share, promised in measured
           if share < promised - 2.5 * sqrt(promised * (1 - promised) / DRAWS)]  # fmt: skip
    assert low == []
