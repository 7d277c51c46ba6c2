"""Verdicts of the legal world from the command to the result, with what the judge said recorded in a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dialect_rows import mcq, reference_qa, rubric_qa, write_rows

Howsure = Callable[..., Any]

CHOICES = [{"id": id, "text": text} for id, text in {"A": "u", "B": "w", "C": "x", "D": "v", "V": "y"}.items()]
RUBRIC = [{"id": "good", "title": "Names the period", "weight": 8}, {"id": "bad", "title": "Invents one", "weight": -5}]


@pytest.fixture
def judged(howsure: Howsure, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Runs one row, answered and judged as given, and returns the result with the code of the command under `exit`."""

    def ran(row: dict[str, Any], replies: dict[str, Any], *words: str, settings: str = "") -> dict[str, Any]:
        if settings:
            (tmp_path / "howsure.yaml").write_text(settings, encoding="utf-8")
        dataset = write_rows(tmp_path / "d.jsonl", [row])
        answers = write_rows(tmp_path / "a.jsonl", [{"case_id": row["id"], "response_text": "Three months."}])
        grader = "weighted_criteria" if "rubric" in row else "reference_answer"
        recorded = [
            {"case_id": row["id"], "grader": grader, "attempt": attempt, "reply": reply}
            | ({"criterion_id": part} if part else {})
            for part, reply in replies.items()
            for attempt in (1, 2)
        ]
        judge = write_rows(tmp_path / "j.jsonl", recorded)
        done = howsure("run", dataset, "--responses", answers, "--judge", f"recorded:{judge}", "--quiet", *words)
        assert "Traceback" not in done.err
        (result,) = howsure("results", "latest", "--json").json
        return {**result, "exit": done.code, "value": result["scores"][grader]["score"]}

    return ran


@pytest.mark.parametrize(
    ("words", "settings", "value", "verdict"),
    [
        ((), "", 0.6, "failed"),
        (("--normalization", "min_max"), "", 9.8 / 13, "passed"),
        (("--profile", "mm"), "profiles: {mm: {normalization: min_max}}", 9.8 / 13, "passed"),
    ],
    ids=["points", "the option", "a profile"],
)
def test_min_max_normalises_the_sum_of_a_rubric(
    judged: Callable[..., dict[str, Any]], words: tuple[str, ...], settings: str, value: float, verdict: str
) -> None:
    replies = {"good": {"score": 0.6}, "bad": {"score": 0}}
    result = judged(rubric_qa("r", rubric=RUBRIC), replies, *words, settings=settings)
    assert (result["value"], result["verdict"], result["exit"]) == (pytest.approx(value), verdict, 0)


def test_every_answer_counts_and_an_unclear_one_fails_with_its_flag(howsure: Howsure, tmp_path: Path) -> None:
    said = {"q1": "D. v", "q2": "I cannot say.", "q3": "A or D", "q4": "A. v", "q5": ""}
    dataset = write_rows(tmp_path / "d.jsonl", [mcq(id, choices=CHOICES, correct_choice_ids=["D"]) for id in said])
    answers = write_rows(tmp_path / "a.jsonl", [{"case_id": id, "response_text": text} for id, text in said.items()])
    done = howsure("run", dataset, "--responses", answers, "--json")
    assert (done.code, done.json["passed"], done.json["failed"], done.json["errored"]) == (0, 1, 4, 0)
    results = howsure("results", "latest", "--json").json
    assert [[flag["kind"] for flag in result["flags"]] for result in results] == [
        [],
        ["no_choice"],
        ["several_choices"],
        ["contradictory_choice"],
        ["no_choice"],
    ]
    assert results[1]["flags"][0]["text"] == "no choice could be read"


@pytest.mark.parametrize(
    ("policy", "reply", "value", "verdict"),
    [
        ("prbench_v1", 0.7, None, "errored"),
        ("prbench_v1", 1, 1.0, "passed"),
        ("default_v1", 0.7, 0.7, "passed"),
        ("default_v1", "N/A", None, "errored"),
    ],
)
def test_a_criterion_has_a_value_that_its_policy_allows(
    judged: Callable[..., dict[str, Any]], policy: str, reply: Any, value: float | None, verdict: str
) -> None:
    row = rubric_qa("r", rubric=RUBRIC, metadata={"policy_id": policy})
    result = judged(row, {"good": {"score": reply}, "bad": {"score": 0}})
    assert (result["value"], result["verdict"]) == (pytest.approx(value), verdict)
    assert result["exit"] == (3 if verdict == "errored" else 0)


@pytest.mark.parametrize(
    ("policy", "reply", "value", "verdict"),
    [
        ("default_v1", {"score": 0.6, "pass": True}, 0.6, "passed"),
        ("default_v1", {"score": 0.9, "pass": False}, 0.9, "failed"),
        ("lexam_oq_v1", {"score": 0.9, "pass": False}, 0.9, "passed"),
        ("house_v1", {"score": 0.9, "pass": False}, None, "errored"),
        ("house_v1", {"score": 0.65}, 0.7, "passed"),
        ("default_v1", {"score": "N/A"}, None, "errored"),
    ],
)
def test_the_policy_says_whether_the_judges_pass_or_its_score_wins(
    judged: Callable[..., dict[str, Any]], policy: str, reply: Any, value: float | None, verdict: str
) -> None:
    row = reference_qa("x", metadata={"policy_id": policy})
    result = judged(row, {"": reply}, settings="policies: {house_v1: {pass_wins: null, quantised: true}}")
    assert (result["value"], result["verdict"]) == (value, verdict)


@pytest.mark.parametrize(("policy", "code"), [("house_v1", "unknown-policy"), (3, "wrong-type")])
def test_a_policy_that_nobody_knows_is_a_problem_until_the_settings_have_it(
    howsure: Howsure, tmp_path: Path, policy: Any, code: str
) -> None:
    dataset = write_rows(tmp_path / "d.jsonl", [reference_qa("x", metadata={"policy_id": policy})])
    refused = howsure("validate", dataset, "--json")
    (problem,) = refused.json["files"][0]["problems"]
    assert (refused.code, problem["code"], problem["field"]) == (2, code, "metadata.policy_id")
    (tmp_path / "howsure.yaml").write_text("policies: {house_v1: {}}", encoding="utf-8")
    assert howsure("validate", dataset).code == (0 if code == "unknown-policy" else 2)
