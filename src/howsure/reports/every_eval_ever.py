"""A run in the schema of Every Eval Ever, the EvalEval Coalition's shared format: one document for each model (here:
candidate) with a result for the pass rate and for each grader, and beside it one line for each judged case. Every
detail there is text; what Howsure does not know is left out. Their schema wants a score and a yes or no in every line,
so a case that could not be decided, and a grade without a mark, has no line: the document counts it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterable, Iterator
from contextlib import ExitStack
from hashlib import sha256
from math import sqrt
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, BinaryIO
from uuid import UUID, uuid5

from msgspec import Struct, json

from howsure.errors import PlanRefused
from howsure.model.case import Case, user_turns
from howsure.model.expectation import CorrectChoice, ReferenceAnswer, WeightedCriteria
from howsure.model.result import Result
from howsure.model.run import Counts, DatasetPin, Run
from howsure.model.run_request import OFFLINE
from howsure.model.score import Direction, Score
from howsure.model.summary import GraderSummary, Summary
from howsure.model.transcript import Message, Role, Transcript
from howsure.reports.atomic_files import atomic_bytes
from howsure.reports.case_facts import DECIDED, conversation
from howsure.reports.figures import iso_utc, pass_rate_of
from howsure.reports.run_facts import judge_name

SCHEMA_VERSION = "0.3.0"
INSTANCE_VERSION = SCHEMA_VERSION
UNKNOWN = {"deployment_type": "unknown", "model_availability": "unknown"}
"""Fields about a model that the schema requires and a run does not know."""
PASS_RATE = "pass_rate"


class RunningVariance(Struct):
    """Count, mean and variance of values, updated with each (Welford)."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> None:
        self.count += 1
        step = value - self.mean
        self.mean += step / self.count
        self.squares += step * (value - self.mean)

    @property
    def deviation(self) -> float | None:
        return sqrt(self.squares / (self.count - 1)) if self.count > 1 else None


def instances(records: EvaluationRecords, result: Result) -> Iterator[dict[str, Any]]:
    """A line for the verdict, and one for each grade that has a mark."""
    if result.transcript is None:
        return
    around = _around(records, result, result.transcript)
    turns = around.pop("turns")
    if result.verdict in DECIDED:
        passed = DECIDED[result.verdict]
        judged = {"score": float(passed), "is_correct": passed, **turns}
        yield {**around, "evaluation_result_id": records.result_id(PASS_RATE), "evaluation": judged}
    for grade in result.grades:
        if grade.part is None and isinstance(grade, Score) and grade.passed is not None:
            judged = {"score": grade.value, "is_correct": grade.passed, **turns}
            yield {**around, "evaluation_result_id": records.result_id(grade.name), "evaluation": judged}


def _around(records: EvaluationRecords, result: Result, transcript: Transcript) -> dict[str, Any]:
    talk, calls = conversation(result), len(transcript.tool_calls)
    turns = sum(message.role is Role.USER for message in talk)
    kind = "agentic" if calls else "multi_turn" if turns > 1 else "single_turn"
    case_input, messages = _given(result.case), None if kind == "single_turn" else _messages(talk)
    where = "output.raw" if messages is None else f"messages[{_last(messages)}].content"
    attributed = {
        "turn_idx": 0 if messages is None else _last(messages),
        "source": where,
        "extracted_value": transcript.answer,
        "extraction_method": "whole_answer",
        "is_terminal": True,
    }
    return {
        "schema_version": INSTANCE_VERSION,
        "evaluation_id": records.id,
        "model_id": records.model,
        "evaluation_name": records.name,
        "sample_id": result.case.id,
        "sample_hash": sha256("".join([case_input["raw"], *case_input["reference"]]).encode()).hexdigest(),
        "interaction_type": kind,
        "input": case_input,
        "output": {"raw": [transcript.answer]} if messages is None else None,
        "messages": messages,
        "answer_attribution": [attributed],
        "token_usage": _usage(transcript),
        "performance": {"latency_ms": transcript.duration_ms} if transcript.duration_ms is not None else None,
        "error": None,
        "metadata": _metadata(result),
        "turns": {"num_turns": max(turns, 1), "tool_calls_count": calls},
    }


