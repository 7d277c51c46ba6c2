"""Verdicts on rubrics that judges write themselves."""

from __future__ import annotations

import json
from typing import Any

import pytest

from howsure.judges.replies import read_share
from howsure.judges.rulings import NotApplicable, Rating, RubricVerdicts, UnparsableReply

MANAGED = {
    "score": 0.6667,
    "explanation": "mostly good",
    "rubric_verdicts": [
        {
            "evaluated_rubric": {
                "content": {"property": {"description": "Names the refund window"}},
                "type": "FACT",
                "importance": "HIGH",
            },
            "verdict": True,
            "reasoning": "30 days",
        },
        {"evaluated_rubric": {"content": "Is polite"}, "verdict": True, "reasoning": "yes"},
        {"evaluated_rubric": {"content": "Gives a link"}, "verdict": False, "reasoning": "none given"},
    ],
}


def verdicts(content: Any) -> RubricVerdicts:
    ruling = read_share(content)
    assert isinstance(ruling, RubricVerdicts)
    return ruling


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (MANAGED, 2 / 3),
        (json.dumps(MANAGED), 2 / 3),
        (f"```json\n{json.dumps(MANAGED)}\n```", 2 / 3),
        ([{"criterion": "a", "verdict": "pass"}, {"criterion": "b", "verdict": "fail"}], 0.5),
        ('[{"criterion": "a", "verdict": "yes"}, {"criterion": "b", "verdict": "no"}]', 0.5),
        ('The list: [{"content": "a", "verdict": true}, {"content": "b", "verdict": true},]', 1.0),
        ({"verdicts": [{"text": "a", "passed": False}]}, 0.0),
        ({"result": {"verdicts": [{"text": "a", "met": True}]}}, 1.0),
        ({"criteria": [{"criterion": "a", "score": 1}, {"criterion": "b", "score": 0}]}, 0.5),
        ({"verdicts": [{"text": "a", "verdict": "N/A"}, {"text": "b", "verdict": True}]}, 1.0),
    ],
)
def test_the_value_is_the_share_of_the_applicable_verdicts_that_passed(content: Any, value: float) -> None:
    assert verdicts(content).value == value


def test_texts_reasons_and_importance_are_kept() -> None:
    first = verdicts(MANAGED).details["rubric_verdicts"][0]
    assert first == {
        "content": "Names the refund window",
        "verdict": True,
        "reasoning": "30 days",
        "importance": "HIGH",
    }
    assert verdicts(MANAGED).reason == "mostly good"


@pytest.mark.parametrize(("content", "value"), [({"score": 0.75}, 0.75), ("0.75", 0.75), ({"verdict": "pass"}, 1.0)])
def test_a_plain_share_is_taken_too(content: Any, value: float) -> None:
    ruling = read_share(content)
    assert isinstance(ruling, Rating)
    assert ruling.value == value


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({**MANAGED, "score": 1.0}, "the score 1 contradicts the verdicts, of which 0.667 passed"),
        ({**MANAGED, "score": 4}, "4 is not on the scale 0 to 1"),
        (
            [{"text": "a", "verdict": True}, {"text": "a", "verdict": False}],
            "the reply rules on the same criterion twice",
        ),
        ([{"text": "a", "verdict": "maybe"}], "no value among the fields 'text', 'verdict'"),
        ([{"text": "a", "score": 0.5}], "0.5 where a whole number is needed, 0 to 1"),
        ({"verdicts": []}, "no value among the fields 'verdicts'"),
        ({"score": 7}, "7 is not on the scale 0 to 1"),
        (
            '[{"text": "a", "verdict": true}] and [{"text": "b", "verdict": true}]',
            "the reply has 2 lists of verdicts",
        ),
        ("It is fine.", "no value in the reply"),
    ],
)
def test_verdicts_that_cannot_be_counted_are_a_failure(content: Any, said: str) -> None:
    with pytest.raises(UnparsableReply) as failure:
        read_share(content)
    assert str(failure.value) == said


@pytest.mark.parametrize("content", ["N/A", {"score": "n/a"}, [{"text": "a", "verdict": "not applicable"}]])
def test_nothing_applicable_is_not_applicable(content: Any) -> None:
    assert isinstance(read_share(content), NotApplicable)
