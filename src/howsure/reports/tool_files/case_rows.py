"""A run in the files of tools that have a row or an event for each result. `langsmith`: the body of its `POST
/api/v1/datasets/upload-experiment`, which takes experiments that were run elsewhere; a grade is feedback. `deepeval`:
test cases with what was answered, for `EvaluationDataset().add_test_cases_from_json_file`; a result without a
conversation is left out, for their loader wants an answer. `openai-evals`: a log of `oaieval`. Our verdict and grades
are in additional fields, which the loaders of these tools ignore."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from howsure.model.expectation import ToolCalls
from howsure.model.result import Result
from howsure.model.run import Run
from howsure.model.score import Grade
from howsure.model.summary import Summary
from howsure.model.transcript import Transcript
from howsure.model.verdict import Verdict
from howsure.reports.artifacts.files import json_line
from howsure.reports.atomic_files import atomic_bytes
from howsure.reports.case_facts import conversation
from howsure.reports.every_eval_ever import dataset_name, model_info
from howsure.reports.figures import iso_utc
from howsure.reports.grades import grade_value, scores
from howsure.reports.tool_files import shapes
from howsure.reports.tool_files.shapes import Shape, result_content


async def write_langsmith(summary: Summary, results: AsyncIterable[Result], path: Path) -> None:
    run, candidate = summary.run, shapes.only_candidate(summary, path, "an experiment of LangSmith")
    started, rate = run.started_at or run.created_at, summary.candidates[candidate].pass_rate
    head = {
        "experiment_name": run.name or run.id,
        "experiment_start_time": iso_utc(started),
        "experiment_end_time": iso_utc(run.completed_at or started),
        "dataset_name": dataset_name(run),
        "experiment_metadata": {"howsure_run": run.id, "target": run.pins.target_text, "candidate": candidate},
        "summary_experiment_scores": [] if rate is None else [{"key": "pass_rate", "score": rate}],
    }
    rows = (langsmith_row(run, each) async for each in results)
    await shapes.write_rows(path, rows, shapes.ENCODER.encode(head)[:-1] + b',"results":', b"}")


def langsmith_row(run: Run, result: Result) -> Shape:
    facts, ended = result_content(run, result), result.created_at or run.completed_at or run.created_at
    verdict = {"key": "verdict", "score": float(facts.passed or 0), "comment": facts.reason}
    said = {"output": facts.answer, "messages": shapes.chat_messages(conversation(result))}
    row: Shape = {
        "row_id": str(facts.id),
        "inputs": {"input": facts.question},
        "expected_outputs": {"output": facts.reference} if facts.expected else None,
        "actual_outputs": None if facts.answer is None else said,
        "evaluation_scores": [*([] if facts.passed is None else [verdict]), *map(_feedback, facts.grades)],
        "start_time": iso_utc(ended - timedelta(milliseconds=result.duration_ms)),
        "end_time": iso_utc(ended),
        "run_name": result.case.id,
        "run_metadata": {**facts.metadata, "repeat": result.repeat, "verdict": result.verdict.value},
    }
    return {**row, "error": facts.error} if facts.error else row


def _feedback(grade: Grade) -> Shape:
    scale = {"type": "continuous", "min": grade.scale.low, "max": grade.scale.high}
    source = {"type": "model" if grade.judge else "api"}
    shown = {"key": grade.name, "score": grade_value(grade), "comment": grade.reason, "feedback_source": source}
    return {**shown, "feedback_config": {name: value for name, value in scale.items() if value is not None}}


async def write_deepeval(summary: Summary, results: AsyncIterable[Result], path: Path) -> None:
    run = summary.run
    rows = (deepeval_case(run, each, each.transcript) async for each in results if each.transcript is not None)
    await shapes.write_rows(path, rows)


def deepeval_case(run: Run, result: Result, transcript: Transcript) -> Shape:
    facts = result_content(run, result)
    wanted = [call for each in result.case.expectations if isinstance(each, ToolCalls) for call in each.expected]
    return {
        "name": result.case.id,
        "input": facts.question,
        "actual_output": facts.answer,
        "expected_output": next(iter(facts.expected), None),
        "context": [facts.metadata["context"]] if facts.metadata.get("context") else None,
        "tools_called": _calls(transcript.tool_calls),
        "expected_tools": _calls(wanted),
        "additional_metadata": {**facts.metadata, "candidate": result.candidate, "repeat": result.repeat},
        "verdict": result.verdict.value,
        "scores": scores(result.grades),
    }


def _calls(calls: Iterable[Any]) -> list[Shape]:
    return [{"name": call.name, "input_parameters": call.arguments} for call in calls]


async def write_oaieval_log(summary: Summary, results: AsyncIterable[Result], path: Path) -> None:
    """Its spec, events for each sample (`sampling`, then `match` with our verdict and `metrics` with the grades, or
    `error`), and the final report."""
    run, candidate = summary.run, shapes.only_candidate(summary, path, "a log of oaieval")
    name, created, counts = dataset_name(run), iso_utc(run.created_at), summary.candidates[candidate]
    spec = {
        "completion_fns": [model_info(run, candidate)["id"]],
        "eval_name": f"{name}.dev.v0",
        "base_eval": name,
        "split": "dev",
        "run_config": {"target": run.pins.target_text},
        "created_by": "howsure",
        "run_id": run.id,
        "created_at": created,
    }
    events = 0
    with atomic_bytes(path) as file:
        file.write(json_line({"spec": spec}))
        async for result in results:
            for kind, data in oaieval_events(run, result):
                event: Shape = {"run_id": run.id, "event_id": events, "sample_id": result.case.id, "type": kind}
                when = iso_utc(result.created_at) or created
                file.write(json_line({**event, "data": data, "created_by": "howsure", "created_at": when}))
                events += 1
        totals = {each: getattr(counts, each) for each in ("passed", "failed", "errored", "skipped")}
        file.write(json_line({"final_report": {"accuracy": counts.pass_rate, **totals}}))


def oaieval_events(run: Run, result: Result) -> Iterator[tuple[str, Shape]]:
    facts = result_content(run, result)
    if facts.answer is not None:
        yield "sampling", {"prompt": shapes.prompt_messages(result), "sampled": [facts.answer]}
    if result.verdict is Verdict.ERRORED:
        yield "error", {"type": "errored", "message": facts.error}
    if facts.passed is not None:
        known = {"expected": facts.reference or [], "picked": facts.answer, "sampled": facts.answer}
        yield "match", {"correct": facts.passed, **known}
    if facts.scores:
        yield "metrics", {**{grade.name: grade.value for grade in facts.scores}, "repeat": result.repeat}
