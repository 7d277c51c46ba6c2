"""`howsure judge raters`: people and a panel rate the same answers, and nobody knows the truth."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dialect_rows import reference_qa
from house import asked_and_answered, lines

Howsure = Callable[..., Any]
CASES = 60


def truth(number: int) -> bool:
    return number % 3 != 0


def said(who: str, number: int) -> bool:
    """ana is always right; ben misses every fifth, cy every fourth case."""
    wrong = {"ana": False, "ben": number % 5 == 0, "cy": number % 4 == 0}[who]
    return truth(number) is not wrong


def label(who: str, number: int, grader: str = "reference_answer") -> dict[str, Any]:
    word = "pass" if said(who, number) else "fail"
    return {"case_id": f"q{number}", "grader": grader, "label": word, "annotator": who}


def test_the_most_reliable_of_three_people_and_the_disputed_answers(howsure: Howsure, tmp_path: Path) -> None:
    path = lines(tmp_path / "labels.jsonl", *(label(who, n) for n in range(CASES) for who in ("ana", "ben", "cy")))
    done = howsure("judge", "raters", path, "--limit", "3")
    assert done.code == 0, done.err
    assert done.out.startswith("reference_answer: ana is right most often, 93.9 % [75–100]")
    assert "if errors are independent" in " ".join(done.out.split())
    (group,) = howsure("judge", "raters", path, "--json").json["groups"]
    assert [rater["name"] for rater in group["raters"]] == ["ana", "ben", "cy"]
    # 12 misses of ben and 15 of cy; both miss the same three of them (0, 20, 40), where ana stands alone.
    disputed = [each for each in group["settled"] if len(set(each["ratings"].values())) > 1]
    assert len(disputed) == 12 + 15 - 3
    assert {each["case_id"] for each in group["settled"][:3]} == {"q0", "q20", "q40"}
    settled = {each["case_id"]: each["answer"] == "pass" for each in group["settled"]}
    assert sum(settled[f"q{n}"] == truth(n) for n in range(CASES)) >= CASES - 3


def test_a_run_s_judge_is_one_of_the_raters(howsure: Howsure, tmp_path: Path) -> None:
    questions = [reference_qa(f"q{n}", prompt=f"Question {n}?") for n in range(CASES)]
    answers = [{"case_id": f"q{n}", "response_text": "It is so."} for n in range(CASES)]
    asked, answered = asked_and_answered(tmp_path, questions, answers)
    replies = [
        {"case_id": f"q{n}", "grader": "reference_answer", "judge": "model-x", "reply": {"score": float(said("cy", n))}}
        for n in range(CASES)
    ]
    judge = lines(tmp_path / "judge.jsonl", *replies)
    howsure("run", asked, "--responses", answered, "--judge", f"recorded:{judge}", "--name", "judged", "--quiet")
    path = lines(tmp_path / "labels.jsonl", *(label(who, n) for n in range(CASES) for who in ("ana", "ben")))
    two = howsure("judge", "raters", path)
    assert (two.code, "2 raters; it takes three to tell who is right" in two.err) == (2, True)
    (group,) = howsure("judge", "raters", path, "--run", "judged", "--json").json["groups"]
    assert [rater["name"] for rater in group["raters"]] == ["ana", "ben", "model-x"]
