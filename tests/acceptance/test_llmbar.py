"""100 pairs of answers, each shown to GPT-4 in both orders: how often it is right, and how often order decides."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from howsure.stats.agreement import AgreementCount, agreement, cohen_kappa

pytestmark = pytest.mark.shared

ORDERS = ("swap = False", "swap = True")


@pytest.fixture
def judged(shared_data: Callable[..., Path]) -> list[dict[str, Any]]:
    path = shared_data("llmbar", "Natural", "evaluators", "GPT-4", "Vanilla", "result.json")
    pairs: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    assert len(pairs) == 100
    return pairs


def winner(pair: dict[str, Any], order: str) -> int:
    """The answer that the raw reply names, by its place in the file."""
    found = re.fullmatch(r"Output \(([ab])\)", pair["results"][0][order]["completion"][0].strip())
    assert found is not None
    shown_first = found[1] == "a"
    return 1 if shown_first is (order == "swap = False") else 2


def test_gpt_4_is_right_in_95_5_percent_and_order_changes_its_mind_in_5(judged: list[dict[str, Any]]) -> None:
    labels = [pair["label"] for pair in judged]
    plain, swapped = ([winner(pair, order) for pair in judged] for order in ORDERS)
    right: list[AgreementCount] = [agreement(said, labels) for said in (plain, swapped)]
    assert [each.agreed for each in right] == [95, 96]
    assert sum(each.agreed for each in right) / 200 == 0.955
    assert agreement(plain, swapped).rate == 0.95
    kappa = cohen_kappa(plain, swapped)
    assert kappa is not None
    assert round(kappa, 3) == 0.898


def test_both_orders_are_right_in_93_of_100(judged: list[dict[str, Any]]) -> None:
    both = [all(winner(pair, order) == pair["label"] for order in ORDERS) for pair in judged]
    assert sum(both) == 93
