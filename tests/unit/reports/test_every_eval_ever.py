"""A run in the schema of Every Eval Ever: documents and lines keep what the schema demands, and nothing is made up."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from hostile import hostile_results
from howsure.errors import PlanRefused
from howsure.model.case import Script
from howsure.model.expectation import Choice, CorrectChoice, ReferenceAnswer
from howsure.model.result import Result
from howsure.model.run import DatasetPin
from howsure.model.score import Score
from howsure.model.summary import Summary
from howsure.model.transcript import Usage
from howsure.model.verdict import Verdict
from howsure.reports.every_eval_ever import RunningVariance, model_info, write_eval_folder, write_every_eval_ever
from howsure.testing import a_case, a_transcript
from unit.reports.northwind import AGENT, SUPPORT_PINS, a_result, a_run, refund_results, stream, summary_of
from unit.reports.northwind import support_results as of_test_set

DATA = Path(__file__).parents[2] / "data"
DOCUMENT = Draft7Validator(json.loads((DATA / "every_eval_ever.schema.json").read_text("utf-8")))
LINE = Draft7Validator(json.loads((DATA / "every_eval_ever_instance.schema.json").read_text("utf-8")))


async def written(
    folder: Path, results: list[Result], summary: Summary | None = None
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    path = folder / "run.eee.json"
    await write_every_eval_ever(summary or summary_of(results), stream(results), path)
    lines = (folder / "run.eee_samples.jsonl").read_bytes()
    document = json.loads(path.read_bytes())
    assert document["detailed_evaluation_results"]["checksum"] == sha256(lines).hexdigest()
    return document, [json.loads(line) for line in lines.splitlines()]


@pytest.mark.parametrize(
    ("results", "pins"),
    [(refund_results(), {}), (of_test_set(), SUPPORT_PINS), ([], {})],
    ids=["dataset", "test set", "nothing"],
)
async def test_document_and_lines_keep_the_schema(results: list[Result], pins: dict[str, Any], tmp_path: Path) -> None:
    document, lines = await written(tmp_path, results, summary_of(results, pins=pins))
    assert [error.message for error in DOCUMENT.iter_errors(document)] == []
    assert [error.message for line in lines for error in LINE.iter_errors(line)] == []
    assert document["detailed_evaluation_results"]["total_rows"] == len(lines)


async def test_the_version_is_named_in_both_files(tmp_path: Path) -> None:
    document, lines = await written(tmp_path, refund_results())
    assert document["schema_version"] == "0.3.0"
    assert {line["schema_version"] for line in lines} == {"0.3.0"}


async def test_every_line_belongs_to_a_result_of_the_document(tmp_path: Path) -> None:
    document, lines = await written(tmp_path, refund_results())
    known = {result["evaluation_result_id"] for result in document["evaluation_results"]}
    assert {line["evaluation_result_id"] for line in lines} <= known
    assert {line["evaluation_id"] for line in lines} == {document["evaluation_id"]}
    assert document["evaluation_id"] == "refund_policy/unknown/1794735060"


async def test_the_pass_rate_is_over_what_was_decided_with_its_interval(tmp_path: Path) -> None:
    document, _ = await written(tmp_path, refund_results())
    first = document["evaluation_results"][0]
    assert first["metric_config"]["metric_id"] == "howsure.pass_rate"
    assert first["score_details"]["score"] == 0.7
    told = {"total": "12", "passed": "7", "failed": "3", "errored": "1", "skipped": "1"}
    assert first["score_details"]["details"] == told
    interval = first["score_details"]["uncertainty"]["confidence_interval"]
    assert (round(interval["lower"], 3), round(interval["upper"], 3)) == (0.397, 0.892)
    assert first["score_details"]["uncertainty"]["num_samples"] == 10


async def test_each_grader_has_its_scale_its_mark_and_its_spread(tmp_path: Path) -> None:
    document, _ = await written(tmp_path, refund_results())
    by_id = {result["metric_config"]["metric_id"]: result for result in document["evaluation_results"]}
    tools = by_id["howsure.tool_usage_accuracy"]
    assert tools["metric_config"]["metric_parameters"] == {"pass_mark": 1.0}
    assert (tools["metric_config"]["min_score"], tools["metric_config"]["max_score"]) == (0, 1)
    assert tools["score_details"]["score"] == pytest.approx(0.85)
    assert tools["score_details"]["uncertainty"]["standard_deviation"] == pytest.approx(0.2415, abs=1e-4)
    cost = by_id["howsure.token_usage"]["metric_config"]
    assert (cost["lower_is_better"], "score_type" in cost, "max_score" in cost) == (True, False, False)


async def test_what_could_not_be_decided_has_no_line(tmp_path: Path) -> None:
    _, lines = await written(tmp_path, refund_results())
    assert {"refund-11", "refund-12"}.isdisjoint(line["sample_id"] for line in lines)
    verdicts = [line for line in lines if line["evaluation_result_id"].endswith("#pass_rate")]
    assert [line["evaluation"]["is_correct"] for line in verdicts].count(True) == 7
    assert len(verdicts) == 10


async def test_a_grade_without_a_mark_has_no_line_because_nobody_said_what_is_right(tmp_path: Path) -> None:
    _, lines = await written(tmp_path, refund_results())
    measured = {line["evaluation_result_id"].rpartition("#")[2] for line in lines}
    assert measured == {"pass_rate", "tool_usage_accuracy"}


async def test_a_choice_brings_its_choices_and_a_question_its_references(tmp_path: Path) -> None:
    offered = (Choice(id="A", text="Yes"), Choice(id="B", text="No"))
    choice = a_case(CorrectChoice(choices=offered, correct=("A",)), id="c", message="Is it?")
    question = a_case(ReferenceAnswer(answers=("14 days", "two weeks")), id="q", message="How long?")
    usage = Usage(prompt_tokens=10, completion_tokens=4, thinking_tokens=6, cached_tokens=2)
    said = a_transcript("A", usage=usage, duration_ms=12.0)
    _, (one, two) = await written(tmp_path, [a_result(case=choice, transcript=said), a_result(case=question)])
    assert one["input"] == {"raw": "Is it?", "reference": ["A"], "choices": ["A: Yes", "B: No"]}
    assert one["output"] == {"raw": ["A"]}
    counted = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}
    assert one["token_usage"] == {**counted, "input_tokens_cache_read": 2, "reasoning_tokens": 6}
    assert one["performance"] == {"latency_ms": 12.0}
    assert two["input"]["reference"] == ["14 days", "two weeks"]
    assert (two["token_usage"], two["performance"]) == (None, None)
    assert two["sample_hash"] == sha256(b"How long?14 daystwo weeks").hexdigest()


async def test_tool_calls_and_their_results_are_messages(tmp_path: Path) -> None:
    _, lines = await written(tmp_path, refund_results()[:1])
    line = lines[0]
    assert (line["interaction_type"], line["output"]) == ("agentic", None)
    assert [message["role"] for message in line["messages"]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]
    assert line["messages"][3]["tool_calls"][0]["arguments"] == {"order_id": "4471", "amount": "39.9"}
    assert line["messages"][4]["tool_call_id"] == [line["messages"][3]["tool_calls"][0]["id"]]
    assert line["answer_attribution"][0]["source"] == "messages[5].content"
    assert (line["evaluation"]["num_turns"], line["evaluation"]["tool_calls_count"]) == (1, 2)


async def test_several_turns_without_tools_are_a_conversation(tmp_path: Path) -> None:
    case = a_case(input=Script(turns=("Hi", "When?")))
    _, (line,) = await written(tmp_path, [a_result(case=case)])
    assert (line["interaction_type"], line["evaluation"]["num_turns"]) == ("multi_turn", 2)
    assert [error.message for error in LINE.iter_errors(line)] == []


@pytest.mark.parametrize(
    ("candidate", "fields", "name", "id"),
    [
        ("openai:gpt-x", {}, "gpt-x", "openai/gpt-x"),
        ("juno-large", {}, "juno-large", "juno-large"),
        ("", {"target": "chat:mistral:small"}, "small", "mistral/small"),
        ("", {"agent": AGENT}, "mini", "openai/mini"),
        ("", {"target": "http://127.0.0.1:8000"}, "http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("", {}, "unknown", "unknown"),
    ],
    ids=["candidate with provider", "candidate", "chat target", "agent", "address", "recorded"],
)
def test_the_model_is_named_by_what_is_known(candidate: str, fields: dict[str, Any], name: str, id: str) -> None:
    found = model_info(a_run(summary_of([]).run.counts, pins=fields), candidate)
    assert (found["name"], found["id"]) == (name, id)


async def test_a_run_of_several_candidates_needs_a_folder(tmp_path: Path) -> None:
    results = [*refund_results("v1"), *refund_results("v2")]
    with pytest.raises(PlanRefused, match="has 2 candidates: `--artifacts every-eval-ever -o FOLDER` writes one for"):
        await write_every_eval_ever(summary_of(results), stream(results), tmp_path / "run.eee.json")
    assert list(tmp_path.iterdir()) == []
    paths = await write_eval_folder(summary_of(results), stream(results), tmp_path)
    assert [path.parent.relative_to(tmp_path).as_posix() for path in paths[::2]] == [
        "refund_policy/unknown/v1",
        "refund_policy/unknown/v2",
    ]
    for place in paths[::2]:
        document = json.loads(place.read_bytes())
        assert DOCUMENT.is_valid(document)
        assert document["evaluation_results"][0]["score_details"]["details"]["total"] == "12"
        named = document["detailed_evaluation_results"]["file_path"]
        assert (tmp_path / named.removeprefix("data/")).is_file()


async def test_dataset_names_become_safe_folders(tmp_path: Path) -> None:
    pin = DatasetPin(path="x", sha256="a", name="../../etc: set", id="d1", version=3)
    results = [a_result(Verdict.PASSED, candidate="../up:model", grades=(Score(name="g", value=1.0),))]
    summary = summary_of(results, pins={"datasets": (pin,)})
    (document, _) = await write_eval_folder(summary, stream(results), tmp_path)
    assert document.relative_to(tmp_path).parts[:3] == ("etc-set", "up", "model")
    source = json.loads(document.read_bytes())["evaluation_results"][0]["source_data"]
    assert (source["source_id"], source["source_version"]) == ("d1", "3")


async def test_planted_text_stays_data(tmp_path: Path) -> None:
    results = [result for result in hostile_results() if result.candidate == hostile_results()[0].candidate]
    document, lines = await written(tmp_path, results)
    assert DOCUMENT.is_valid(document)
    assert all(LINE.is_valid(line) for line in lines)
    assert {line["answer_attribution"][0]["extracted_value"] for line in lines} == {"<script>alert('planted')</script>"}


def test_a_spread_is_that_of_all_values() -> None:
    spread = RunningVariance()
    for value in (2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0):
        spread.add(value)
    assert (spread.mean, round(spread.deviation or 0.0, 3)) == (5.0, 2.138)
    assert RunningVariance(count=1).deviation is None
