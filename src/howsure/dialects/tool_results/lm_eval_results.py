"""Results of lm-eval (EleutherAI): `results_*.json` with the `samples_*.jsonl` of the same time stamp beside it; either
leads to both. A document is a case, named `task/doc_id`; its scores under several filters are kept side by side. A
metric that is 0 or 1 throughout its file decides, and several must all pass. Others need a mark."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from howsure.dialects.strict_json import Json, head_keys
from howsure.dialects.tool_results import samples
from howsure.dialects.tool_results.base import ResultsRecord
from howsure.dialects.tool_results.samples import SampleRecord, number_score, read_records, read_time
from howsure.dialects.tool_results.streams import container_fault, gather_lines, json_object
from howsure.model.expectation import Expectation
from howsure.model.score import UNIT, Grade
from howsure.model.tool_runs import Statistic, ToolAggregate, ToolRun, one_model

TOOL = "lm-eval"
STAMP = re.compile(r"^(?:results|samples_(?P<task>.+))_(?P<stamp>\d{4}-\d\d-\d\dT[\d:.+-]+?)\.jsonl?$")
GRADUAL = re.compile(r"f1|bleu|rouge|ter$|chrf|perplexity|brier|mc2|diff|bits|byte|likelihood|norm_logprob")
"""Metrics between 0 and 1 by their nature: that all values of a short file are 0 or 1 proves nothing."""
_NOT_METRICS = {
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash", "prompt_hash",
    "target_hash", "task_name",
}  # fmt: skip


class LmEvalReader:
    """`results_*.json` and `samples_*.jsonl`."""

    name = TOOL

    def detect(self, path: Path, head: bytes) -> bool:
        keys = set(head_keys(head))
        known = {"configs", "group_subtasks", "n-shot", "lm_eval_version", "versions"}
        report = "results" in keys and bool(keys & known)
        return report or {"doc_id", "arguments", "resps"} <= keys or {"doc_id", "doc", "target"} <= keys

    def companions(self, path: Path) -> Sequence[Path]:
        named = STAMP.match(path.name)
        if not named:
            return (path,)
        report = path.with_name(f"results_{named['stamp']}.json")
        return [*([report] if report.exists() else []), *sorted(path.parent.glob(f"samples_*_{named['stamp']}.jsonl"))]

    def read(self, path: Path) -> Iterator[ResultsRecord]:
        files = self.companions(path)
        report = next((json_object(each) for each in files if each.suffix == ".json"), {})
        if report and not isinstance(report.get("results"), dict):
            raise container_fault(path, "wrong-kind", "a report of lm-eval has an object `results`; this file has none")
        for each in files:
            if each.suffix != ".json":
                named = STAMP.match(each.name)
                task = named["task"] if named else each.stem.removeprefix("samples_")
                yield from _task_samples(each, task, report.get("higher_is_better", {}).get(task) or {})
        yield _tool_run(report)


def _tool_run(report: Json) -> ToolRun:
    results, numbers, configs = (report.get(key) or {} for key in ("results", "n-samples", "configs"))
    started, seconds = report.get("date"), report.get("total_evaluation_time_seconds")
    numbered = [(task, *each) for task, values in results.items() for each in values.items()]
    return ToolRun(
        tool=TOOL,
        version=str(report.get("lm_eval_version") or ""),
        name=", ".join(numbers or results),
        samples=sum(each["effective"] for each in numbers.values()) if numbers else None,
        models=one_model(report.get("model_name") or (report.get("config") or {}).get("model")),
        started_at=read_time(started),
        completed_at=read_time(started + float(seconds)) if started and seconds else None,
        aggregates=tuple(
            _aggregate(task, key, float(value), configs.get(task))
            for task, key, value in numbered
            if ("," in key or not configs) and isinstance(value, int | float) and not isinstance(value, bool)
        ),
        notes=() if report else ("Its results_*.json is not beside it: lm-eval's own numbers are not known.",),
    )


def _aggregate(task: str, key: str, value: float, config: Json | None) -> ToolAggregate:
    """A number of a task. Those of a group (which has no configuration) are means of means, and only shown."""
    metric, _, filter = key.partition(",")
    base = metric.removesuffix("_stderr")
    listed = {each.get("metric"): each.get("aggregation", "mean") for each in (config or {}).get("metric_list") or ()}
    usual = config is not None and listed.get(base, "mean") in ("mean", None)
    kind = (Statistic.MEAN if metric == base else Statistic.STDERR) if usual else None
    name, score = f"{task} {_score_name(metric, filter)}", _score_name(base, filter)
    return ToolAggregate(name=name, value=value, statistic=kind, score=score, cases=f"{task}/")


def _score_name(metric: str, filter: str) -> str:
    return metric if filter in ("", "none") else f"{metric},{filter}"


def _task_samples(path: Path, task: str, better: Mapping[str, Any]) -> Iterator[ResultsRecord]:
    """The documents of a task. A file has all of them once for each filter."""
    graded: set[str] = set()

    def scores_of(row: Json) -> Json:
        names = row.get("metrics") or [name for name in row if name not in _NOT_METRICS]
        known = {_score_name(name, str(row.get("filter", ""))): row[name] for name in names if name in row}
        graded.update(name for name, value in known.items() if value not in (0, 1) or GRADUAL.search(name))
        return known

    def grades(row: Json, values: Json) -> Iterator[Grade]:
        answers = row.get("filtered_resps") or ()
        details = {"answer": answers[0] if answers and isinstance(answers[0], str) else None}
        for name, value in values.items():
            lower = better.get(name.partition(",")[0]) is False
            mark, scale = (None, None) if name in graded else (0.0 if lower else 1.0, UNIT)
            if isinstance(value, int | float):
                yield number_score(
                    name, value, giver=TOOL, pass_mark=mark, scale=scale, lower_is_better=lower, details=details
                )
            else:
                yield samples.unscored(name, "lm-eval computes it over all samples together", giver=TOOL)

    def sample(found: Any) -> SampleRecord:
        row, _, scores = found if isinstance(found, tuple) else (found, None, ())
        return _sample(row, task, grades(row, {name: value for each in scores for name, value in each.items()}))

    yield from read_records(gather_lines(path, lambda: _document_id, scores_of), sample)


def _document_id(row: Any) -> str | int | None:
    return row.get("doc_id") if isinstance(row, dict) else None


def _sample(row: Json, task: str, grades: Iterator[Grade]) -> SampleRecord:
    raw = row["arguments"].values() if isinstance(row["arguments"], dict) else row["arguments"]
    calls = [[*each.values()] if isinstance(each, dict) else each for each in raw]
    answers = [each[0] if isinstance(each, list) and len(each) == 1 else each for each in row["resps"]]
    options: list[str] = []
    if len(calls) > 1 and all(len(each) > 1 and isinstance(each[1], str) for each in calls):
        options = [each[1].strip() for each in calls]
        # A choice is answered by the likelihood that the model gives to each option.
        likely = [float(each[0]) for each in answers]
        answer = options[likely.index(max(likely))]
    else:
        answer = samples.plain_text(answers[0]) if answers else ""
    return SampleRecord(
        id=f"{task}/{row['doc_id']}",
        asked=str(calls[0][0]),
        said=answer,
        expected=_expectations(options, str(row["target"] if row.get("target") is not None else "").strip()),
        grades=grades,
        repeat=1,
        metadata={"doc": row["doc"]} if row.get("doc") else {},
    )


def _expectations(options: Sequence[str], target: str) -> tuple[Expectation, ...]:
    # It is the place of an option or its text, and no longer says which: where both would do, neither is taken.
    places = {int(target)} if target.isdecimal() and int(target) < len(options) else set()
    places |= {options.index(target)} if target in options else set()
    if len(places) > 1:
        return ()
    letters = [ascii_uppercase[place] for place in places if len(options) <= len(ascii_uppercase)]
    answers = letters or [text for text in [target] if text]
    return samples.expect_answers(answers, dict(zip(ascii_uppercase, options, strict=False)) if letters else None)
