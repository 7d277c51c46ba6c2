"""Results files of other tools, as those tools write them, small enough to be counted by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from adk_files import history, result, write_history

Json = dict[str, Any]
STAMP = "2026-01-21T03-44-18.458309"


def write_json(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def write_lines(path: Path, *rows: Json) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def lm_eval(folder: Path) -> Path:
    """Two tasks: three documents under two filters, and two choices. Returns the report."""
    sums = [
        {
            "doc_id": place, "doc": {"q": f"{place}+1"}, "target": str(place + 1), "filter": name,
            "arguments": {"gen_args_0": {"arg_0": f"{place}+1?", "arg_1": {}}},
            "resps": [[f"It is {place + 1}."]], "filtered_resps": [str(place + 1)], "metrics": ["exact_match", "f1"],
            "exact_match": right, "f1": 1.0,
        }
        for name, rights in (("strict", (0.0, 1.0, 1.0)), ("flexible", (1.0, 1.0, 1.0)))
        for place, right in enumerate(rights)
    ]  # fmt: skip
    offered = {"gen_args_0": {"arg_0": "Sky?", "arg_1": " red"}, "gen_args_1": {"arg_0": "Sky?", "arg_1": " blue"}}
    sky = [
        {
            "doc_id": place, "doc": {}, "target": "1", "arguments": offered, "filter": "none", "metrics": ["acc"],
            "resps": [[[low, "False"]], [["-1.0", "True"]]], "filtered_resps": [], "acc": right,
        }
        for place, low, right in ((0, "-2.0", 1.0), (1, "-0.5", 0.0))
    ]  # fmt: skip
    write_lines(folder / f"samples_sums_{STAMP}.jsonl", *sums)
    write_lines(folder / f"samples_sky_{STAMP}.jsonl", *sky)
    results = {
        "sums": {"alias": "sums", "exact_match,strict": 2 / 3, "exact_match_stderr,strict": 1 / 3,
                 "exact_match,flexible": 1.0, "f1,strict": 1.0},
        "sky": {"acc,none": 0.5, "acc_stderr,none": 0.5},
    }  # fmt: skip
    numbers = {"sums": {"original": 3, "effective": 3}, "sky": {"original": 2, "effective": 2}}
    report = {"results": results, "configs": {"sums": {}, "sky": {}}, "n-samples": numbers, "model_name": "tiny"}
    return write_json(folder / f"results_{STAMP}.json", {**report, "lm_eval_version": "0.4.9"})


def helm(folder: Path) -> Path:
    """A folder with two questions, one of them tried a second time."""

    def state(id: str, trial: int, said: str) -> Json:
        references = [{"output": {"text": text}, "tags": tags} for text, tags in (("Paris", ["correct"]), ("Rome", []))]
        instance = {"input": {"text": f"{id}?"}, "references": references, "split": "test", "id": id}
        done = {"success": said != "", "completions": [{"text": said}], "error": "timed out", "request_time": 0.5}
        mapping = {"A": "Paris", "B": "Rome"}
        return {"instance": instance, "train_trial_index": trial, "output_mapping": mapping, "result": done}

    def stats(id: str, trial: int, right: float) -> Json:
        values = {"exact_match": right, "num_output_tokens": 1.0, "num_prompt_tokens": 9.0}
        named = [
            {"name": {"name": name, "split": "test"}, "count": 1, "sum_squared": value, "mean": value}
            for name, value in values.items()
        ]
        return {"instance_id": id, "train_trial_index": trial, "stats": named}  # fmt: skip

    adapter = {"method": "multiple_choice_joint", "model": "openai/gpt2"}
    write_json(folder / "run_spec.json", {"name": "capitals", "scenario_spec": {}, "adapter_spec": adapter})
    asked = [state("id1", 0, " A"), state("id1", 1, " B"), state("id2", 0, "")]
    write_json(folder / "scenario_state.json", {"adapter_spec": adapter, "request_states": asked})
    measured = [stats("id1", 0, 1.0), stats("id1", 1, 0.0), stats("id2", 0, 0.0)]
    write_json(folder / "per_instance_stats.json", measured)
    total = {"name": {"name": "exact_match", "split": "test"}, "count": 2, "sum_squared": 1.0, "mean": 0.25}
    write_json(folder / "stats.json", [total])
    return folder


def deepeval(folder: Path) -> Path:
    def metric(name: str, score: float | None, success: bool, **more: Any) -> Json:
        return {"name": name, "threshold": 0.5, "success": success, "score": score, "evaluationModel": "gpt-5", **more}

    called = [{"name": "search", "inputParameters": {"q": "cats"}, "output": ["a cat"]}]
    cases = [
        {"name": "t", "input": "Cats?", "actualOutput": "Yes", "expectedOutput": "Yes", "success": True,
         "toolsCalled": called, "expectedTools": [{"name": "search"}],
         "metricsData": [metric("Relevancy", 0.9, True), metric("Bias", 0.1, True)]},
        {"name": "t", "input": "Dogs?", "actualOutput": "No", "success": False,
         "metricsData": [metric("Relevancy", 0.2, False, reason="off topic")]},
        {"name": "u", "input": "Fish?", "actualOutput": "No", "success": False,
         "metricsData": [metric("Relevancy", None, False, error="judge is away")]},
    ]  # fmt: skip
    turns = [{"role": "user", "content": "Hi", "order": 0}, {"role": "assistant", "content": "Hello", "order": 1}]
    talk = {"name": "talk", "turns": turns, "success": True, "metricsData": [], "expectedOutcome": "greeted"}
    run = {"testCases": cases, "conversationalTestCases": [talk], "testPassed": 2, "testFailed": 2}
    return write_json(folder / "test_run.json", run)


def openai_items(folder: Path) -> Path:
    def item(place: int, status: str, passed: bool, error: Any = None) -> Json:
        said = [{"role": "assistant", "content": "4"}]
        sample = {"input": [{"role": "user", "content": "2+2"}], "output": said, "error": error, "model": "gpt-5"}
        graded = [{"name": "same", "passed": passed, "score": float(passed)}]
        return {"object": "eval.run.output_item", "datasource_item_id": place, "run_id": "run1", "status": status,
                "datasource_item": {"question": "2+2", "answer": "4"}, "results": graded, "sample": sample}  # fmt: skip

    broken = item(2, "error", False, {"code": "x", "message": "rate limit"})
    listed = [item(0, "pass", True), item(1, "fail", False), broken]
    return write_json(folder / "items.json", {"object": "list", "data": listed})


def oaieval(folder: Path) -> Path:
    """Threads write their events in between one another."""

    def event(number: int, sample: str, kind: str, data: Json) -> Json:
        return {"run_id": "r", "event_id": number, "sample_id": sample, "type": kind, "data": data}

    spec = {"completion_fns": ["tiny"], "eval_name": "sums.dev.v0", "created_at": "2026-01-21 03:44:18"}
    return write_lines(
        folder / "log.jsonl",
        {"spec": spec},
        {"final_report": {"accuracy": 0.5, "boostrap_std": 0.2}, "run_id": "r"},
        event(0, "sums.1", "sampling", {"prompt": [{"role": "user", "content": "1+1"}], "sampled": ["2"]}),
        event(1, "sums.2", "sampling", {"prompt": "2+2", "sampled": ["5"]}),
        event(2, "sums.1", "match", {"correct": True, "expected": "2", "picked": "2"}),
        event(3, "sums.2", "match", {"correct": False, "expected": "4", "picked": None}),
        event(4, "sums.3", "error", {"type": "ValueError", "message": "no reply"}),
    )  # fmt: skip


def every_eval_ever(folder: Path) -> Path:
    """Two metrics of two samples, first one metric and then the other."""

    def line(sample: str, metric: str, score: float, right: bool) -> Json:
        return {"schema_version": "0.3.0", "evaluation_id": "e", "model_id": "m", "evaluation_name": "sums",
                "evaluation_result_id": metric, "sample_id": sample, "interaction_type": "single_turn",
                "input": {"raw": "1+1", "reference": ["2"]}, "output": {"raw": ["2"]},
                "evaluation": {"score": score, "is_correct": right}}  # fmt: skip

    def aggregate(metric: str, score: float) -> Json:
        config = {"metric_name": metric, "lower_is_better": False, "min_score": 0, "max_score": 1}
        details = {"score": score, "uncertainty": {"num_samples": 2}}
        return {"evaluation_result_id": metric, "evaluation_name": "sums", "metric_config": config,
                "score_details": details}  # fmt: skip

    lines = [line("a", "acc", 1.0, True), line("b", "acc", 0.0, False)]
    lines += [line("a", "style", 0.9, True), line("b", "style", 0.8, True)]
    write_lines(folder / "sums_samples.jsonl", *lines)
    document = {
        "schema_version": "0.3.0", "evaluation_id": "e", "source_metadata": {"source_name": "us"},
        "eval_library": {"name": "unknown", "version": "unknown"}, "model_info": {"id": "org/m"},
        "evaluation_results": [aggregate("acc", 0.5), aggregate("style", 0.85)],
    }  # fmt: skip
    return write_json(folder / "sums.json", document)


def langsmith(folder: Path) -> Path:
    def run(example: str, score: float | None, **more: Any) -> Json:
        feedback = {"correct": {"n": 1, "avg": score}}
        return {"id": f"run-{example}", "run_type": "chain", "inputs": {"question": "2+2"}, "outputs": {"answer": "4"},
                "reference_example_id": example, "feedback_stats": feedback, **more}  # fmt: skip

    inner = run("x", None, parent_run_id="run-a")
    return write_lines(folder / "runs.jsonl", run("a", 1.0), inner, run("b", 0.0), run("c", None, error="timed out"))


def mlflow(folder: Path) -> Path:
    columns = ["request", "response", "expected_response/value", "safe/value", "safe/rationale", "right/error_message"]
    rows = [
        [{"question": "2+2"}, "4", "4", "yes", "fine", None],
        [{"question": "3+3"}, "7", "6", "no", "rude", "judge is away"],
        [{"question": "4+4"}, "8", "8", "yes", "", "judge is away"],
    ]
    return write_json(folder / "eval_results_table.json", {"columns": columns, "data": rows})


def braintrust(folder: Path) -> Path:
    def event(question: str, score: Any, **more: Any) -> Json:
        return {"id": question, "input": question, "output": "4", "expected": "4", "scores": {"Exact": score},
                "is_root": True, **more}  # fmt: skip

    inner = event("2+2", None, is_root=False)
    events = [event("2+2", True), inner, event("3+3", False), event("4+4", 0.5), event("5+5", None, error="away")]
    return write_json(folder / "experiment.json", {"events": events, "cursor": None})


def langfuse(folder: Path) -> Path:
    def item(id: str, value: Any) -> Json:
        return {"item": {"id": id, "input": "2+2", "expectedOutput": "4"}, "output": "4",
                "evaluations": [{"name": "right", "value": value, "comment": "as told"}]}  # fmt: skip

    return write_json(folder / "run.json", {"name": "sums", "item_results": [item("a", True), item("b", 0.7)]})


def adk(folder: Path) -> Path:
    metric = {"metric_name": "response_match_score", "threshold": 0.8, "score": 0.5, "eval_status": 2}
    failed = result("refund1", final_eval_status=2, overall_eval_metric_results=[metric])
    unknown = result("other", final_eval_status=3, overall_eval_metric_results=[])
    return write_history(folder, history(result("refund1"), failed, unknown))


def azure(folder: Path) -> Path:
    row = {
        "inputs.query": "2+2?", "inputs.response": "4", "outputs.f1.f1_score": 0.9, "outputs.f1.f1_result": "pass",
        "outputs.relevance.relevance": 1.0, "outputs.relevance.relevance_result": "fail",
        "outputs.relevance.relevance_threshold": 3, "outputs.relevance.relevance_reason": "off the point",
    }  # fmt: skip
    return write_json(folder / "azure.json", {"rows": [row], "metrics": {}})


def pydantic_evals(folder: Path) -> Path:
    case = {"name": "c1", "inputs": "2+2?", "output": "4", "expected_output": "4", "scores": {}, "labels": {},
            "assertions": {"Equals": {"value": True, "reason": None}}, "task_duration": 0.1}  # fmt: skip
    failure = {"name": "c2", "inputs": "?", "error_message": "boom"}
    return write_json(folder / "report.json", {"name": "r", "cases": [case], "failures": [failure]})


MAKERS: dict[str, Callable[[Path], Path]] = {
    "lm-eval": lm_eval, "helm": helm, "deepeval": deepeval, "openai": openai_items, "oaieval": oaieval,
    "every-eval-ever": every_eval_ever, "langsmith": langsmith, "mlflow": mlflow, "braintrust": braintrust,
    "langfuse": langfuse, "adk": adk, "azure": azure, "pydantic-evals": pydantic_evals,
}  # fmt: skip
