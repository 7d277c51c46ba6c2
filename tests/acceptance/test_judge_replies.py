"""GPT-4's raw replies to 1,490 questions about answers: how many can be read, and how often people agree."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from howsure.judges.replies import read_check
from howsure.judges.rulings import Check, UnparsableReply

pytestmark = pytest.mark.shared


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def verdict(reply: str) -> bool | None:
    try:
        ruling = read_check(reply)
    except UnparsableReply:
        return None
    assert isinstance(ruling, Check)
    return ruling.passed


def test_all_but_ten_replies_are_read_and_84_9_percent_agree_with_people(shared_data: Callable[..., Path]) -> None:
    judged = table(shared_data("openqa_eval", "data", "NQ301_gpt-4.tsv"))
    people = table(shared_data("openqa_eval", "data", "NQ301_human.tsv"))
    assert [(line["id"], line["Question"]) for line in judged] == [(line["id"], line["Question"]) for line in people]
    read = [verdict(line["gpt-4"]) for line in judged]
    assert len(read) == 1490
    assert read.count(None) == 10
    agreed = sum(
        said is (person["Acceptable?"] == "Yes") for said, person in zip(read, people, strict=True) if said is not None
    )
    assert agreed == 1256
    assert round(100 * agreed / 1480, 1) == 84.9


def test_a_reply_that_hedges_is_not_taken_for_a_verdict(shared_data: Callable[..., Path]) -> None:
    judged = table(shared_data("openqa_eval", "data", "NQ301_gpt-4.tsv"))
    unread = [line["gpt-4"] for line in judged if verdict(line["gpt-4"]) is None]
    assert sum("partially correct" in reply for reply in unread) == 5
    assert sum("cannot determine" in reply for reply in unread) == 2
