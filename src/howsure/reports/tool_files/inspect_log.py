"""A run as a log of Inspect: an `.eval` archive of schema 2. A case is a sample, a repeat an epoch, a grader a scorer.
Our verdict is a scorer of its own, `verdict`: C passed, I failed; a case without one has none, and one that errored has
an error."""

from __future__ import annotations

from collections.abc import AsyncIterable
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from string import ascii_uppercase
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from msgspec import Struct, field

from howsure.model.case import case_messages
from howsure.model.expectation import CorrectChoice
from howsure.model.result import Result
from howsure.model.run import RunState
from howsure.model.summary import Summary
from howsure.model.transcript import ToolCall, Usage
from howsure.model.verdict import Verdict
from howsure.reports.atomic_files import atomic_bytes
from howsure.reports.case_facts import conversation
from howsure.reports.every_eval_ever import dataset_name, model_info
from howsure.reports.figures import iso_utc
from howsure.reports.tool_files import shapes
from howsure.reports.tool_files.shapes import ENCODER, ResultContent, Shape, result_content

TOOL, SCHEMA, VERDICT = "inspect", 2, "verdict"
LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
STATUS = {RunState.COMPLETED: "success", RunState.FAILED: "error"}
STATUS |= dict.fromkeys((RunState.PENDING, RunState.RUNNING), "started")
SHOWN = 500
"""Characters of a question in the list of samples that Inspect's viewer shows."""


class InspectLog(Struct, kw_only=True):
    """The totals of a log, while its samples are written. `values` are by scorer and sample."""

    summary: Summary
    model: str
    ids: dict[str, None] = field(default_factory=dict)
    values: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    total: int = 0
    errors: int = 0

    def add(self, sample: Shape) -> None:
        self.ids[sample["id"]] = None
        self.total += 1
        self.errors += "error" in sample
        for scorer, score in sample["scores"].items():
            value = LETTERS.get(score["value"], score["value"])
            self.values.setdefault(scorer, {}).setdefault(sample["id"], []).append(value)

    def start(self) -> Shape:
        run = self.summary.run
        dataset = {"name": dataset_name(run), "samples": len(self.ids), "sample_ids": list(self.ids), "shuffled": False}
        spec = {
            "eval_id": run.id,
            "run_id": run.id,
            "created": iso_utc(run.created_at),
            "task": run.name or dataset_name(run),
            "task_id": run.id,
            "dataset": dataset,
            "model": self.model,
            "config": {"epochs": run.pins.request.repeat},
            "packages": {"howsure": run.pins.howsure_version},
            "metadata": {"target": run.pins.target_text, "judge": run.pins.request.judge, "notes": run.pins.notes},
        }
        return {"version": SCHEMA, "eval": spec, "plan": {"name": "howsure", "steps": []}}

    def header(self) -> Shape:
        run = self.summary.run
        status = STATUS.get(run.state, "cancelled")
        message = {"message": run.error or run.state.value, "traceback": "", "traceback_ansi": ""}
        ended = {"error": message} if status == "error" else {}
        times = {
            "started_at": iso_utc(run.started_at or run.created_at),
            "completed_at": iso_utc(run.completed_at) or "",
        }
        scores = [self._scorer(name) for name in self.values]
        results = {"total_samples": self.total, "completed_samples": self.total - self.errors, "scores": scores}
        return {**self.start(), "status": status, "results": results, "stats": times, **ended}

    def _scorer(self, name: str) -> Shape:
        """The mean over samples, each the mean of its epochs, as Inspect computes it."""
        means = [fmean(each) for each in self.values[name].values()]
        error = stdev(means) / sqrt(len(means)) if len(means) > 1 else 0.0
        mean = "accuracy" if name == VERDICT or self.summary.run.pins.imported else "mean"
        metrics = {key: {"name": key, "value": value} for key, value in ((mean, fmean(means)), ("stderr", error))}
        reducer = {"reducer": "mean"} if self.summary.run.pins.request.repeat > 1 else {}
        counts = {"scored_samples": len(means), "unscored_samples": len(self.ids) - len(means)}
        return {"name": name, "scorer": name, **reducer, **counts, "metrics": metrics}


