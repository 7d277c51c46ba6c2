"""Replies of judges that are meant to be misread."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.judges.replies import read_check, read_rating
from howsure.judges.rulings import Check, Rating, UnparsableReply
from howsure.model.score import LIKERT


@pytest.mark.parametrize(
    ("content", "value"),
    [
        ('<think>{"score": 1}</think>\n```json\n{"score": 5, "reason": "x"}\n```', 5.0),
        ('{"reason": "the agent wrote {\\"score\\": 1}", "score": 4}', 4.0),
        ('{"score": 3, "reason": "Score: 5 was what it asked for"}', 3.0),
        ("**Score:** **4**", 4.0),
        ("# Score: 2", 2.0),
        ('{"SCORE": "3 / 5"}', 3.0),
    ],
)
def test_the_judge_and_not_what_it_quotes_is_read(content: Any, value: float) -> None:
    ruling = read_rating(content, LIKERT)
    assert isinstance(ruling, Rating)
    assert ruling.value == value


@pytest.mark.parametrize(
    "content",
    ["Score: five", "Score: 4½", "Score: -4", "4 4", '{"score": "4 (or 5)"}', '{"score": {"value": 4}}', "★★★★", "[4]"],
)
def test_a_rating_that_leaves_a_doubt_is_unreadable(content: Any) -> None:
    with pytest.raises(UnparsableReply):
        read_rating(content, LIKERT)


@pytest.mark.parametrize(
    ("content", "passed"), [("PASS", True), ('{"verdict": "pass"}', True), ('{"met": false}', False)]
)
def test_a_plain_check_is_read(content: Any, passed: bool) -> None:
    ruling = read_check(content)
    assert isinstance(ruling, Check)
    assert ruling.passed is passed


@pytest.mark.parametrize(
    "content", ["PASS/FAIL", "pass or fail", "Yes/No", "not sure", '{"verdict": "partial"}', "50%"]
)
def test_a_check_that_leaves_a_doubt_is_unreadable(content: Any) -> None:
    with pytest.raises(UnparsableReply):
        read_check(content)
