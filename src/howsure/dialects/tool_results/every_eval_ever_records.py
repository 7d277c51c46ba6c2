"""Records of Every Eval Ever (EvalEval Coalition), schema 0.2 and 0.3: a document with the scores of one model, and the
lines of its samples beside it (`detailed_evaluation_results`); either leads to both. A sample has a line for each
metric; `is_correct` of every one of them is the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from howsure.dialects.strict_json import Json, head_keys
from howsure.dialects.tool_results import samples
from howsure.dialects.tool_results.base import ResultsRecord
from howsure.dialects.tool_results.samples import SampleRecord, read_records
from howsure.dialects.tool_results.streams import container_fault, gather_lines, json_object
from howsure.model.score import Grade, Scale
from howsure.model.tool_runs import Statistic, ToolAggregate, ToolRun, one_model

TOOL = "every-eval-ever"
READ_SCHEMAS = ("0.2.", "0.3.")
DETAILS = "detailed_evaluation_results"
SCORES_ONLY = "The document has scores only: the lines of its samples are not beside it."


class EveryEvalEverReader:
    """The document, or its lines."""

    name = TOOL

    def detect(self, path: Path, head: bytes) -> bool:
        keys = set(head_keys(head))
        return {"schema_version", "evaluation_id"} <= keys and bool(
            keys & {"source_metadata", "model_info", "sample_id"}
        )

    def companions(self, path: Path) -> Sequence[Path]:
        if path.suffix == ".jsonl":
            named = (path.with_suffix(".json"), path.with_name(f"{path.stem.removesuffix('_samples')}.json"))
            return (*[each for each in named if each.exists()][:1], path)
        named_there = (json_object(path).get(DETAILS) or {}).get("file_path") or ""
        names = (PurePosixPath(named_there).name, f"{path.stem}_samples.jsonl")
        return (path, *[path.with_name(name) for name in names if name and path.with_name(name).exists()][:1])

    def read(self, path: Path) -> Iterator[ResultsRecord]:
        files = self.companions(path)
        document = json_object(files[0]) if files[0].suffix == ".json" else {}
        version = str(document.get("schema_version") or READ_SCHEMAS[-1])
        if not version.startswith(READ_SCHEMAS):
            message = f"the document has schema {version}; this Howsure reads 0.2 and 0.3"
            raise container_fault(path, "newer-schema", message)
        metrics = {_result_id(each): each for each in document.get("evaluation_results") or ()}
        lines = files[-1].suffix == ".jsonl"
        if lines:
            records = gather_lines(files[-1], _line_keys, _score_of)
            yield from read_records(records, lambda found: _sample(found, metrics))
        yield _tool_run(document, metrics, lines)


def _result_id(result: Json) -> str:
    return str(result.get("evaluation_result_id") or result.get("evaluation_name") or "")


def _line_keys() -> Callable[[Any], tuple[str, int] | None]:
    """The sample of a line and the number of the repeat: a second line with the same metric is one."""
    seen: Counter[tuple[str, str]] = Counter()

    def key(row: Any) -> tuple[str, int] | None:
        if not isinstance(row, dict) or not isinstance(row.get("evaluation"), dict):
            return None
        pair = (str(row.get("sample_id")), _result_id(row))
        seen[pair] += 1
        return pair[0], seen[pair]

    return key


def _score_of(row: Json) -> Json:
    return {name: row.get(name) for name in ("evaluation_result_id", "evaluation_name", "evaluation")}


def _tool_run(document: Json, metrics: Mapping[str, Json], lines: bool) -> ToolRun:
    library, source, model = (document.get(key) or {} for key in ("eval_library", "source_metadata", "model_info"))
    details = {id: each.get("score_details") or {} for id, each in metrics.items()}
    numbers = [(each.get("uncertainty") or {}).get("num_samples") for each in details.values()]
    known = [number for number in numbers if isinstance(number, int)]
    made = f"{library.get('name', '')} {library.get('version', '')}".strip()
    names = dict.fromkeys(str(each.get("evaluation_name") or "") for each in metrics.values())
    started = document.get("evaluation_timestamp")
    with suppress(TypeError, ValueError):  # a text: seconds since 1970, or ISO 8601
        started = float(started or "")
    return ToolRun(
        tool=TOOL,
        version=str(document.get("schema_version") or ""),
        name=", ".join(names) or str(document.get("evaluation_id") or ""),
        samples=max(known, default=None if lines else 0),
        models=one_model(model.get("id") or model.get("name")),
        started_at=samples.read_time(started),
        aggregates=tuple(
            ToolAggregate(name=name, value=float(details[id]["score"]), statistic=Statistic.MEAN, score=name)
            for id, name in ((id, _metric_name(each, id)) for id, each in metrics.items())
        ),
        notes=(
            *((f"The scores were made by {made}.",) if made.strip("unkow ") else ()),
            *((f"The source is {source['source_name']}.",) if source.get("source_name") else ()),
            *(() if lines else (SCORES_ONLY,)),
        ),
    )


def _metric_name(result: Json, id: str) -> str:
    config = result.get("metric_config") or {}
    return str(config.get("metric_name") or config.get("metric_id") or result.get("evaluation_name") or id)


def _sample(found: Any, metrics: Mapping[str, Json]) -> SampleRecord:
    if not isinstance(found, tuple):
        raise ValueError("a line is an object with an object `evaluation`")
    row, (_, repeat), lines = found
    asked, said, used = row["input"], (row.get("output") or {}).get("raw"), row.get("token_usage") or {}
    raw = [{**each, "tool_call_id": _one(each.get("tool_call_id"))} for each in row.get("messages") or ()]
    messages, time = samples.read_messages(raw), (row.get("performance") or {}).get("latency_ms")
    verdicts = [each["evaluation"].get("is_correct") for each in lines]
    extra = {"choices": asked.get("choices"), **(row.get("metadata") or {})}
    return SampleRecord(
        id=str(row["sample_id"]),
        asked=str(asked["raw"]) if asked.get("raw") else samples.question_from(messages),
        expected=[str(each) for each in asked.get("reference") or ()],
        said="\n".join(map(str, said)) if isinstance(said, list) else str(said) if said else None,
        messages=messages,
        grades=[_grade(each, metrics) for each in lines],
        passed=all(verdicts) if all(isinstance(each, bool) for each in verdicts) else None,
        error=row.get("error"),
        repeat=repeat,
        seconds=None if time is None else time / 1000,
        usage=samples.token_usage(used.get("input_tokens"), used.get("output_tokens")),
        metadata={name: value for name, value in extra.items() if value},
    )


def _one(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else value


def _grade(line: Json, metrics: Mapping[str, Json]) -> Grade:
    id, judged = _result_id(line), line["evaluation"]
    result = metrics.get(id) or {}
    config = result.get("metric_config") or {}
    low, high = (
        each if isinstance(each, int | float) else None for each in map(config.get, ("min_score", "max_score"))
    )
    return samples.number_score(
        _metric_name(result, id),
        judged["score"],
        giver=TOOL,
        scale=None if low is None else Scale(low, high),
        lower_is_better=config.get("lower_is_better") is True,
        details={"is_correct": judged.get("is_correct")},
    )