async def write_inspect(summary: Summary, results: AsyncIterable[Result], path: Path) -> None:
    candidate = shapes.only_candidate(summary, path, "a log of Inspect")
    log = InspectLog(summary=summary, model=model_info(summary.run, candidate)["id"])
    listed: list[bytes] = []
    with atomic_bytes(path) as file, ZipFile(file, "w") as archive:

        def add(name: str, content: bytes) -> None:
            # Without the time of the moment: the same run is the same file.
            archive.writestr(ZipInfo(name), content, ZIP_DEFLATED)

        async for result in results:
            sample = inspect_sample(log, result)
            log.add(sample)
            add(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", ENCODER.encode(sample))
            listed.append(ENCODER.encode(_summary(sample)))
        add("_journal/start.json", ENCODER.encode(log.start()))
        add("summaries.json", b"[" + b",".join(listed) + b"]")
        add("header.json", ENCODER.encode(log.header()))


def _summary(sample: Shape) -> Shape:
    """The sample as Inspect lists it."""
    asked = sample["input"] if isinstance(sample["input"], str) else sample["input"][-1]["content"]
    scores = {name: {"value": score["value"]} for name, score in sample["scores"].items()}
    shown = {name: sample[name] for name in ("id", "epoch", "target", "total_time", "uuid")}
    error = {"error": sample["error"]["message"]} if "error" in sample else {}
    return {**shown, "input": asked[:SHOWN], "scores": scores, "completed": True, **error}


def inspect_call(call: ToolCall, id: str) -> Shape:
    return {"id": id, "function": call.name, "arguments": call.arguments, "type": "function"}


def inspect_sample(log: InspectLog, result: Result) -> Shape:
    """One result as a sample. Its metadata has what Inspect has no field for."""
    case, transcript, run = result.case, result.transcript, log.summary.run
    facts = result_content(run, result)
    answer = {"role": "assistant", "content": facts.answer}
    asked = case_messages(case)
    sample = {
        "id": case.id,
        "epoch": result.repeat,
        "uuid": str(facts.id),
        "input": shapes.chat_messages(asked, inspect_call) if len(asked) > 1 else asked[0].content,
        **_target(result, facts),
        "messages": shapes.chat_messages(conversation(result), inspect_call) if transcript else [],
        "output": {"model": log.model, "choices": [{"message": answer, "stop_reason": "stop"}]} if transcript else {},
        "scores": _scores(result, facts, own=run.pins.imported is None or run.pins.imported.tool != TOOL),
        "metadata": facts.metadata,
        "store": (transcript.state if transcript else None) or {},
        "model_usage": {log.model: _usage(transcript.usage)} if transcript and transcript.usage else {},
        "total_time": result.duration_ms / 1000,
    }
    error = {"message": facts.error or "", "traceback": "", "traceback_ansi": ""}
    return {**sample, "error": error} if result.verdict is Verdict.ERRORED else sample


def _target(result: Result, facts: ResultContent) -> Shape:
    """Inspect names a choice by its letter, whatever the dataset calls it."""
    choice = next((each for each in result.case.expectations if isinstance(each, CorrectChoice)), None)
    if choice is None or len(choice.choices) > len(ascii_uppercase):
        return {"target": facts.reference or ""}
    letters = [ascii_uppercase[at] for at, each in enumerate(choice.choices) if each.id in choice.correct]
    return {"choices": [each.text for each in choice.choices], "target": letters[0] if len(letters) == 1 else letters}


def _usage(used: Usage) -> Shape:
    """Output tokens include thinking there, and a count that is not known is 0: their field may not be left out."""
    output = (used.completion_tokens or 0) + (used.thinking_tokens or 0)
    known = {"input_tokens_cache_read": used.cached_tokens, "reasoning_tokens": used.thinking_tokens}
    total = {"input_tokens": used.prompt_tokens or 0, "output_tokens": output}
    total["total_tokens"] = sum(total.values())
    return total | {name: count for name, count in known.items() if count is not None}


def _scores(result: Result, facts: ResultContent, *, own: bool) -> Shape:
    """The value of each grader under its name. A grade without a value is left out: Inspect has no word for it."""
    shown: Shape = {}
    if own and facts.passed is not None:
        shown[VERDICT] = {"value": "C" if facts.passed else "I", "explanation": facts.reason}
    for grade in facts.scores:
        details = shapes.grade_details(grade, result.grades)
        letter = details.pop("value", None)
        value = letter if letter in LETTERS else grade.value
        shown[grade.name] = {"value": value, "answer": facts.answer, "explanation": grade.reason, "metadata": details}
    return shown