def _given(case: Case) -> dict[str, Any]:
    reference: list[str] = []
    choices: list[str] | None = None
    for expected in case.expectations:
        match expected:
            case ReferenceAnswer(answers=answers) | WeightedCriteria(references=answers):
                reference += answers
            case CorrectChoice(choices=offered, correct=correct):
                reference += correct
                choices = [f"{choice.id}: {choice.text}" for choice in offered]
            case _:
                continue
    return {"raw": "\n".join(user_turns(case.input)), "reference": reference, "choices": choices}


def _messages(messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    """Results of tools are messages of their own, and arguments are text, as their schema has it."""
    shown: list[dict[str, Any]] = []
    for message in messages:
        calls = [
            {"id": call.id or f"call_{len(shown)}_{place}", "name": call.name, "arguments": _texts(call.arguments)}
            for place, call in enumerate(message.tool_calls)
        ]
        text = {"role": message.role.value, "content": message.content or None}
        shown.append({"turn_idx": len(shown), **text, "tool_calls": calls or None})
        for call, made in zip(message.tool_calls, calls, strict=True):
            if call.result is not None:
                content = json.encode(call.result.content).decode()
                answer = {"role": "tool", "content": content, "tool_call_id": [made["id"]]}
                shown.append({"turn_idx": len(shown), **answer})
    return shown


def _texts(values: dict[str, Any]) -> dict[str, str]:
    return {name: value if isinstance(value, str) else json.encode(value).decode() for name, value in values.items()}


def _last(messages: list[dict[str, Any]]) -> int:
    places = [each["turn_idx"] for each in messages if each["role"] == Role.ASSISTANT.value]
    return int(places[-1]) if places else max(len(messages) - 1, 0)


def _usage(transcript: Transcript) -> dict[str, int] | None:
    used = transcript.usage
    if used is None or used.prompt_tokens is None or used.completion_tokens is None:
        return None
    thought = used.thinking_tokens or 0
    output = used.completion_tokens + thought
    known = {"input_tokens_cache_read": used.cached_tokens, "reasoning_tokens": used.thinking_tokens}
    total = {"input_tokens": used.prompt_tokens, "output_tokens": output, "total_tokens": used.prompt_tokens + output}
    return total | {name: count for name, count in known.items() if count is not None}


def _metadata(result: Result) -> dict[str, str]:
    own = {"verdict": result.verdict.value, "repeat": str(result.repeat), "candidate": result.candidate}
    tags = {"tags": ", ".join(result.case.tags)} if result.case.tags else {}
    return {**result.case.labels, **tags, **own}


ENCODER = json.Encoder()
UNSAFE = re.compile(r"[^\w.\-]+")
NOT_MODELS = ("recorded", OFFLINE, "panel", "")
"""Judges that are not a model."""
RECORDED = "recorded"


class EvaluationRecords(Struct, kw_only=True):
    """One document while its lines are written: what every line repeats of it, the file, its digest, and what is
    counted."""

    id: str
    model: str
    name: str
    path: Path
    lines: Path
    file: BinaryIO
    digest: Any
    spreads: dict[str, RunningVariance]
    count: int = 0

    def result_id(self, measured: str) -> str:
        return f"{self.id}#{measured}"

    def add(self, result: Result) -> None:
        for record in instances(self, result):
            line = ENCODER.encode(record) + b"\n"
            self.file.write(line)
            self.digest.update(line)
            self.count += 1
        for grade in result.grades:
            if grade.part is None and isinstance(grade, Score):
                self.spreads.setdefault(grade.name, RunningVariance()).add(grade.value)


async def write_every_eval_ever(summary: Summary, results: AsyncIterable[Result], path: Path) -> None:
    """`NAME.eee.json`, and `NAME.eee_samples.jsonl` beside it."""
    if len(summary.candidates) > 1:
        raise PlanRefused(
            f"{path}: a document of Every Eval Ever is about one model, and this run has {len(summary.candidates)} "
            "candidates: `--artifacts every-eval-ever -o FOLDER` writes one for each"
        )
    candidate = next(iter(summary.candidates), "")
    await _write(summary, results, {candidate: path})


async def write_eval_folder(summary: Summary, results: AsyncIterable[Result], folder: Path) -> list[Path]:
    """`DATASET/DEVELOPER/MODEL/ID.json` and `ID_samples.jsonl` for each candidate, as their collection lays it out."""
    places = {
        candidate: folder / _place(summary.run, candidate).with_suffix(".json")
        for candidate in summary.candidates or {"": Counts()}
    }
    for path in places.values():
        path.parent.mkdir(parents=True, exist_ok=True)
    return await _write(summary, results, places)


def _place(run: Run, candidate: str) -> PurePosixPath:
    """The path of a document in their collection, without its ending. They expect version 4 UUIDs: ours is derived from
    the run's id, so that the same run is always the same file."""
    model = model_info(run, candidate)
    own = UUID(bytes=uuid5(UUID(run.id), candidate).bytes, version=4)
    developer = _safe(model.get("developer", "unknown"))
    return PurePosixPath(_safe(dataset_name(run)), developer, _safe(model["name"]), str(own))


async def _write(summary: Summary, results: AsyncIterable[Result], places: dict[str, Path]) -> list[Path]:
    with ExitStack() as stack:
        open_records = {name: _records(summary.run, name, path, stack) for name, path in places.items()}
        async for result in results:
            open_records[result.candidate].add(result)
    for candidate, records in open_records.items():
        with atomic_bytes(records.path) as file:
            file.write(json.format(ENCODER.encode(document(summary, candidate, records)), indent=2) + b"\n")
    return [path for records in open_records.values() for path in (records.path, records.lines)]


def _records(run: Run, candidate: str, path: Path, stack: ExitStack) -> EvaluationRecords:
    lines = path.with_name(f"{path.stem}_samples.jsonl")
    model = model_info(run, candidate)["id"]
    return EvaluationRecords(
        id=f"{dataset_name(run)}/{model}/{_moment(run)}",
        model=model,
        name=dataset_name(run),
        path=path,
        lines=lines,
        file=stack.enter_context(atomic_bytes(lines)),
        digest=sha256(),
        spreads={},
    )


def document(summary: Summary, candidate: str, records: EvaluationRecords) -> dict[str, Any]:
    """The whole document of one candidate."""
    run = summary.run
    agent = run.pins.agent
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": records.id,
        "evaluation_timestamp": iso_utc(run.started_at or run.created_at),
        "retrieved_timestamp": _moment(run),
        "source_metadata": {
            "source_name": run.name or "Howsure",
            "source_type": "evaluation_run",
            "source_organization_name": (agent.organization_name if agent else "") or "unknown",
            "evaluator_relationship": "other",
            "additional_details": {"run_id": run.id, "relationship": "not known to Howsure"},
        },
        "eval_library": {"name": "howsure", "version": run.pins.howsure_version or "unknown"},
        "model_info": model_info(run, candidate),
        "evaluation_results": [*_results(summary, candidate, records)],
        "detailed_evaluation_results": {
            "format": "jsonl",
            "file_path": f"data/{_place(run, candidate)}_samples.jsonl",
            "hash_algorithm": "sha256",
            "checksum": records.digest.hexdigest(),
            "total_rows": records.count,
        },
    }


