"""Every command, as a user types it: what it prints, what it leaves behind, how it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from house import lines, mcq

Howsure = Callable[..., Any]

COMMANDS = [
    "demo",
    "init",
    "validate",
    "convert",
    "sample",
    "split",
    "merge",
    "run",
    "resume",
    "retry",
    "runs",
    "show",
    "results",
    "report",
    "trend",
    "plan",
    "gate",
    "cache",
    "judge",
    "schema",
    "doctor",
]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    return lines(tmp_path / "house.jsonl", *(mcq(number) for number in range(1, 5)))


@pytest.fixture
def responses(tmp_path: Path) -> Path:
    said = {"q1": "A", "q2": "Answer: B", "q4": "(a)"}
    broken = {"case_id": "q3", "error": "the line went dead"}
    return lines(
        tmp_path / "responses.jsonl",
        *({"case_id": case, "response_text": text} for case, text in said.items()),
        broken,
    )


@pytest.fixture
def finished(howsure: Howsure, dataset: Path, responses: Path) -> dict[str, Any]:
    """The EvaluationRun of a run with two passed, one failed, one errored."""
    done = howsure("run", dataset, "--responses", responses, "--json", "--name", "first")
    assert done.code == 3, done.err
    run: dict[str, Any] = done.json
    return run


def test_help_names_every_command_and_every_command_has_help(howsure: Howsure) -> None:
    assert all(f"  {command} " in howsure("--help").out for command in COMMANDS)
    for command in COMMANDS:
        shown = howsure(command, "--help")
        assert shown.code == 0
        assert len(shown.out.splitlines()) > 5


def test_a_run_counts_what_it_could_not_judge_apart(finished: dict[str, Any]) -> None:
    counts = {name: finished[name] for name in ("total", "completed", "passed", "failed", "errored", "skipped")}
    assert counts == {"total": 4, "completed": 4, "passed": 2, "failed": 1, "errored": 1, "skipped": 0}
    assert finished["status"] == "completed"


def test_the_results_of_a_run_are_an_array_in_the_order_of_the_cases(
    howsure: Howsure, finished: dict[str, Any]
) -> None:
    results = howsure("results", finished["run_id"], "--json").json
    assert [(each["test_case_id"], each["verdict"]) for each in results] == [
        ("q1", "passed"),
        ("q2", "failed"),
        ("q3", "errored"),
        ("q4", "passed"),
    ]
    assert [each["passed"] for each in results] == [True, False, None, True]
    assert json.loads(results[1]["scores"]["choice"]["comment"])["passed"] is False


def test_results_come_as_lines_and_canonically_too(howsure: Howsure, finished: dict[str, Any]) -> None:
    ndjson = [json.loads(line) for line in howsure("results", "first", "--ndjson").out.splitlines()]
    assert len(ndjson) == 4
    canonical = howsure("results", "latest", "--canonical").out
    assert finished["run_id"] not in canonical
    assert len(canonical.splitlines()) == 4
    assert howsure("results", "--json", "--ndjson").code == 2


def test_only_one_verdict_can_be_asked_for(howsure: Howsure, finished: dict[str, Any]) -> None:
    assert [each["test_case_id"] for each in howsure("results", "--verdict", "errored").json] == ["q3"]


def test_a_run_is_found_by_id_prefix_name_and_latest(howsure: Howsure, finished: dict[str, Any]) -> None:
    for name in (finished["run_id"], finished["run_id"][:8], "first", "latest"):
        assert howsure("show", name, "--json").json["run_id"] == finished["run_id"]
    missing = howsure("show", "nothing-like-it")
    assert missing.code == 2
    assert "Traceback" not in missing.err


def test_show_tells_the_story_of_one_case(howsure: Howsure, finished: dict[str, Any]) -> None:
    shown = howsure("show", "latest", "q2")
    assert shown.code == 0
    assert "Question 2?" in shown.out
    assert "Answer: B" in shown.out
    assert "failed" in shown.out
    assert howsure("show", "latest", "q99").code == 2


def test_runs_are_listed_newest_first(
    howsure: Howsure, dataset: Path, responses: Path, finished: dict[str, Any]
) -> None:
    howsure("run", dataset, "--responses", responses, "--name", "second")
    assert [run["name"] for run in howsure("runs", "--json").json] == ["second", "first"]
    assert "first" in howsure("runs").out


def test_without_runs_the_list_says_how_to_make_one(howsure: Howsure) -> None:
    assert "howsure demo" in howsure("runs").out


@pytest.mark.parametrize("ending", [".html", ".md", ".csv", ".jsonl", ".json"])
def test_a_run_can_be_written_in_every_format(
    howsure: Howsure, tmp_path: Path, finished: dict[str, Any], ending: str
) -> None:
    path = tmp_path / f"report{ending}"
    assert howsure("report", "latest", "--output", path).code == 0
    text = path.read_text(encoding="utf-8")
    assert "q3" in text
    assert "errored" in text


def test_an_ending_nobody_can_write_is_refused_before_the_run(howsure: Howsure, dataset: Path, responses: Path) -> None:
    done = howsure("run", dataset, "--responses", responses, "--output", "report.docx")
    assert done.code == 2
    assert ".html" in done.err
    assert howsure("runs", "--json").json == []


def test_retry_tries_the_errored_cases_again(howsure: Howsure, finished: dict[str, Any]) -> None:
    again = howsure("retry", "latest", "--errors", "--json")
    assert again.code == 3
    assert again.json["run_id"] == finished["run_id"]
    assert again.json["errored"] == 1


def test_a_finished_run_cannot_be_resumed(howsure: Howsure, finished: dict[str, Any]) -> None:
    done = howsure("resume", "latest")
    assert done.code == 2
    assert "complete" in done.err


def test_validate_prints_every_problem_with_its_place(howsure: Howsure, tmp_path: Path) -> None:
    broken = mcq(2, correct_choice_ids=["C"])
    del broken["prompt"]
    path = lines(tmp_path / "broken.jsonl", mcq(1), broken)
    done = howsure("validate", path, "--json")
    assert done.code == 2
    (file,) = done.json["files"]
    assert done.json["valid"] is False
    assert file["dialect"] == "legal"
    assert sorted((problem["line"], problem["field"]) for problem in file["problems"]) == [
        (2, "correct_choice_ids[0]"),
        (2, "prompt"),
    ]
    assert set(file["problems"][0]) >= {"code", "line", "field", "message"}
    plain = howsure("validate", path)
    assert plain.code == 2
    assert "broken.jsonl:2" in plain.out


def test_validate_counts_the_cases_of_a_good_file(howsure: Howsure, dataset: Path) -> None:
    done = howsure("validate", dataset, "--json")
    assert done.code == 0
    assert done.json["files"][0]["cases"] == 4
    assert done.json["valid"] is True


def test_a_bad_dataset_is_refused_and_nothing_is_stored(howsure: Howsure, tmp_path: Path) -> None:
    path = lines(tmp_path / "broken.jsonl", mcq(1, prompt=3))
    done = howsure("run", path, "--json")
    assert done.code == 2
    assert done.json["error"] == "DatasetInvalid"
    assert done.json["problems"][0]["field"] == "prompt"
    assert howsure("runs", "--json").json == []


def test_missing_answers_are_listed_before_anything_runs(howsure: Howsure, tmp_path: Path, dataset: Path) -> None:
    partial = lines(tmp_path / "partial.jsonl", {"case_id": "q1", "response_text": "A"})
    done = howsure("run", dataset, "--responses", partial)
    assert done.code == 2
    assert "3 answers are missing: q2, q3, q4" in done.err
    assert howsure("runs", "--json").json == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--limit", "0"], "--limit must be 1 or more"),
        (["--graders", "charm"], "unknown grader 'charm'"),
        (["--profile", "nobody"], "unknown profile 'nobody'"),
        (["--target", "nobody"], "unknown target 'nobody'; known: adk"),
        (["--judge", "oracle"], "oracle"),
        (["--judge", "recorded:"], "needs a file"),
        (["--judge", "openai:gpt-x"], "OPENAI_API_KEY"),
        (["--budget", "lots"], "cannot read 'lots'"),
        (["--normalization", "loud"], "points or min_max"),
        (["--judge", "recorded:missing.jsonl"], "missing.jsonl"),
        (["--filter", "colour"], "KEY:VALUE"),
        (["--filter", "dataset:elsewhere"], "no case to run"),
        (["--rubric", "missing.json"], "missing.json"),
        (["--dialect", "klingon"], "unknown dialect 'klingon'"),
    ],
)
def test_a_wrong_option_is_explained(
    howsure: Howsure, dataset: Path, responses: Path, words: list[str], told: str
) -> None:
    done = howsure("run", dataset, "--responses", responses, *words)
    assert done.code == 2
    assert told in done.err
    assert "Traceback" not in done.err


def test_a_missing_file_is_named(howsure: Howsure) -> None:
    done = howsure("run", "nowhere.jsonl")
    assert done.code == 2
    assert "nowhere.jsonl" in done.err
    assert "Traceback" not in done.err


def test_answers_can_come_from_an_earlier_run(howsure: Howsure, dataset: Path, finished: dict[str, Any]) -> None:
    again = howsure("run", dataset, "--responses", "run:first", "--json")
    assert again.code == 3, again.err
    assert (again.json["passed"], again.json["failed"], again.json["errored"]) == (2, 1, 1)


def test_several_candidates_are_counted_apart(howsure: Howsure, tmp_path: Path, dataset: Path) -> None:
    rows = [
        {"example_id": f"q{number}", "candidate_name": name, "response_text": text}
        for number in range(1, 5)
        for name, text in (("juno", "A"), ("orchid", "B"))
    ]
    answers = lines(tmp_path / "many.jsonl", *rows)
    both = howsure("run", dataset, "--responses", answers, "--json")
    assert both.code == 0, both.err
    assert both.json["total"] == 8
    assert both.json["candidates"]["juno"]["passed"] == 4
    assert both.json["candidates"]["orchid"]["failed"] == 4
    one = howsure("run", dataset, "--responses", answers, "--candidate", "orchid", "--json").json
    assert (one["total"], one["failed"]) == (4, 4)


@pytest.mark.parametrize("dialect", ["explain", "golden", "simulation", "test-set", "legal", "responses"])
def test_every_dialect_prints_its_schema(howsure: Howsure, dialect: str) -> None:
    done = howsure("schema", dialect)
    assert done.code == 0
    assert done.json["$schema"].endswith("2020-12/schema")


def test_schema_without_a_name_lists_the_names(howsure: Howsure) -> None:
    assert "legal" in howsure("schema").out.split()
    assert howsure("schema", "klingon").code == 2


def test_doctor_finds_a_healthy_place_healthy_and_a_broken_one_broken(howsure: Howsure, tmp_path: Path) -> None:
    assert howsure("doctor").code == 0
    assert howsure("doctor", "--json").json["healthy"] is True
    (tmp_path / "not-a-database").write_text("hello", encoding="utf-8")
    sick = howsure("doctor", "--database", tmp_path / "not-a-database", "--json")
    assert sick.code == 2
    assert sick.json["healthy"] is False


def test_the_version_is_printed(howsure: Howsure) -> None:
    assert howsure("--version").out.startswith("howsure, version ")


def test_an_unknown_command_or_option_is_the_users_to_mend(howsure: Howsure) -> None:
    assert howsure("fly").code == 2
    assert howsure("run").code == 2
    assert howsure("run", "x", "--wings").code == 2
