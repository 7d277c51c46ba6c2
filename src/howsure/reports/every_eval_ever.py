"""A run in the schema of Every Eval Ever, the EvalEval Coalition's shared format: one document for each model (here:
candidate) with a result for the pass rate and for each grader, and beside it one line for each judged case (see
`eval_instances.py`). Every detail there is text, and what Howsure does not know is left out, not made up."""

from __future__ import annotations

import re
from collections.abc import AsyncIterable, Iterator
from contextlib import ExitStack
from hashlib import sha256
from math import sqrt
from pathlib import Path, PurePath
from typing import Any, BinaryIO
from uuid import UUID, uuid5

from msgspec import Struct, json

from howsure.errors import PlanRefused
from howsure.model.result import Result
from howsure.model.run import Counts, DatasetPin, Run
from howsure.model.score import Direction, Score
from howsure.model.summary import GraderSummary, Summary
from howsure.reports.eval_instances import PASS_RATE, SCHEMA_VERSION, Evaluated, Spread, instances
from howsure.reports.figures import utc
from howsure.reports.header import judged_by
from howsure.reports.sentence import rate_of
from howsure.reports.whole_file import whole_bytes

ENCODER = json.Encoder()
UNSAFE = re.compile(r"[^\w.\-]+")
NOT_MODELS = ("recorded", "offline", "panel", "")
"""Judges that name no model."""
RECORDED = "recorded"


class Records(Struct):
    """One document in the making: where its lines go, and what is counted while they do."""

    evaluated: Evaluated
    path: Path
    lines: Path
    file: BinaryIO
    digest: Any
    spreads: dict[str, Spread]
    count: int = 0

    def add(self, result: Result) -> None:
        for record in instances(self.evaluated, result):
            line = ENCODER.encode(record) + b"\n"
            self.file.write(line)
            self.digest.update(line)
            self.count += 1
        for grade in result.grades:
            if grade.part is None and isinstance(grade, Score):
                self.spreads.setdefault(grade.name, Spread()).add(grade.value)


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
    places = {}
    for candidate in summary.candidates or {"": Counts()}:
        model = model_info(summary.run, candidate)
        own = (
            folder / _safe(dataset_name(summary.run)) / _safe(model.get("developer", "unknown")) / _safe(model["name"])
        )
        own.mkdir(parents=True, exist_ok=True)
        places[candidate] = own / f"{uuid5(UUID(summary.run.id), candidate)}.json"
    return await _write(summary, results, places)


async def _write(summary: Summary, results: AsyncIterable[Result], places: dict[str, Path]) -> list[Path]:
    with ExitStack() as stack:
        open_records = {name: _records(summary.run, name, path, stack) for name, path in places.items()}
        async for result in results:
            open_records[result.candidate].add(result)
    for candidate, records in open_records.items():
        with whole_bytes(records.path) as file:
            file.write(json.format(ENCODER.encode(document(summary, candidate, records)), indent=2) + b"\n")
    return [path for records in open_records.values() for path in (records.path, records.lines)]


def _records(run: Run, candidate: str, path: Path, stack: ExitStack) -> Records:
    lines = path.with_name(f"{path.stem}_samples.jsonl")
    model = model_info(run, candidate)["id"]
    evaluated = Evaluated(id=f"{dataset_name(run)}/{model}/{_moment(run)}", model=model, name=dataset_name(run))
    file = stack.enter_context(whole_bytes(lines))
    return Records(evaluated=evaluated, path=path, lines=lines, file=file, digest=sha256(), spreads={})


def document(summary: Summary, candidate: str, records: Records) -> dict[str, Any]:
    """The whole document of one candidate."""
    run = summary.run
    agent = run.pins.agent
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": records.evaluated.id,
        "evaluation_timestamp": utc(run.started_at or run.created_at),
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
            "file_path": records.lines.name,
            "hash_algorithm": "sha256",
            "checksum": records.digest.hexdigest(),
            "total_rows": records.count,
        },
    }


def _results(summary: Summary, candidate: str, records: Records) -> Iterator[dict[str, Any]]:
    around = {
        "evaluation_name": records.evaluated.name,
        "source_data": _source(summary.run.pins.datasets),
        "evaluation_timestamp": utc(summary.run.started_at or summary.run.created_at),
    }
    counts = summary.candidates.get(candidate, Counts())
    if counts.pass_rate is not None:
        yield {"evaluation_result_id": records.evaluated.result_id(PASS_RATE), **around, **_pass_rate(counts)}
    for grader in summary.graders:
        if grader.candidate == candidate and grader.mean is not None:
            own = {"metric_config": _config(summary.run, grader), "score_details": _details(grader, records.spreads)}
            yield {"evaluation_result_id": records.evaluated.result_id(grader.name), **around, **own}


def _pass_rate(counts: Counts) -> dict[str, Any]:
    rate = rate_of(counts)
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
    # Of an open scale nobody can say the upper end, which the schema asks of `continuous` scores.
    closed = {} if grader.scale.high is None else {"score_type": "continuous", "max_score": grader.scale.high}
    return {**config, "min_score": grader.scale.low, **closed}


def _judge(run: Run) -> dict[str, str]:
    kind = run.pins.judge.partition(":")[0]
    known = {} if kind in NOT_MODELS else {"judge_model": run.pins.judge.replace(":", "/", 1)}
    return {"judge": judged_by(run.pins), **known}


def _details(grader: GraderSummary, spreads: dict[str, Spread]) -> dict[str, Any]:
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
    """The agent's model where the run knows it, else whatever the candidate or the target is called."""
    agent, target = run.pins.agent, run.pins.target
    details = {"target": target, **({"agent": agent.name, "agent_id": agent.id} if agent else {})}
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
