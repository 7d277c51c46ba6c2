"""`howsure judge correct`: what people would say of a run, from labels on some of its cases."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dialect_rows import reference_qa
from house import asked_and_answered, lines

Howsure = Callable[..., Any]
CASES, LABELLED = 200, 60
JUDGE_PASSES = 150
"""The judge passes three cases in four; people pass one in five of those it passes less, and none that it fails."""


def people_pass(number: int) -> bool:
    return number < JUDGE_PASSES and number % 5 != 0


@pytest.fixture
def judged(howsure: Howsure, tmp_path: Path) -> str:
    """A run whose judge is too kind: a recording that passes the first 150 of 200."""
    questions = [reference_qa(f"q{number}", prompt=f"Question {number}?") for number in range(CASES)]
    answers = [{"case_id": f"q{number}", "response_text": "Because it is so."} for number in range(CASES)]
    asked, said = asked_and_answered(tmp_path, questions, answers)
    replies = [
        {
            "case_id": f"q{number}",
            "grader": "reference_answer",
            "reply": {"score": 1.0 if number < JUDGE_PASSES else 0.0, "reason": "as it seems"},
        }
        for number in range(CASES)
    ]
    judge = lines(tmp_path / "judge.jsonl", *replies)
    done = howsure("run", asked, "--responses", said, "--judge", f"recorded:{judge}", "--name", "kind", "--json")
    assert done.code == 0, done.err
    assert done.json["passed"] == JUDGE_PASSES
    return str(done.json["run_id"])


def labels(folder: Path) -> Path:
    """Every third case or so, as chance would have it."""
    chosen = [number * 7 % CASES for number in range(LABELLED)]
    label = {number: "pass" if people_pass(number) else "fail" for number in chosen}
    said = [{"case_id": f"q{number}", "grader": "reference_answer", "label": word} for number, word in label.items()]
    return lines(folder / "labels.jsonl", *said)


def test_the_rate_that_people_would_give_lies_within_the_corrected_interval(
    howsure: Howsure, judged: str, tmp_path: Path
) -> None:
    assert howsure("judge", "calibrate", labels(tmp_path), "--run", "kind").code == 0
    done = howsure("judge", "correct", "kind", "--json")
    assert done.code == 0, done.err
    (found,) = [each for each in done.json["rates"] if each["grader"] == "reference_answer" and not each["criterion"]]
    truth = sum(map(people_pass, range(CASES))) / CASES
    low, high = found["rate"]["interval"]
    assert low < truth < high < found["rate"]["judge_rate"] == JUDGE_PASSES / CASES
    assert (found["rate"]["labels"], found["rate"]["judged"]) == (LABELLED, CASES - LABELLED)
    assert (done.json["method"], done.json["same_run"]) == ("prediction_powered", True)
    shown = howsure("judge", "correct", "kind")
    assert "people would say" in shown.out and "75.0 %" in shown.out


def test_by_error_rates_it_lies_within_too(howsure: Howsure, judged: str, tmp_path: Path) -> None:
    assert howsure("judge", "calibrate", labels(tmp_path), "--run", "kind").code == 0
    done = howsure("judge", "correct", "kind", "--method", "sensitivity_specificity", "--json")
    low, high = done.json["rates"][0]["rate"]["interval"]
    assert low < sum(map(people_pass, range(CASES))) / CASES < high


def test_without_a_calibration_it_says_how_to_make_one(howsure: Howsure, judged: str) -> None:
    done = howsure("judge", "correct", "kind")
    assert done.code == 2
    assert f"`howsure judge calibrate LABELS --run {judged[:8]}`" in done.err
