"""The files of the systems before Howsure, written from the demo's runs, under the names that the facts about those
systems give, and read back where one of our dialects reads them."""

from __future__ import annotations

import asyncio
import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from demo_runs import demo_runs
from howsure.dialects.datasets import read_cases
from howsure.dialects.golden import GoldenDialect
from howsure.dialects.legal import LegalDialect
from howsure.dialects.simulation import SimulationDialect
from howsure.errors import PlanRefused, UnknownName
from howsure.model.result import Result
from howsure.model.summary import Summary
from howsure.services.demo import DEMOS, demo_folder, demo_request
from howsure.services.report import write_artifacts
from howsure.services.run.start import start
from howsure.services.workspace import Workspace

Lines = list[dict[str, Any]]
DIALECTS = ("legal", "golden", "explain", "simulation")


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return demo_runs(tmp_path_factory.mktemp("demo"), *DIALECTS)


@pytest.fixture(scope="module")
def artifacts(work: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """The folder of one set, written from one demo; each is written once."""
    done: dict[tuple[str, str], Path] = {}

    def made(name: str, dialect: str) -> Path:
        if (name, dialect) not in done:
            place = tmp_path_factory.mktemp("artifacts") / name
            asyncio.run(write_artifacts(work, f"demo {dialect}", name, place))
            done[name, dialect] = place
        return done[name, dialect]

    return made


def lines(path: Path) -> Lines:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


async def results_of(work: Workspace, name: str) -> tuple[Summary, list[Result]]:
    async with await work.store(read_only=True) as store:
        run = await store.find_run(name)
        return await store.summary(run.id), [result async for result in store.iterate(run.id)]


# --- legal


def test_the_legal_set_has_its_seven_files(artifacts: Callable[[str, str], Path]) -> None:
    names = {path.name for path in artifacts("legal", "legal").iterdir()}
    assert names == {
        "examples.jsonl",
        "responses.jsonl",
        "judgments.jsonl",
        "scored_responses.jsonl",
        "trace.jsonl",
        "summary.json",
        "run_config.json",
    }


RESPONSE = (
    "run_id run_started_at_utc dataset provenance judge_mode example_id candidate_name candidate_provider "
    "candidate_model candidate_settings request_id cache_key cache_hit response_source prompt_messages response_text "
    "usage latency_s metadata reference_answer"
)
JUDGMENT = (
    "judge_name judge_provider judge_model score pass rationale criteria parse_error prbench_weighted_raw "
    "prbench_points_normalized prbench_points_clipped raw_judge"
)


def test_legal_lines_have_the_fields_of_their_runner(artifacts: Callable[[str, str], Path]) -> None:
    place = artifacts("legal", "legal")
    responses, judgments = lines(place / "responses.jsonl"), lines(place / "judgments.jsonl")
    assert {len(responses), len(judgments)} == {72}
    assert all(set(RESPONSE.split()) | {"repeat"} == set(line) for line in responses)
    assert all(set(JUDGMENT.split()) <= set(line) for line in judgments)
    scored = lines(place / "scored_responses.jsonl")
    assert [{**line, "grading": None} for line in scored] == [{**line, "grading": None} for line in responses]
    assert set(JUDGMENT.split()) <= set(scored[0]["grading"])


def test_legal_judgments_say_what_the_run_says(artifacts: Callable[[str, str], Path]) -> None:
    judgments = lines(artifacts("legal", "legal") / "judgments.jsonl")
    passed = [line["pass"] for line in judgments]
    assert (passed.count(True), passed.count(False), passed.count(None)) == (50, 21, 1)
    assert all(line["score"] is None and line["parse_error"] for line in judgments if line["pass"] is None)
    rubric = next(
        line for line in judgments if line["judge_mode"] == "rubric" and line["candidate_name"] == "orchid-7b"
    )
    assert set(rubric["criteria"]) == {call["criterion_id"] for call in rubric["raw_judge"]["calls"]}
    assert rubric["prbench_points_normalized"] < 0 < rubric["prbench_points_clipped"] + 1e-9
    assert {line["judge_name"] for line in judgments if line["judge_mode"] == "mcq"} == {"mcq_programmatic"}


def test_the_legal_trace_tells_of_every_call(artifacts: Callable[[str, str], Path]) -> None:
    events = [line["event"] for line in lines(artifacts("legal", "legal") / "trace.jsonl")]
    assert set(events) == {"generation_call", "judge_call", "mcq_grade"}
    assert events.count("generation_call") == 72


SUMMARY = (
    "models by_dataset num_responses num_judgments run_id selected_examples datasets judges failed_items num_failures "
    "run_status interrupted_stage"
)
STATS = "responses judged score_sum pass_count avg_score pass_rate"


def test_the_legal_summary_averages_what_was_judged(artifacts: Callable[[str, str], Path]) -> None:
    summary = json.loads((artifacts("legal", "legal") / "summary.json").read_bytes())
    assert set(SUMMARY.split()) <= set(summary)
    assert set(STATS.split()) <= set(summary["models"]["juno-mini"])
    assert summary["models"]["juno-large"]["pass_rate"] == 22 / 24
    assert (summary["num_responses"], summary["num_judgments"], summary["num_failures"]) == (72, 71, 1)
    assert summary["by_dataset"]["larkmoor-compliance"]["responses"] == 72
    assert summary["by_dataset"]["larkmoor-compliance"]["models"]["orchid-7b"]["judged"] == 24
    assert (summary["run_status"], summary["interrupted_stage"], summary["selected_examples"]) == (
        "completed",
        None,
        24,
    )
    assert {item["stage"] for item in summary["failed_items"]} == {"judging"}


def test_the_legal_configuration_names_no_secret(artifacts: Callable[[str, str], Path]) -> None:
    text = (artifacts("legal", "legal") / "run_config.json").read_text("utf-8")
    config = json.loads(text)
    assert [each["name"] for each in config["candidates"]] == ["juno-large", "juno-mini", "orchid-7b"]
    assert config["run"]["final_response_source"] == "prefilled"
    assert "api_key" not in text


def test_legal_files_are_read_back(artifacts: Callable[[str, str], Path], work: Workspace, tmp_path: Path) -> None:
    """The questions as a dataset, the answers as `--responses`: the run made of both comes out the same."""
    place = artifacts("legal", "legal")
    demo = next(each for each in DEMOS if each.dialect == "legal")
    again = list(read_cases(place / "examples.jsonl", LegalDialect()))
    assert again == list(read_cases(demo_folder() / demo.dataset, LegalDialect()))
    repeated = replace(
        demo_request(demo),
        datasets=(str(place / "examples.jsonl"),),
        responses=(str(place / "responses.jsonl"),),
        name="again",
    )
    summary = asyncio.run(start(work, repeated, lambda _: lambda __: None))
    first, _ = asyncio.run(results_of(work, "demo legal"))
    assert summary.candidates == first.candidates


# --- golden

QUESTION = "question_id runs deterministic_metrics llm_metrics"


def test_the_golden_set_is_named_as_theirs(artifacts: Callable[[str, str], Path]) -> None:
    place = artifacts("golden", "golden")
    names = sorted(path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file())
    assert names[:2] == ["eval_summary.json", "question_answer_log.md"]
    assert [name.partition("_2")[0] for name in names[2:4]] == ["raw/evaluation_results", "raw/processed_interaction"]
    assert names[4:] == ["raw/temp_consolidated_questions.json"]


def test_the_golden_summary_has_their_fields_and_our_numbers(artifacts: Callable[[str, str], Path]) -> None:
    summary = json.loads((artifacts("golden", "golden") / "eval_summary.json").read_bytes())
    assert set(summary) == {
        "experiment_id",
        "run_type",
        "test_description",
        "interaction_datetime",
        "overall_summary",
        "per_question_summary",
    }
    assert summary["experiment_id"].startswith("eval-20")
    overall = summary["overall_summary"]
    assert overall["deterministic_metrics"]["token_usage.llm_calls"] == 3.5
    assert overall["deterministic_metrics"]["tool_usage_accuracy.score"] == pytest.approx(12.5 / 15)
    correct = overall["llm_based_metrics"]["response_correctness"]
    assert correct == {
        "average": pytest.approx(61 / 15),
        "score_range": {"min": 0.0, "max": 5.0, "description": "0 to 5"},
    }
    questions = summary["per_question_summary"]
    assert len(questions) == 16
    assert all(set(QUESTION.split()) <= set(question) for question in questions)
    first = questions[0]
    assert (first["question_id"], first["runs"], first["topic"]) == ("q_order_status_01", 1, "delivery")
    judged = first["llm_metrics"]["response_correctness"]
    assert set(judged) == {"score", "explanation", "rubric_verdicts", "error", "input"}
    assert (judged["score"], judged["error"]) == (5.0, None)


def test_what_a_golden_judge_did_not_say_is_null_with_its_reason(artifacts: Callable[[str, str], Path]) -> None:
    summary = json.loads((artifacts("golden", "golden") / "eval_summary.json").read_bytes())
    judged = [each["llm_metrics"].get("capability_honesty") for each in summary["per_question_summary"]]
    none = [each for each in judged if each and each["score"] is None]
    assert [each["error"] for each in none] == ["Nothing is promised."]


def test_golden_questions_are_read_back(artifacts: Callable[[str, str], Path]) -> None:
    path = artifacts("golden", "golden") / "raw" / "temp_consolidated_questions.json"
    demo = next(each for each in DEMOS if each.dialect == "golden")
    again, before = (list(read_cases(each, GoldenDialect())) for each in (path, demo_folder() / demo.dataset))
    assert [(case.id, case.input, case.expectations) for case in again] == [
        (case.id, case.input, case.expectations) for case in before
    ]


@pytest.mark.parametrize("dialect", ["golden", "simulation"])
def test_golden_conversations_are_read_back_as_a_simulation_file(
    dialect: str, artifacts: Callable[[str, str], Path], work: Workspace
) -> None:
    (path,) = (artifacts("golden", dialect) / "raw").glob("processed_interaction_*.jsonl")
    cases = list(read_cases(path, SimulationDialect()))
    _, results = asyncio.run(results_of(work, f"demo {dialect}"))
    assert [case.id for case in cases] == [result.case.id for result in results]
    said = [getattr(case.recorded, "answer", None) for case in cases]
    assert said == [result.transcript.answer if result.transcript else None for result in results]


def test_golden_results_are_a_table_with_a_json_column(artifacts: Callable[[str, str], Path]) -> None:
    (path,) = (artifacts("golden", "golden") / "raw").glob("evaluation_results_*.csv")
    with path.open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert len(table) == 16
    assert json.loads(table[0]["eval_results"])["response_correctness"]["score"] == 5.0


def test_the_golden_log_tells_every_conversation(artifacts: Callable[[str, str], Path]) -> None:
    log = (artifacts("golden", "golden") / "question_answer_log.md").read_text("utf-8")
    assert log.count("\n## ") == 16
    assert "agent:concierge → agent:orders_agent → tool:look_up_order" in log
    assert "| look_up_order | order_id | success |" in log
    assert "| response_correctness | 5 | Gives the carrier and the day, as expected. |" in log


def test_the_golden_log_has_the_scores_that_a_recording_brought(artifacts: Callable[[str, str], Path]) -> None:
    log = (artifacts("golden", "simulation") / "question_answer_log.md").read_text("utf-8")
    assert "- adk_score.hallucinations_v1: " in log
    assert "- adk_score.safety_v1: " in log


# --- explain


def test_the_explain_report_has_their_fields_and_no_minus_one(artifacts: Callable[[str, str], Path]) -> None:
    (path,) = artifacts("explain", "explain").iterdir()
    assert path.name.startswith("eval-report-20")
    report = json.loads(path.read_bytes())
    theirs = {"generatedAtUtc", "totalCases", "totalPassed", "overallPassRate", "perAgent", "cases"}
    assert set(report) - theirs == {"totalErrored", "totalSkipped"}
    assert (report["totalCases"], report["totalPassed"], report["overallPassRate"]) == (20, 11, 11 / 18)
    agent = report["perAgent"]["learning-path-curator"]
    assert set(agent) == {"totalCases", "passedCases", "passRate", "compositeAverage", "explanation", "metricAverages"}
    case = report["cases"][0]
    fields = {"caseId", "agentName", "scenarioId", "thresholdProfile", "compositeScore", "passed", "metrics"}
    assert fields <= set(case)
    assert (case["caseId"], case["compositeScore"], case["thresholdProfile"]) == (
        "learning-path-curator-001",
        4.85,
        "prep_default",
    )
    assert set(case["metrics"][0]) == {"metricName", "evalName", "score", "probScore", "reasoning", "chainOfThought"}
    assert "composite" not in [each["metricName"] for each in case["metrics"]]
    scores = [each["score"] for each in (metric for case in report["cases"] for metric in case["metrics"])]
    assert None in scores
    assert all(1 <= score <= 5 for score in scores if score is not None)


def test_explain_cases_that_did_not_pass_say_why(artifacts: Callable[[str, str], Path]) -> None:
    (path,) = artifacts("explain", "explain").iterdir()
    cases = json.loads(path.read_bytes())["cases"]
    assert all(("failureReason" in case) == (case["passed"] is not True) for case in cases)
    assert [case["passed"] for case in cases].count(None) == 2


# --- azure


def test_azure_keys_are_those_of_its_sdk(artifacts: Callable[[str, str], Path]) -> None:
    results = json.loads((artifacts("azure", "explain") / "azure_results.json").read_bytes())
    assert set(results) == {"rows", "metrics", "studio_url"}
    first = results["rows"][0]
    at = "outputs.intent_resolution.intent_resolution"
    assert {key: first[key] for key in (at, f"{at}_result", f"{at}_threshold")} == {
        at: 5.0,
        f"{at}_result": "pass",
        f"{at}_threshold": 3.6,
    }
    assert first[f"{at}_reason"].startswith("A short selection")
    assert first["inputs.id"] == "learning-path-curator-001"
    assert 1 <= results["metrics"]["task_adherence.task_adherence"] <= 5
    assert 0 <= results["metrics"]["task_adherence.binary_aggregate"] <= 1


# --- refused


@pytest.mark.parametrize(
    ("name", "dialect", "told"),
    [
        ("legal", "golden", "these files are for runs over legal data, and the case 'q_order_status_01' is of golden"),
        ("golden", "legal", "these files are for runs over golden data"),
        ("explain", "simulation", "these files are for runs over explain data"),
        ("azure", "legal", "no eval on a scale from 1 to 5"),
    ],
)
async def test_a_run_of_another_world_is_refused_and_leaves_nothing(
    work: Workspace, tmp_path: Path, name: str, dialect: str, told: str
) -> None:
    with pytest.raises(PlanRefused, match=told):
        await write_artifacts(work, f"demo {dialect}", name, tmp_path / "out" / "deep")
    assert not (tmp_path / "out" / "deep").exists()


async def test_an_unknown_set_names_the_known_ones(work: Workspace, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="known: azure, every-eval-ever, explain, golden, legal"):
        await write_artifacts(work, "demo legal", "spreadsheet", tmp_path)


async def test_a_file_in_the_way_is_told_of(work: Workspace, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(PlanRefused, match=r"--output .*taken: cannot be written: File exists"):
        await write_artifacts(work, "demo legal", "legal", tmp_path / "taken")
