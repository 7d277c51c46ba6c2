"""pass^k of ten airline tasks tried four times each, as tau-bench counts it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from scipy.stats import beta

from howsure.stats.estimates import reliability

pytestmark = pytest.mark.shared


def test_pass_hat_k_of_the_airline_tasks_by_hand(shared_data: Callable[..., Path]) -> None:
    trials = msgspec.json.decode(shared_data("tau_bench", "gpt-4o-airline-tasks-0-9.json").read_bytes())
    by_task: dict[int, list[bool]] = defaultdict(list)
    for trial in trials:
        by_task[trial["task_id"]].append(trial["reward"] == 1.0)
    cases = [(sum(tries), len(tries)) for tries in by_task.values()]
    # Five tasks passed once in four tries, five never: no two tries of one task both passed.
    assert sorted(cases) == [(0, 4)] * 5 + [(1, 4)] * 5
    hat, at = ([reliability(cases, k, every=every) for k in range(1, 5)] for every in (True, False))
    assert [each.value for each in hat if each] == [0.125, 0.0, 0.0, 0.0]
    # At least one of k: a task passed once is hit by k of its four tries.
    assert [each.value for each in at if each] == [0.125, 0.25, 0.375, 0.5]
    intervals = [each.interval for each in hat if each]
    # Ten tasks and, unseen, half a one: at 0 for the lower end, at 1 for the upper. Fewer than twenty tasks: 96 %.
    ends = [(1.25 / 10.5, 0.3125 / 10.5, 0.02), (1.75 / 10.5, 0.8125 / 10.5, 0.98)]
    by_hand = []
    for centre, squares, tail in ends:
        strength = centre * (1 - centre) / ((squares - centre**2) / 11.5) - 1
        by_hand.append(beta(centre * strength, (1 - centre) * strength).ppf(tail))
    assert intervals[0] == pytest.approx(by_hand, abs=1e-6)
    assert intervals[3] == pytest.approx((0.0, 0.3085), abs=1e-4), "none of ten, exactly"
