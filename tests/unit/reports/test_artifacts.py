"""The artifact sets where the demo's runs do not go: repeats, targets that broke, unfinished runs, hostile text."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hostile import HOSTILE, hostile_results
from howsure.dialects.datasets import read_cases
from howsure.dialects.simulation import SimulationDialect
from howsure.model.case import Case, SingleTurn, World
from howsure.model.expectation import (
    Choice,
    CorrectChoice,
    Criterion,
    ReferenceAnswer,
    ToolCalls,
    Trajectory,
    WeightedCriteria,
)
from howsure.model.result import Failure, Result
from howsure.model.run import DatasetPin, RunState
from howsure.model.score import LIKERT, Part, Score, Unscored, UnscoredReason
from howsure.model.summary import Summary
from howsure.model.transcript import Message, Role, Transcript, Usage
from howsure.model.verdict import Verdict
from howsure.reports.artifacts.explain import azure_name, write_azure, write_explain
from howsure.reports.artifacts.files import start_time
from howsure.reports.artifacts.golden import write_golden
from howsure.reports.artifacts.legal import judge_mode, prompt_messages, response_source, split_model_name, write_legal
from howsure.testing import a_case, a_transcript
from unit.reports.northwind import a_result, a_run, refund_results, stream, summary_of

CHOICES = (Choice(id="A", text="Yes"), Choice(id="B", text="No"))


def legal_case(id: str = "q1", **fields: Any) -> Case:
    given = {"labels": {"dataset": "house", "task_type": "mcq"}, "world": World.LEGAL, **fields}
    return a_case(CorrectChoice(choices=CHOICES, correct=("A",)), id=id, **given)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


async def legal(folder: Path, results: list[Result], **fields: Any) -> dict[str, Any]:
    await write_legal(summary_of(results, **fields), stream(results), folder)
    summary: dict[str, Any] = json.loads((folder / "summary.json").read_bytes())
    return summary


async def test_a_target_that_broke_has_no_response_and_is_a_failed_pair(tmp_path: Path) -> None:
    broken = a_result(
        Verdict.ERRORED,
        case=legal_case(),
        transcript=None,
        failures=(Failure(kind="TargetFailed", message="refused"),),
        candidate="openai:x",
    )
    right = a_result(
        case=legal_case("q2"), grades=(Score(name="choice", value=1.0, pass_mark=1.0),), candidate="openai:x"
    )
    summary = await legal(tmp_path, [broken, right])
    assert [line["example_id"] for line in lines(tmp_path / "responses.jsonl")] == ["q2"]
    assert (summary["num_responses"], summary["num_judgments"]) == (1, 1)
    assert summary["failed_items"] == [
        {
            "dataset": "house",
            "example_id": "q1",
            "candidate_name": "openai:x",
            "repeat": 1,
            "stage": "generation",
            "error": "refused",
        }
    ]
    assert summary["models"]["openai:x"]["avg_score"] == 1.0
    (response,) = lines(tmp_path / "responses.jsonl")
    assert (response["candidate_provider"], response["candidate_model"]) == ("openai", "x")


async def test_an_unfinished_legal_run_says_so(tmp_path: Path) -> None:
    summary = await legal(tmp_path, [], state=RunState.INTERRUPTED)
    assert (summary["run_status"], summary["interrupted_stage"]) == ("interrupted", "generation")
    assert (summary["models"], summary["by_dataset"]) == ({}, {})


async def test_repeats_of_a_legal_case_are_told_apart(tmp_path: Path) -> None:
    results = [a_result(case=legal_case(), repeat=number) for number in (1, 2)]
    await legal(tmp_path, results)
    assert [line["repeat"] for line in lines(tmp_path / "responses.jsonl")] == [1, 2]
    assert len(lines(tmp_path / "examples.jsonl")) == 1
    assert [line["grading"] for line in lines(tmp_path / "scored_responses.jsonl")] == [None, None]


async def test_weighted_points_are_reported_in_their_three_forms(tmp_path: Path) -> None:
    criteria = (Criterion(id="good", text="Good", weight=8.0), Criterion(id="bad", text="Bad", weight=-5.0))
    case = replace(legal_case(), expectations=(WeightedCriteria(criteria=criteria, references=("so",)),))
    case = replace(case, labels={"dataset": "house", "task_type": "rubric_qa"})
    details = {"raw_sum": -5.0, "max_raw": 8.0, "min_raw": -5.0, "points": 0.0, "min_max": 0.0}
    grades = (
        Score(name="weighted_criteria", value=0.0, pass_mark=0.7, details=details, judge="openai:j"),
        Score(name="weighted_criteria", value=0.0, part=Part(id="good", text="Good", weight=8.0)),
        Unscored(
            name="weighted_criteria", why=UnscoredReason.ERROR, reason="unreadable", part=Part(id="bad", text="Bad")
        ),
    )
    usage = Usage(prompt_tokens=3, completion_tokens=2)
    said = a_transcript("no", usage=usage, duration_ms=1500.0)
    await legal(tmp_path, [a_result(Verdict.FAILED, case=case, grades=grades, transcript=said)])
    (judged,) = lines(tmp_path / "judgments.jsonl")
    points = [judged[f"prbench_{name}"] for name in ("weighted_raw", "points_normalized", "points_clipped")]
    assert points == [-5.0, -0.625, 0.0]
    assert judged["criteria"] == {"good": 0.0}
    assert [call["status"] for call in judged["raw_judge"]["calls"]] == ["scored", "error"]
    assert (judged["judge_name"], judged["judge_mode"]) == ("openai:j", "rubric")
    (response,) = lines(tmp_path / "responses.jsonl")
    assert (response["latency_s"], response["reference_answer"]) == (1.5, "so")
    assert response["usage"] == {"prompt_tokens": 3, "completion_tokens": 2}
    events = [(line["event"], line.get("criterion_id")) for line in lines(tmp_path / "trace.jsonl")]
    assert events == [("generation_call", None), ("judge_call", "good"), ("judge_call", "bad")]


def test_the_prompt_is_messages_then_context_then_what_was_asked() -> None:
    before = (Message(role=Role.USER, content="Hi"), Message(role=Role.ASSISTANT, content="Yes?"))
    asked = SingleTurn(message="Is it?", context="It is.", history=before)
    shown = prompt_messages(legal_case(input=asked))
    assert [(each["role"], each["content"]) for each in shown] == [
        ("user", "Hi"),
        ("assistant", "Yes?"),
        ("user", "It is."),
        ("user", "Is it?"),
    ]
    again = SingleTurn(message="Hi", history=before[:1])
    assert prompt_messages(legal_case(input=again)) == [{"role": "user", "content": "Hi"}]


@pytest.mark.parametrize(
    ("pins", "source"),
    [
        ({"responses": (DatasetPin(path="r.jsonl", sha256="a"),)}, "prefilled"),
        ({"target": "recorded"}, "part_of_conversation"),
        ({"target": "chat:openai:x"}, "sampled"),
    ],
)
def test_where_answers_came_from_is_in_their_words(pins: dict[str, Any], source: str) -> None:
    assert response_source(a_run(summary_of([]).run.counts, pins=pins)) == source


def test_a_mode_is_read_from_what_is_expected() -> None:
    assert judge_mode(legal_case()) == "mcq"
    assert judge_mode(a_case(ReferenceAnswer(answers=("x",)))) == "reference"
    assert judge_mode(a_case()) == "auto"
    assert (split_model_name("a:b:c"), split_model_name("b")) == (("a", "b:c"), ("", "b"))


# --- golden


def golden_case(id: str = "q1") -> Case:
    expected = (ToolCalls(expected=()), Trajectory(steps=("a",)))
    return a_case(*expected, id=id, world=World.GOLDEN, metadata={"metadata": {"topic": "x", "runs": "theirs"}})


async def golden(folder: Path, results: list[Result], summary: Summary | None = None) -> dict[str, Any]:
    await write_golden(summary or summary_of(results), stream(results), folder)
    found: dict[str, Any] = json.loads((folder / "eval_summary.json").read_bytes())
    return found


def judged(value: float) -> Score:
    return Score(
        name="general_quality", value=value, reason=f"because {value}", details={"rubric_verdicts": [{"a": 1}]}
    )


async def test_repeats_of_a_question_are_averaged_and_counted(tmp_path: Path) -> None:
    counted = [Score(name="token_usage", value=0.5, details={"llm_calls": calls, "ok": True}) for calls in (2, 4)]
    results = [
        a_result(case=golden_case(), repeat=number, grades=(counted[number - 1], judged(number / 4)))
        for number in (1, 2)
    ]
    (question,) = (await golden(tmp_path, results))["per_question_summary"]
    assert (question["runs"], question["topic"]) == (2, "x")
    assert question["deterministic_metrics"] == {"token_usage.score": 0.5, "token_usage.llm_calls": 3.0}
    assert question["llm_metrics"]["general_quality"] == {
        "score": 0.375,
        "explanation": "because 0.5",
        "rubric_verdicts": [{"a": 1}],
        "error": None,
        "input": {"prompt": "Hello", "response": "Hello!"},
    }


async def test_conversations_of_repeats_and_broken_ones_are_read_back(tmp_path: Path) -> None:
    failure = (Failure(kind="TargetFailed", message="gateway closed"),)
    results = [
        a_result(case=golden_case(), repeat=1),
        a_result(case=golden_case(), repeat=2, transcript=a_transcript("Again!")),
        a_result(Verdict.ERRORED, case=golden_case("q2"), transcript=None, failures=failure),
    ]
    await golden(tmp_path, results)
    (path,) = (tmp_path / "raw").glob("processed_interaction_*.jsonl")
    one, two, three = (case.recorded for case in read_cases(path, SimulationDialect()))
    assert isinstance(one, Transcript)
    assert isinstance(two, Transcript)
    assert (one.answer, two.answer) == ("Hello!", "Again!")
    assert getattr(three, "reason", "") == "gateway closed"


async def test_what_the_tools_of_golden_call_by_the_minute_is_named_by_the_run(tmp_path: Path) -> None:
    await golden(tmp_path, refund_results())
    names = sorted(path.name for path in (tmp_path / "raw").iterdir())
    assert names[:2] == ["evaluation_results_20261115_093000.csv", "processed_interaction_20261115_093000.jsonl"]


async def test_long_inputs_and_answers_are_cut_as_theirs_are(tmp_path: Path) -> None:
    long = a_result(case=golden_case(), transcript=a_transcript("a" * 2000), grades=(judged(1.0),))
    (question,) = (await golden(tmp_path, [long]))["per_question_summary"]
    assert len(question["llm_metrics"]["general_quality"]["input"]["response"]) == 500
    assert f"```text\n{'a' * 500}…\n```" in (tmp_path / "question_answer_log.md").read_text("utf-8")


async def test_planted_text_is_inert_in_the_files_for_people(tmp_path: Path) -> None:
    results = [replace(each, case=replace(each.case, world=World.GOLDEN)) for each in hostile_results()]
    await golden(tmp_path, results)
    log = (tmp_path / "question_answer_log.md").read_text("utf-8")
    outside = re.sub(r"^(`{3,})\w*\n.*?^\1$", "", log, flags=re.MULTILINE | re.DOTALL)
    assert not re.search(r"<(?!!-- -->)", outside)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", log)
    (path,) = (tmp_path / "raw").glob("evaluation_results_*.csv")
    with path.open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file, strict=True))
    assert len(table) == 4 * len(HOSTILE)
    assert not any(re.match(r"[\s\ufeff]*[=+\-@]", line["final_response"]) for line in table)


# --- explain and azure


def explain_result(*grades: Any, verdict: Verdict = Verdict.PASSED) -> Result:
    labels = {"agent_name": "curator", "scenario_id": "SCN-1"}
    case = a_case(world=World.EXPLAIN, labels=labels, profile="prep_default")
    return a_result(verdict, case=case, grades=grades, reasons=("because",))


async def test_a_probability_weighted_score_is_kept_and_an_error_is_null(tmp_path: Path) -> None:
    details = {"prob_score": 4.25, "thought_chain": "hm"}
    one = Score(name="FluencyExplain", value=4.0, scale=LIKERT, details=details, pass_mark=3.7, reason="fine")
    two = Unscored(name="EmpathyExplain", why=UnscoredReason.ERROR, reason="no number", scale=LIKERT)
    whole = Unscored(name="composite", why=UnscoredReason.ERROR, reason="no value", scale=LIKERT)
    results = [explain_result(one, two, whole, verdict=Verdict.ERRORED)]
    (path,) = await write_explain(summary_of(results), stream(results), tmp_path)
    assert path.name == "eval-report-20261115-093000.json"
    report = json.loads(path.read_bytes())
    (case,) = report["cases"]
    assert case["metrics"][0] == {
        "metricName": "FluencyExplain",
        "evalName": "FluencyExplain",
        "score": 4.0,
        "probScore": 4.25,
        "reasoning": "fine",
        "chainOfThought": "hm",
    }
    assert (case["metrics"][1]["score"], case["metrics"][1]["probScore"], case["compositeScore"]) == (None, None, None)
    assert (case["passed"], case["failureReason"]) == (None, "because")
    assert (report["overallPassRate"], report["totalErrored"]) == (None, 1)
    agent = report["perAgent"]["curator"]
    assert (agent["passRate"], agent["compositeAverage"]) == (None, None)
    assert agent["metricAverages"] == {"FluencyExplain": {"averageScore": 4.0, "averageProbScore": 4.25}}


async def test_azure_says_pass_fail_or_nothing(tmp_path: Path) -> None:
    grades = (
        Score(name="FluencyExplain", value=4.0, scale=LIKERT, pass_mark=3.7),
        Score(name="TaskAdherenceExplain", value=2.0, scale=LIKERT, pass_mark=3.7),
        Score(name="tone", value=3.0, scale=LIKERT),
        Unscored(name="EmpathyExplain", why=UnscoredReason.ERROR, reason="no number", scale=LIKERT, pass_mark=3.2),
        Score(name="other", value=1.0),
    )
    results = [explain_result(*grades)]
    (path,) = await write_azure(summary_of(results), stream(results), tmp_path)
    found = json.loads(path.read_bytes())
    (line,) = found["rows"]
    told = {key.removeprefix("outputs."): value for key, value in line.items() if key.endswith("_result")}
    assert told == {
        "fluency.fluency_result": "pass",
        "task_adherence.task_adherence_result": "fail",
        "tone.tone_result": None,
        "empathy.empathy_result": None,
    }
    assert line["outputs.empathy.empathy_threshold"] == 3.2
    assert found["metrics"] == {
        "fluency.fluency": 4.0,
        "fluency.binary_aggregate": 1.0,
        "task_adherence.task_adherence": 2.0,
        "task_adherence.binary_aggregate": 0.0,
        "tone.tone": 3.0,
    }


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("IntentResolutionExplain", "intent_resolution"),
        ("ToolCallAccuracyExplain", "tool_call_accuracy"),
        ("tone", "tone"),
    ],
)
def test_names_of_evals_are_as_azure_has_them(ours: str, theirs: str) -> None:
    assert azure_name(ours) == theirs


def test_a_time_without_a_zone_is_utc() -> None:
    run = a_run(summary_of([]).run.counts)
    bare = replace(run, started_at=start_time(run).replace(tzinfo=None))
    assert start_time(bare) == start_time(run)
