"""Logs of Inspect (UK AI Security Institute): `.eval` archives and `.json` files, schema 2 and before. A sample is a
case, an epoch a repeat. C passes and I, P and N fail; so do true and false. Other values need a mark."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from howsure.dialects.strict_json import Json, head_keys
from howsure.dialects.tool_results import samples
from howsure.dialects.tool_results.base import ResultsRecord
from howsure.dialects.tool_results.samples import SampleRecord, read_records, read_time
from howsure.dialects.tool_results.streams import ResultsArchive, container_fault, json_document, read_head
from howsure.model.case import SingleTurn
from howsure.model.score import Grade
from howsure.model.tool_runs import Statistic, ToolAggregate, ToolRun, one_model
from howsure.model.transcript import Usage

TOOL = "inspect"
NEWEST_SCHEMA = 2
HEADER, START, SAMPLES = "header.json", "_journal/start.json", "samples/"
LARGEST_SAMPLE = 1 << 26
_ATTACHMENT = re.compile(r"attachment://([0-9A-Za-z_-]+)")
LONGEST_ERROR = 200
LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
UNFINISHED = "let it end, or mend it with `inspect log recover`"
STATISTICS = {"accuracy": Statistic.MEAN, "mean": Statistic.MEAN, "stderr": Statistic.STDERR}


class InspectLogReader:
    """`.eval` and `.json` logs."""

    name = TOOL

    def detect(self, path: Path, head: bytes) -> bool:
        if head.startswith(b"PK"):
            return path.suffix.lower() == ".eval" or START.encode() in head
        keys = set(head_keys(head))
        return {"eval", "status"} <= keys and bool(keys & {"plan", "version", "results"})

    def read(self, path: Path) -> Iterator[ResultsRecord]:
        if not read_head(path).startswith(b"PK"):
            with json_document(path, "samples") as log:
                yield from read_records(log.rows(), lambda sample: read_sample(sample, _scored(log.rest)))
                yield _tool_run(path, log.rest)
            if log.rest.get("samples"):
                raise container_fault(path, "wrong-kind", "its `samples` are no list")
            return
        with ResultsArchive(path) as archive:
            if HEADER not in archive.members:
                begun = START in archive.members
                message = "it has no header.json: " + ("the eval has not ended" if begun else "not an Inspect log")
                code, hint = ("unfinished-log", UNFINISHED) if begun else ("unknown-archive", "")
                raise container_fault(path, code, message, hint=hint)
            header = archive.json(HEADER)
            run = _tool_run(path, header)
            # Samples stand there as they ended; the dataset's order is that of their ids.
            ids = header["eval"].get("dataset", {}).get("sample_ids") or ()
            order = {str(id): place for place, id in enumerate(ids)}
            names = [name for name in archive.members if name.startswith(SAMPLES) and name.endswith(".json")]
            names.sort(key=lambda name: order.get(name.removeprefix(SAMPLES).rpartition("_epoch_")[0], len(order)))
            yield from read_records(archive.rows(names), lambda sample: read_sample(sample, _scored(header)))
            yield run


def _tool_run(path: Path, log: Any) -> ToolRun:
    """What a log says of the whole. Refuses one of a newer schema, and one that is still being written."""
    if not isinstance(log, dict) or not isinstance(log.get("eval"), dict):
        raise container_fault(path, "wrong-kind", "an Inspect log has an object `eval`; this file has none")
    version, status, spec = log.get("version", NEWEST_SCHEMA), log.get("status", ""), log["eval"]
    if not isinstance(version, int) or version > NEWEST_SCHEMA:
        message = f"the log has schema {version}; this Howsure reads up to {NEWEST_SCHEMA}"
        hint = "upgrade Howsure, or write the log with an older Inspect"
        raise container_fault(path, "newer-schema", message, hint=hint)
    if status == "started":
        message = "the status is `started`: the eval has not ended"
        raise container_fault(path, "unfinished-log", message, hint=UNFINISHED)
    results, stats = log.get("results") or {}, log.get("stats") or {}
    error = " ".join(str((log.get("error") or {}).get("message") or "").split())[:LONGEST_ERROR]
    ended = f"Inspect says of this log: {status}{f' ({error})' if error else ''}."
    return ToolRun(
        tool=TOOL,
        version=str((spec.get("packages") or {}).get("inspect_ai") or ""),
        name=str(spec.get("task") or ""),
        samples=results.get("total_samples"),
        models=one_model(spec.get("model")),
        started_at=read_time(stats.get("started_at") or spec.get("created")),
        completed_at=read_time(stats.get("completed_at")),
        aggregates=tuple(_aggregates(results, spec.get("config") or {})),
        notes=() if status == "success" else (ended,),
    )


def _aggregates(results: Json, config: Json) -> Iterator[ToolAggregate]:
    """Every metric of every scorer. Only the mean over epochs is one that we compute too."""
    reducers = config.get("epochs_reducer") or ["mean"]
    for scored in _scored({"results": results}):
        usual = scored.get("reducer") in (None, "mean") and reducers == ["mean"]
        scorer, name = scored.get("scorer") or scored["name"], scored["name"]
        score = name if name == scorer else f"{scorer}.{name}"
        for metric in (scored.get("metrics") or {}).values():
            usual = usual and not (metric.get("params") or {}).get("cluster")
            kind = STATISTICS.get(metric["name"].rpartition("/")[2]) if usual else None
            if isinstance(metric.get("value"), int | float):
                label = f"{score} {metric['name']}"
                yield ToolAggregate(name=label, value=float(metric["value"]), statistic=kind, score=score)


def _scored(log: Json) -> list[Json]:
    """The scorers of a log with their metrics; early logs have a single one."""
    results = log.get("results") or {}
    if isinstance(only := results.get("scorer"), dict):
        return [{**only, "scorer": only["name"], "metrics": results.get("metrics") or only.get("metrics")}]
    return results.get("scores") or []


def read_sample(sample: Json, scored: list[Json]) -> SampleRecord:
    """A sample as a case, its conversation and its scores; `scored` names the scorer of an early log."""
    early = (sample.get("transcript") or {}).get("content")
    text_of = _Attachments(sample.get("attachments") or early or {}).text
    scores = sample.get("scores") or {}
    if sample.get("score"):
        scores = {str((scored or [{}])[0].get("name") or "score"): sample["score"]}
    raw, said, target = sample["input"], (sample.get("output") or {}).get("choices") or (), sample.get("target")
    targets = [str(each) for each in (target if isinstance(target, list) else [target]) if each not in (None, "")]
    options = dict(zip(ascii_uppercase, sample.get("choices") or (), strict=False))
    asked = SingleTurn(message=text_of(raw)) if isinstance(raw, str) else None
    return SampleRecord(
        id=str(sample["id"]),
        asked=asked or samples.question_from(samples.read_messages(raw, text_of)),
        expected=samples.expect_answers(targets, options),
        messages=samples.read_messages(sample.get("messages") or (), text_of),
        said=text_of(said[0]["message"].get("content")) if said else None,
        grades=_grades(scores),
        error=sample.get("error"),
        repeat=int(sample.get("epoch") or 1),
        seconds=sample.get("total_time"),
        usage=_usage(sample.get("model_usage") or {}),
        state=sample.get("store") or None,
        metadata=sample.get("metadata") or {},
    )


class _Attachments:
    """Long texts, which stand apart in a log, put back where they are named. What they hold names no others."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._left = LARGEST_SAMPLE

    def text(self, content: Any) -> str:
        text = samples.plain_text(content)
        return _ATTACHMENT.sub(self._one, text) if self._texts and "attachment://" in text else text

    def _one(self, found: re.Match[str]) -> str:
        value = self._texts.get(found[1], found[0])
        self._left -= len(value)
        if self._left < 0:
            raise ValueError(f"with its attachments the sample has more than {LARGEST_SAMPLE:,} characters")
        return value


def _usage(usage: Mapping[str, Json]) -> Usage | None:
    """Tokens of all models of the sample: judges of its scorers count too, as in the log."""

    def total(name: str) -> int | None:
        known = [each[name] for each in usage.values() if each.get(name) is not None]
        return sum(known) if known else None

    thinking, said = total("reasoning_tokens"), total("output_tokens")
    output = None if said is None else max(said - (thinking or 0), 0)
    cached = total("input_tokens_cache_read")
    return samples.token_usage(total("input_tokens"), output, cached_tokens=cached, thinking_tokens=thinking)


def _grades(scores: Mapping[str, Any]) -> Iterator[Grade]:
    for scorer, score in scores.items():
        value, reason = score["value"], score.get("explanation")
        several = dict(enumerate(value)) if isinstance(value, list) else value
        for key, each in several.items() if isinstance(several, dict) else [("", several)]:
            letter = each if isinstance(each, str) else None
            details = {"answer": score.get("answer"), "value": letter, "metadata": score.get("metadata")}
            name = scorer if key == "" else f"{scorer}.{key}"
            yield samples.read_score(
                name, each, giver=f"{TOOL}:{scorer}", words=LETTERS, reason=reason, details=details
            )
