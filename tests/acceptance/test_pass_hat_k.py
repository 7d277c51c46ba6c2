"""pass^k of ten airline tasks tried four times each, as tau-bench counts it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from howsure.stats.repeats import reliability

pytestmark = pytest.mark.shared


def test_pass_hat_k_of_the_airline_tasks_by_hand(shared_data: Callable[..., Path]) -> None:
    trials = msgspec.json.decode(shared_data("tau_bench", "gpt-4o-airline-tasks-0-9.json").read_bytes())
    by_task: dict[int, list[bool]] = defaultdict(list)
    for trial in trials:
        by_task[trial["task_id"]].append(trial["reward"] == 1.0)
    cases = [(sum(tries), len(tries)) for tries in by_task.values()]
    # Five tasks passed once in four tries, five never: no two tries of one task both passed.
    assert sorted(cases) == [(0, 4)] * 5 + [(1, 4)] * 5
    found = [reliability(cases, k) for k in range(1, 5)]
    assert [each.hat.value for each in found if each.hat] == [0.125, 0.0, 0.0, 0.0]
    # At least one of k: a task passed once is hit by k of its four tries.
    assert [each.at.value for each in found if each.at] == [0.125, 0.25, 0.375, 0.5]
    intervals = [each.hat.interval for each in found if each.hat]
    assert intervals[0] == pytest.approx((0.0307, 0.2193), abs=1e-4), "t of ten tasks: 2.2622 × .1318 / √10"
    assert intervals[3] == pytest.approx((0.0, 0.3085), abs=1e-4), "none of ten, exactly"