def _results(summary: Summary, candidate: str, records: EvaluationRecords) -> Iterator[dict[str, Any]]:
    around = {
        "evaluation_name": records.name,
        "source_data": _source(summary.run.pins.datasets),
        "evaluation_timestamp": iso_utc(summary.run.started_at or summary.run.created_at),
    }
    counts = summary.candidates.get(candidate, Counts())
    if counts.pass_rate is not None:
        yield {"evaluation_result_id": records.result_id(PASS_RATE), **around, **_pass_rate(counts)}
    for grader in summary.graders:
        if grader.candidate == candidate and grader.mean is not None:
            own = {"metric_config": _config(summary.run, grader), "score_details": _details(grader, records.spreads)}
            yield {"evaluation_result_id": records.result_id(grader.name), **around, **own}


def _pass_rate(counts: Counts) -> dict[str, Any]:
    rate = pass_rate_of(counts)
    low, high = rate.interval or (0.0, 1.0)
    interval = {"lower": low, "upper": high, "confidence_level": 0.95, "method": "Wilson score"}
    config = {
        "evaluation_description": "the share of decided cases that passed every gating grader",
        "metric_id": f"howsure.{PASS_RATE}",
        "metric_name": "pass rate",
        "metric_kind": "pass_rate",
        "metric_unit": "proportion",
        "lower_is_better": False,
        "score_type": "continuous",
        "min_score": 0.0,
        "max_score": 1.0,
    }
    names = ("total", "passed", "failed", "errored", "skipped")
    details = {name: str(getattr(counts, name)) for name in names}
    uncertainty = {"confidence_interval": interval, "num_samples": rate.judged}
    scored = {"score": rate.value, "details": details, "uncertainty": uncertainty}
    return {"metric_config": config, "score_details": scored}


