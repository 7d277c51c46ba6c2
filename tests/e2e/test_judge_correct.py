"""`howsure judge correct`: what people would say of a run, from labels on some of its cases."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from time import process_time
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


def labels(folder: Path, **more: Any) -> Path:
    """Every third case or so, as chance would have it."""
    chosen = [number * 7 % CASES for number in range(LABELLED)]
    label = {number: "pass" if people_pass(number) else "fail" for number in chosen}
    said = [
        {"case_id": f"q{number}", "grader": "reference_answer", "label": word, **more} for number, word in label.items()
    ]
    return lines(folder / "labels.jsonl", *said)


def test_the_rate_that_people_would_give_lies_within_the_corrected_interval(
    howsure: Howsure, judged: str, tmp_path: Path
) -> None:
    assert howsure("judge", "calibrate", labels(tmp_path, drawn=1), "--run", "kind").code == 0
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
    assert howsure("judge", "calibrate", labels(tmp_path, drawn=1), "--run", "kind").code == 0
    done = howsure("judge", "correct", "kind", "--method", "sensitivity_specificity", "--json")
    low, high = done.json["rates"][0]["rate"]["interval"]
    assert low < sum(map(people_pass, range(CASES))) / CASES < high


def test_without_a_calibration_it_says_how_to_make_one(howsure: Howsure, judged: str) -> None:
    done = howsure("judge", "correct", "kind")
    assert done.code == 2
    assert f"`howsure judge calibrate LABELS --run {judged[:8]}`" in done.err


def test_labels_of_unknown_drawing_correct_nothing_and_it_says_what_to_do(
    howsure: Howsure, judged: str, tmp_path: Path
) -> None:
    assert howsure("judge", "calibrate", labels(tmp_path), "--run", "kind").code == 0
    for method in ("prediction_powered", "sensitivity_specificity"):
        (found,) = howsure("judge", "correct", "kind", "--method", method, "--json").json["rates"]
        assert found["rate"] is None
        assert "it is unknown how the labels were drawn" in found["reason"]
        assert "`howsure label next RUN`" in found["reason"]
    done = howsure("gate", "kind", "--gate", "pass_rate >= 0.5", "--labels", tmp_path / "labels.jsonl")
    assert done.code == 2
    assert "it is unknown how the labels were drawn" in done.err


def fill_in(path: Path, right: Callable[[int], bool] = people_pass) -> Path:
    """What people do with the file of `label next`."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    said = [{**row, "label": "pass" if right(int(row["case_id"][1:])) else "fail"} for row in rows]
    return lines(path, *said)


def test_drawn_labels_correct_the_rate_and_the_gate(howsure: Howsure, judged: str, tmp_path: Path) -> None:
    drawn = howsure("label", "next", "kind", "--number", "60", "-o", tmp_path / "drawn.jsonl", "--json")
    assert (drawn.json["answers"], drawn.json["labelled"], drawn.json["of"]) == (60, 0, 200)
    # 50 of 200 failed: .5 + .5 × 200 / (2 × 50), and .5 + .5 × 200 / 300.
    assert {each["drawn"] for each in drawn.json["questions"]} == {1.5, 0.833333}
    assert {each["label"] for each in drawn.json["questions"]} == {""}
    file = fill_in(tmp_path / "drawn.jsonl")
    calibrated = howsure("judge", "calibrate", file, "--run", "kind")
    assert calibrated.out.startswith("The judge misses ")
    (found,) = howsure("judge", "correct", "kind", "--json").json["rates"]
    low, high = found["rate"]["interval"]
    assert low < 0.6 < high < 0.75 == found["rate"]["judge_rate"]
    assert found["rate"]["with_more"] < high - low
    # The judge's own rate passes the gate; what people would say does not.
    assert howsure("gate", "kind", "--gate", "pass_rate >= 0.65").code == 0
    gate = howsure("gate", "kind", "--gate", "pass_rate >= 0.72", "--labels", file, "--json")
    assert gate.code == 100
    assert "The judge alone says: inconclusive." in gate.json["gates"][0]["reason"]
    # The same labels, kept in the database.
    assert howsure("label", "save", file, "kind", "--json").json == {"labels": 60}
    stored = howsure("gate", "kind", "--gate", "pass_rate >= 0.72", "--labels", "stored", "--json")
    assert stored.json["gates"][0]["interval"] == gate.json["gates"][0]["interval"]
    after = howsure("label", "next", "kind", "--number", "5", "--json").json
    assert after["labelled"] == 60
    before = {each["case_id"] for each in drawn.json["questions"]}
    assert not before & {each["case_id"] for each in after["questions"]}


def test_too_few_labels_are_refused_with_how_many_more_to_draw(howsure: Howsure, judged: str, tmp_path: Path) -> None:
    howsure("label", "next", "kind", "--number", "12", "-o", tmp_path / "drawn.jsonl")
    file = fill_in(tmp_path / "drawn.jsonl")
    done = howsure("gate", "kind", "--gate", "pass_rate >= 0.65", "--labels", file)
    assert done.code == 2
    assert "12 labels are too few to correct anything: 20 are needed; `howsure label next RUN --number 8`" in done.err


