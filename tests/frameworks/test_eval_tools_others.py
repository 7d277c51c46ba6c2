"""Real DeepEval, lm-eval and OpenTelemetry: we import what they write, and they read what we export."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

os.environ.update(DEEPEVAL_TELEMETRY_OPT_OUT="YES", CONFIDENT_OPEN_BROWSER="NO", HF_HUB_OFFLINE="1")

import lm_eval
from deepeval import evaluate
from deepeval.dataset import EvaluationDataset
from deepeval.evaluate import AsyncConfig, DisplayConfig
from deepeval.metrics import ExactMatchMetric, PatternMatchMetric
from deepeval.test_case import LLMTestCase
from google.protobuf import json_format
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from frameworks.eval_tools import howsure, howsure_json, verdicts


def test_a_test_run_of_deepeval_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEEPEVAL_RESULTS_FOLDER", str(tmp_path / "results"))
    cases = [
        LLMTestCase(name=f"q{n}", input=f"{n} plus 1?", actual_output=said, expected_output=str(n + 1))
        for n, said in enumerate(("1", "2", "no", "40"))
    ]
    done = evaluate(
        cases,
        metrics=[ExactMatchMetric(), PatternMatchMetric(pattern=r"\d+")],
        async_config=AsyncConfig(run_async=False),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
    )
    assert [each.success for each in done.test_results] == [True, True, False, False]
    (file,) = (tmp_path / "results").glob("test_run_*.json")
    run = howsure_json(tmp_path, "import", file, "--name", "theirs")
    assert (run["total"], run["passed"], run["failed"]) == (4, 2, 2)
    assert {each["name"]: each["mean"] for each in run["graders"]} == {"Exact Match": 0.5, "Pattern Match": 0.75}
    howsure(tmp_path, "export", "theirs", "--to", "deepeval", "-o", "cases.json")
    dataset = EvaluationDataset()
    dataset.add_test_cases_from_json_file(
        "cases.json",
        input_key_name="input",
        actual_output_key_name="actual_output",
        expected_output_key_name="expected_output",
        tools_called_key_name="tools_called",
        expected_tools_key_name="expected_tools",
    )
    assert [(each.input, each.actual_output, each.expected_output) for each in dataset.test_cases] == [
        ("0 plus 1?", "1", "1"),
        ("1 plus 1?", "2", "2"),
        ("2 plus 1?", "no", "3"),
        ("3 plus 1?", "40", "4"),
    ]


class Adder(LM):
    """Right but for 0, 3 and 6."""

    def generate_until(self, requests: Any, **_: Any) -> list[str]:
        numbers = [int(each.args[0].split()[2]) for each in requests]
        return [str(number + 1 if number % 3 else number) for number in numbers]

    def loglikelihood(self, requests: Any, **_: Any) -> Any:
        raise NotImplementedError

    def loglikelihood_rolling(self, requests: Any, **_: Any) -> Any:
        raise NotImplementedError


TASK = """
task: sums
dataset_path: json
dataset_kwargs: {data_files: {test: data.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: "What is {{number}} plus 1?"
doc_to_target: "{{answer}}"
generation_kwargs: {until: ["\\n"]}
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
"""


def test_results_and_samples_of_lm_eval_are_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    (tmp_path / "sums.yaml").write_text(TASK, "utf-8")
    rows = [json.dumps({"number": n, "answer": str(n + 1)}) for n in range(8)]
    (tmp_path / "data.jsonl").write_text("\n".join(rows), "utf-8")
    tracker = EvaluationTracker(output_path=str(tmp_path / "out"))
    tasks = TaskManager(include_path=str(tmp_path), include_defaults=False)
    found = lm_eval.simple_evaluate(
        model=Adder(), tasks=["sums"], task_manager=tasks, log_samples=True, evaluation_tracker=tracker
    )
    samples = found.pop("samples")
    tracker.save_results_aggregated(results=found, samples=samples)
    tracker.save_results_samples("sums", samples["sums"])
    assert found["results"]["sums"]["exact_match,none"] == 5 / 8
    (file,) = (tmp_path / "out").rglob("results_*.json")
    run = howsure_json(tmp_path, "import", file, "--name", "sums")
    assert (run["total"], run["passed"], run["failed"], run["errored"]) == (8, 5, 3, 0)
    # sqrt(5/8 * 3/8 / 7) = 0.183
    assert any("sums exact_match 0.625" in note and "0.183, and so do its samples" in note for note in run["notes"])


def test_opentelemetry_reads_the_traces(tmp_path: Path) -> None:
    cases = [{"id": f"c{n}", "input": f"Case {n}?", "expected": "yes"} for n in range(3)]
    lines = [{"case_id": f"c{n}", "response_text": text} for n, text in enumerate(("yes", "no", "yes"))]
    (tmp_path / "cases.jsonl").write_text("\n".join(map(json.dumps, cases)), "utf-8")
    (tmp_path / "said.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    howsure(tmp_path, "run", "cases.jsonl", "--responses", "said.jsonl", "--match", "exact", "--name", "ours")
    howsure(tmp_path, "export", "ours", "--to", "otlp", "-o", "ours.jsonl")
    told: dict[str, list[dict[str, Any]]] = {}
    for line in (tmp_path / "ours.jsonl").read_text("utf-8").splitlines():
        # An unknown field or a value of a wrong kind raises.
        (span,) = json_format.Parse(line, TracesData()).resource_spans[0].scope_spans[0].spans
        case = next(each.value.string_value for each in span.attributes if each.key == "howsure.case.id")
        assert span.start_time_unix_nano <= span.end_time_unix_nano
        told[case] = [
            {each.key.removeprefix("gen_ai.evaluation."): each.value for each in event.attributes}
            for event in span.events
        ]
        assert {event.name for event in span.events} == {"gen_ai.evaluation.result"}
    shown = {
        case: [(event["name"].string_value, event["score.label"].string_value) for event in events]
        for case, events in told.items()
    }
    assert shown == {
        "c0": [("verdict", "pass"), ("exact_match", "pass")],
        "c1": [("verdict", "fail"), ("exact_match", "fail")],
        "c2": [("verdict", "pass"), ("exact_match", "pass")],
    }
    assert told["c1"][1]["score.value"].double_value == 0.0
    assert verdicts(tmp_path, "ours") == {"c0": "passed", "c1": "failed", "c2": "passed"}
