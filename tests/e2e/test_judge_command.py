"""`howsure judge`, as a user types it: on the demo data, with recorded judges, the offline one, a model on loopback."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dialect_rows import reference_qa
from e2e.model_server import application
from house import asked_and_answered, lines
from listening import in_a_thread

Howsure = Callable[..., Any]

DEMO = Path(__file__).parents[2] / "src" / "howsure" / "demo"
EXPLAIN = DEMO / "explain" / "support-onboarding.explain.jsonl"
TEST_SET = (
    DEMO / "test-set" / "test-set.json",
    "--responses", DEMO / "test-set" / "responses.jsonl",
    "--rubric", DEMO / "test-set" / "rubric.json",
    "--agent", DEMO / "test-set" / "agent.json",
)  # fmt: skip
RECORDED = f"recorded:{DEMO / 'test-set' / 'judge.jsonl'}"
EXPLAIN_JUDGE = f"recorded:{DEMO / 'explain' / 'judge.jsonl'}"


@pytest.fixture
def graded(howsure: Howsure) -> list[dict[str, Any]]:
    """What the recorded judge says of every criterion of the demo test set."""
    done = howsure("run", *TEST_SET, "--judge", RECORDED, "--name", "demo", "--json")
    assert done.code in (0, 3), done.err
    return [
        {"case_id": result["test_case_id"], "criterion_id": each["criterion"], "passed": each["passed"]}
        for result in howsure("results", "demo", "--json").json
        for each in result["criteria_scores"] or []
    ]


@pytest.fixture
def labels(tmp_path: Path, graded: list[dict[str, Any]]) -> Path:
    """Two people: one sees everything as the judge does, the other differs on the first two; what it could not say,
    both fail."""
    given = []
    for place, each in enumerate(graded):
        about = {"case_id": each["case_id"], "grader": "criteria", "criterion_id": each["criterion_id"]}
        passed = bool(each["passed"])
        given.append({**about, "label": passed, "annotator": "ann"})
        given.append({**about, "label": "pass" if passed ^ (place < 2) else "fail", "annotator": "bo"})
    return lines(tmp_path / "labels.jsonl", *given)


def test_a_stored_run_is_calibrated_and_remembered(howsure: Howsure, labels: Path, tmp_path: Path) -> None:
    done = howsure("judge", "calibrate", labels, "--run", "demo", "--json")
    assert done.code == 0, done.err
    found = done.json
    coverage = found["coverage"]
    assert coverage["labels"] == 54
    assert coverage["things"] == 27
    assert coverage["split"] == 2
    assert coverage["unreadable"] == 1
    assert coverage["compared"] == 24
    assert found["judge"]["spec"] == RECORDED
    pooled = next(each for each in found["groups"] if each["level"] == "criteria")
    assert pooled["verdicts"]["agreement"]["value"] == 1.0
    assert pooled["verdicts"]["with_silence"] == {
        "value": 0.96,
        # Over whole cases; as 25 cases it would be 80.5 to 99.8.
        "interval": pytest.approx([0.757, 0.9997], abs=1e-3),
        "n": 25,
    }
    assert pooled["raters"]["annotators"] == ["ann", "bo"]
    assert sum(each["level"] == "criterion" for each in found["groups"]) == 27
    (line,) = (tmp_path / ".howsure" / "calibrations.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line) == found
    told = howsure("judge", "about", RECORDED)
    assert told.code == 0
    assert "this version" in told.out
    assert "kappa 1.000" in told.out
    shown = howsure("judge", "calibrate", labels, "--run", "demo").out
    assert flat(shown).startswith("The judge misses 0 % (")
    assert max(map(len, shown.splitlines())) <= 80


def test_datasets_are_judged_now_with_the_graders_that_the_labels_name(howsure: Howsure, labels: Path) -> None:
    done = howsure("judge", "calibrate", labels, *TEST_SET, "--judge", "offline")
    assert done.code == 0, done.err
    assert "cannot tell or unreadable" in done.out
    assert "silence counted as disagreement" in done.out
    results = howsure("results", "calibration", "--json").json
    assert {name for result in results for name in result["scores"]} == {"criteria"}
    assert all(len(line) <= 80 for line in done.out.splitlines())


def test_bands_need_no_labels(howsure: Howsure) -> None:
    done = howsure("judge", "calibrate", EXPLAIN, "--by", "quality_band", "--judge", EXPLAIN_JUDGE, "--json")
    assert done.code == 0, done.err
    bands = {each["grader"]: each for each in done.json["bands"]}
    adherence = bands["TaskAdherenceExplain"]
    assert [band["value"] for band in adherence["bands"]] == ["poor", "mixed", "good", "excellent"]
    means = [band["mean"]["value"] for band in adherence["bands"]]
    assert means == sorted(means)
    assert adherence["ordered"]["value"] > 0.8
    assert 0 < adherence["spearman"]["value"] <= 1


def test_labels_can_be_looked_at_band_by_band(howsure: Howsure, tmp_path: Path) -> None:
    cases = [json.loads(line)["case_id"] for line in EXPLAIN.read_text(encoding="utf-8").splitlines()]
    given = ({"case_id": case, "grader": "TaskAdherenceExplain", "label": 4} for case in cases)
    path = lines(tmp_path / "numbers.jsonl", *given)
    done = howsure("judge", "calibrate", path, EXPLAIN, "--by", "quality_band", "--judge", EXPLAIN_JUDGE, "--json")
    assert done.code == 0, done.err
    assert [each["where"] for each in done.json["groups"]] == ["", "excellent", "good", "mixed", "poor"]
    ratings = done.json["groups"][0]["ratings"]
    assert ratings["spearman"]["value"] is None
    assert ratings["mae"]["n"] == 20


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("calibrate",), 2, "a file of labels"),
        (("calibrate", "nowhere.jsonl", "--run", "latest"), 2, "no such file"),
        (("calibrate", "bad.jsonl", "--run", "latest"), 2, "bad.jsonl:1"),
        (("calibrate", "good.jsonl"), 2, "--run"),
        (("calibrate", "good.jsonl", "--run", "x", "--judge", "offline"), 2, "has its judge already"),
        (("test", str(EXPLAIN), "--judge", EXPLAIN_JUDGE), 2, "a recording repeats"),
        (("test", str(EXPLAIN), "--judge", "none"), 2, "a judge is needed"),
        (("about", "oracle:delphi"), 2, "oracle"),
        (("migrate", "none", "offline", "good.jsonl", str(EXPLAIN)), 2, "OLD must be a judge"),
    ],
)
def test_what_the_user_must_mend_is_said(
    howsure: Howsure, tmp_path: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    lines(tmp_path / "bad.jsonl", {"case_id": "c"})
    lines(tmp_path / "good.jsonl", {"case_id": "c", "grader": "criteria", "label": True})
    done = howsure("judge", *words)
    assert (done.code, said in done.err) == (code, True), done.err
    assert "Traceback" not in done.err


def test_problems_are_json_too(howsure: Howsure, tmp_path: Path) -> None:
    path = lines(tmp_path / "bad.jsonl", {"case_id": "c"}, {"grader": "g", "label": "so so"})
    done = howsure("judge", "calibrate", path, "--run", "latest", "--json")
    assert done.code == 2
    assert [(each["line"], each["field"]) for each in done.json["problems"]] == [
        (1, "grader"),
        (1, "label"),
        (2, "case_id"),
        (2, "label"),
    ]


def test_the_offline_judge_tells_what_was_measured(howsure: Howsure) -> None:
    done = howsure("judge", "about", "offline", env={"PYTHONIOENCODING": "ascii", "COLUMNS": "80"})
    assert done.code == 0
    assert "0.813  1,487 of 1,490  short reference answers" in done.out
    assert "not measured: EmpathyExplain" in done.out
    assert done.out.isascii()
    assert all(len(line) <= 80 for line in done.out.splitlines() if "No calibration" not in line)
    known = howsure("judge", "about", "offline", "--json").json
    assert known["measured"][0]["value"] == 0.813
    assert known["calibrations"] == []


def test_the_offline_judge_is_shaken_and_attacked(howsure: Howsure) -> None:
    legal = (DEMO / "legal" / "compliance.jsonl", "--responses", DEMO / "legal" / "responses.jsonl")
    done = howsure("judge", "test", *legal, "--limit", "24", "--json")
    assert done.code == 0, done.err
    found = done.json
    assert found["cases"] == 72
    by_name = {each["name"]: each for each in found["stability"]}
    assert by_name["repeat"]["unchanged"]["value"] == 1.0
    assert by_name["order of criteria"]["unchanged"]["value"] == 1.0
    assert len(found["attacks"]) >= 20
    assert found["failing"] > 0
    assert all(each["success"]["n"] + each["unreadable"] == found["failing"] for each in found["attacks"])
    shown = howsure("judge", "test", *legal, "--limit", "24", env={"COLUMNS": "80"})
    assert "attack success" in shown.out
    assert all(len(line) <= 80 for line in shown.out.splitlines())


@pytest.fixture
def model() -> Iterator[str]:
    """A model on loopback that gives everything the lowest value."""
    with in_a_thread(application("bad")) as address:
        yield f"openai-compatible:judge@{address}/v1"


def test_a_model_is_tested_and_calibrated_like_any_judge(howsure: Howsure, model: str, labels: Path) -> None:
    done = howsure("judge", "test", *TEST_SET, "--judge", model, "--limit", "1", "--graders", "criteria", "--json")
    assert done.code == 0, done.err
    assert done.json["turned"]["value"] == 0.0
    assert done.json["judge"]["prompts"]
    done = howsure("judge", "calibrate", labels, *TEST_SET, "--judge", model, "--json")
    assert done.code == 0, done.err
    assert done.json["coverage"]["compared"] == 25
    assert done.json["judge"]["prompts"]
    told = howsure("judge", "about", model, "--json").json
    assert [each["current"] for each in told["calibrations"]] == [True]


def test_a_judge_that_agrees_as_well_may_replace_the_old_one_where_enough_labels_show_it(
    howsure: Howsure, labels: Path
) -> None:
    done = howsure("judge", "migrate", RECORDED, RECORDED, labels, *TEST_SET, "--json")
    assert done.code == 101, "labels of ten cases cannot show that it is at most five points worse"
    assert (done.json["may_replace"], done.json["gain"]["value"], done.json["margin"]) == (None, 0.0, 0.05)
    assert done.json["shifts"][0]["flips"] == []
    wide = howsure("judge", "migrate", RECORDED, RECORDED, labels, *TEST_SET, "--margin", "0.4", "--json")
    assert wide.code == 0, wide.err
    assert wide.json["may_replace"] is True
    assert "at most 40 points worse" in wide.json["sentence"]


def test_a_judge_that_agrees_less_may_not_and_the_flips_are_named(howsure: Howsure, labels: Path, model: str) -> None:
    done = howsure("judge", "migrate", RECORDED, model, labels, *TEST_SET, "--json")
    assert done.code == 100, done.err
    assert done.json["may_replace"] is False
    flips = done.json["shifts"][0]["flips"]
    assert {(flip["before"], flip["after"]) for flip in flips} == {("pass", "fail")}
    assert all(flip["case_id"] and flip["criterion"] for flip in flips)
    shown = howsure("judge", "migrate", RECORDED, "offline", labels, *TEST_SET, env={"COLUMNS": "80"})
    assert shown.code == 100
    assert shown.out.startswith("The new judge may not replace the old one")
    assert all(len(line) <= 80 for line in shown.out.splitlines())


def test_too_few_labels_do_not_decide(howsure: Howsure, tmp_path: Path, graded: list[dict[str, Any]]) -> None:
    one = {"case_id": graded[0]["case_id"], "grader": "criteria", "criterion_id": graded[0]["criterion_id"]}
    path = lines(tmp_path / "one.jsonl", {**one, "label": True})
    done = howsure("judge", "migrate", RECORDED, "offline", path, *TEST_SET)
    assert done.code == 101
    assert "It cannot be told" in done.out


UNREADABLE = {
    "empty": "",
    "refused": "I'm sorry, but I can't help with that.",
    "no_grade": "It is partially correct.",
    "several_grades": "Score: 0.5. No, wait. Score: 0.2",
    "off_scale": {"score": 7},
    "not_json": "{score: high}",
    "cut_off": '{"score": 0.5, "reason": "It',
}


def test_replies_that_cannot_be_read_are_counted_by_kind_on_the_run_and_in_a_calibration(
    howsure: Howsure, tmp_path: Path
) -> None:
    said = {**UNREADABLE, "fine": {"score": 1}, "also_off_scale": "-1"}
    questions = [reference_qa(name, prompt=f"What of {name}?") for name in said]
    answers = [{"case_id": name, "candidate_name": "bot", "response_text": "A fox."} for name in said]
    asked, answered = asked_and_answered(tmp_path, questions, answers)
    replies = [
        {"case_id": name, "grader": "reference_answer", "attempt": attempt, "reply": reply}
        for name, reply in said.items()
        for attempt in (1, 2)
    ]
    judge = f"recorded:{lines(tmp_path / 'replies.jsonl', *replies)}"
    assert howsure("run", asked, "--responses", answered, "--judge", judge, "--name", "r", "--quiet").code == 3
    assert howsure("show", "r", "--json").json["flags"] == {
        f"unreadable_{kind}": 2 if kind == "off_scale" else 1 for kind in sorted(UNREADABLE)
    }
    told = "1 empty, 1 refused, 1 without a grade, 1 with several grades, 2 off the scale, 1 broken JSON, 1 cut off"
    assert f"Judge replies that cannot be read, by results: {told}." in flat(howsure("show", "r").out)
    labels = lines(
        tmp_path / "people.jsonl",
        *({"case_id": name, "grader": "reference_answer", "label": True, "annotator": "ann"} for name in said),
    )
    assert f"1 compared + 8 cannot tell or unreadable ({told})" in flat(
        howsure("judge", "calibrate", labels, "--run", "r").out
    )
    assert howsure("judge", "calibrate", labels, "--run", "r", "--json").json["coverage"]["kinds"] == {
        f"unreadable_{kind}": 2 if kind == "off_scale" else 1 for kind in sorted(UNREADABLE)
    }


def flat(text: str) -> str:
    """The text on one line."""
    return " ".join(text.split())