def _config(run: Run, grader: GraderSummary) -> dict[str, Any]:
    config: dict[str, Any] = {
        "evaluation_description": f"mean of the grader {grader.name!r} over the cases it could grade",
        "metric_id": f"howsure.{grader.name}",
        "metric_name": grader.name,
        "lower_is_better": grader.direction is Direction.LOWER,
        "additional_details": {"scale": str(grader.scale), "direction": grader.direction.value, **_judge(run)},
    }
    if grader.pass_mark is not None:
        config["metric_parameters"] = {"pass_mark": grader.pass_mark}
    # An open scale has no upper end, which the schema requires of `continuous` scores.
    closed = {} if grader.scale.high is None else {"score_type": "continuous", "max_score": grader.scale.high}
    return {**config, "min_score": grader.scale.low, **closed}


def _judge(run: Run) -> dict[str, str]:
    kind = run.pins.request.judge.partition(":")[0]
    known = {} if kind in NOT_MODELS else {"judge_model": run.pins.request.judge.replace(":", "/", 1)}
    return {"judge": judge_name(run.pins), **known}


def _details(grader: GraderSummary, spreads: dict[str, RunningVariance]) -> dict[str, Any]:
    names = ("scored", "passed", "failed", "errored", "not_applicable", "no_judge")
    details = {name: str(getattr(grader, name)) for name in names}
    uncertainty: dict[str, Any] = {"num_samples": grader.scored}
    spread = spreads.get(grader.name)
    if spread and spread.deviation is not None:
        error = {"value": spread.deviation / sqrt(spread.count), "method": "analytic"}
        uncertainty |= {"standard_error": error, "standard_deviation": spread.deviation}
    return {"score": grader.mean, "details": details, "uncertainty": uncertainty}


def _source(pins: tuple[DatasetPin, ...]) -> dict[str, Any]:
    first = pins[0]
    details = {f"sha256 {PurePath(pin.path).name}": pin.sha256 for pin in pins}
    known = {"source_id": first.id} if first.id else {}
    if first.version is not None:
        known["source_version"] = str(first.version)
    name = ", ".join(pin.name or PurePath(pin.path).name for pin in pins)
    return {"dataset_name": name, "source_type": "other", **known, "additional_details": details}


def dataset_name(run: Run) -> str:
    first = run.pins.datasets[0]
    return first.name or PurePath(first.path).stem


def model_info(run: Run, candidate: str) -> dict[str, Any]:
    """The agent's model where the run knows it, else the name of the candidate or of the target."""
    agent, target = run.pins.agent, run.pins.target_text
    details = {**UNKNOWN, "target": target, **({"agent": agent.name, "agent_id": agent.id} if agent else {})}
    candidate = run.pins.models.get(candidate) or candidate
    spec = candidate or (agent.name if agent else "unknown" if target == RECORDED else target.removeprefix("chat:"))
    provider, colon, model = spec.partition(":")
    if agent and agent.model and agent.model.model and not candidate:
        provider, colon, model = agent.model.provider, ":", agent.model.model
    known = bool(colon and provider and model and "://" not in spec)
    named = {"name": model, "id": f"{provider}/{model}", "developer": provider} if known else {"name": spec, "id": spec}
    return {**named, "additional_details": details}


def _moment(run: Run) -> str:
    """Seconds since 1970, as their schema has it."""
    return f"{(run.completed_at or run.created_at).timestamp():.0f}"


def _safe(name: str) -> str:
    return UNSAFE.sub("-", name).strip("-.")[:80] or "unknown"
