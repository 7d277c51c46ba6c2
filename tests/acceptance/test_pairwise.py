"""GPT-4's raw replies on 100 pairs of answers, read and settled by ourselves: the figures of test_llmbar.py again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from howsure.judges.pairwise import (
    AnswerOrder,
    PairwiseComparison,
    Preference,
    first_position_picks,
    order_agreement,
    read_pick,
    settle_preference,
)

pytestmark = pytest.mark.shared

SHOWN = {AnswerOrder.AB: "swap = False", AnswerOrder.BA: "swap = True"}


def test_both_orders_of_gpt_4_are_settled_from_its_raw_replies(shared_data: Callable[..., Path]) -> None:
    path = shared_data("llmbar", "Natural", "evaluators", "GPT-4", "Vanilla", "result.json")
    pairs = json.loads(path.read_text(encoding="utf-8"))
    found: list[PairwiseComparison] = []
    for pair in pairs:
        said = pair["results"][0]
        picks = {order: read_pick(said[name]["completion"][0]) for order, name in SHOWN.items()}
        found.append(PairwiseComparison(preference=settle_preference(picks), picks=picks))
    agreed = order_agreement(found)
    assert (agreed.agreed, agreed.n, agreed.rate) == (95, 100, 0.95)
    labels = [{1: Preference.A, 2: Preference.B}[pair["label"]] for pair in pairs]
    assert sum(each.preference is label for each, label in zip(found, labels, strict=True)) == 93
    single = [
        pick.meant(order) is label
        for each, label in zip(found, labels, strict=True)
        for order, pick in each.picks.items()
    ]
    assert sum(single) / len(single) == 0.955
    assert first_position_picks(found).n == 10
