"""A short version of `make coverage`: every promise is kept, up to the noise of few draws."""

from __future__ import annotations

import pytest
from bench.coverage import kept, rows

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

NOISE = 0.05
"""Two hundred draws are off by three to five points."""


def test_every_interval_test_plan_and_gate_keeps_its_promise() -> None:
    broken = [row for row in rows(200, seed=5) if not kept(row, NOISE)]
    assert broken == []