def test_each_candidate_is_corrected_by_its_own_labels(howsure: Howsure, tmp_path: Path) -> None:
    """Alpha passes 9 of 10, beta 3 of 10; the labels are on alpha alone."""
    questions = [reference_qa(f"q{number}", prompt=f"Question {number}?") for number in range(100)]
    answers = [
        {"case_id": f"q{number}", "candidate_name": name, "response_text": "Yes."}
        for name in ("alpha", "beta")
        for number in range(100)
    ]
    asked, said = asked_and_answered(tmp_path, questions, answers)
    replies = [
        {
            "case_id": f"q{number}",
            "candidate": name,
            "grader": "reference_answer",
            "reply": {"score": float(number % 10 < share), "reason": "so"},
        }
        for name, share in (("alpha", 9), ("beta", 3))
        for number in range(100)
    ]
    judge = lines(tmp_path / "judge.jsonl", *replies)
    assert howsure("run", asked, "--responses", said, "--judge", f"recorded:{judge}", "--name", "two").code == 0
    label = {"candidate": "alpha", "grader": "reference_answer", "drawn": 1}
    rows = [{"case_id": f"q{n}", "label": "pass" if n % 10 < 9 else "fail", **label} for n in range(0, 100, 3)]
    assert howsure("judge", "calibrate", lines(tmp_path / "l.jsonl", *rows), "--run", "two").code == 0
    alpha, beta = howsure("judge", "correct", "two", "--json").json["rates"]
    assert (alpha["candidate"], round(alpha["rate"]["value"], 2)) == ("alpha", 0.9)
    assert (beta["candidate"], beta["rate"]) == ("beta", None)
    assert beta["reason"].startswith("0 labels are too few")


def test_what_people_would_see_stands_beside_what_the_judge_sees(howsure: Howsure, judged: str, tmp_path: Path) -> None:
    """A second judge recording, of a version that people find as bad as the first, and the judge better."""
    replies = [
        {"case_id": f"q{number}", "grader": "reference_answer", "reply": {"score": float(number < 190), "reason": "x"}}
        for number in range(CASES)
    ]
    judge = lines(tmp_path / "second.jsonl", *replies)
    asked, said = tmp_path / "cases.jsonl", tmp_path / "answers.jsonl"
    done = howsure("run", asked, "--responses", said, "--judge", f"recorded:{judge}", "--name", "kinder", "--json")
    assert done.code == 0, done.err
    for run in ("kind", "kinder"):
        howsure("label", "next", run, "--number", "60", "-o", tmp_path / f"{run}-labels.jsonl")
        fill_in(tmp_path / f"{run}-labels.jsonl")
    files = [part for run in ("kind", "kinder") for part in ("--labels", tmp_path / f"{run}-labels.jsonl")]
    compared = howsure("compare", "kind", "kinder", *files, "--json")
    assert compared.code == 0, compared.err
    assert compared.json["comparisons"][0]["conclusion"] == "better"
    (found,) = compared.json["people"]
    assert (found["decides"], found["labels"], found["conclusion"]) == (True, [60, 60], "cannot_tell")
    low, high = found["rate"]["interval"]
    assert low < 0 < high < 0.19
    assert found["rate"]["judge_rate"] == pytest.approx(0.2)
    assert "cannot tell" in howsure("compare", "kind", "kinder", *files).out
    # Recordings that do not name their judge are taken for one.
    assert not [each for each in compared.json["comparisons"][0]["unlike"] if each["bearing"] != "expected"]
    nameless = labels(tmp_path, drawn=1)
    refused = howsure("compare", "kind", "kinder", "--labels", nameless)
    assert refused.code == 2 and "say which with `run` (kind or kinder)" in refused.err


@pytest.mark.thorough
def test_forty_of_twenty_thousand_answers_are_drawn_in_three_seconds(howsure: Howsure, tmp_path: Path) -> None:
    count = 20_000
    dataset = lines(
        tmp_path / "many.jsonl",
        *({"id": f"q{number}", "input": "Which animal?", "expected": "a fox"} for number in range(count)),
    )
    said = lines(
        tmp_path / "said.jsonl", *({"case_id": f"q{number}", "response_text": "A fox."} for number in range(count))
    )
    judge = lines(
        tmp_path / "judge.jsonl",
        *(
            {"case_id": f"q{number}", "grader": "reference_answer", "reply": {"score": float(number % 3 > 0)}}
            for number in range(count)
        ),
    )
    run = ("run", dataset, "--responses", said, "--judge", f"recorded:{judge}", "--graders", "reference_answer")
    assert howsure(*run, "--name", "many", "--quiet").code == 0
    began = process_time()
    drawn = howsure("label", "next", "many", "--number", "40", "--json")
    assert (drawn.code, process_time() - began < 3) == (0, True)
