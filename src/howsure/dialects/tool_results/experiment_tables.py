"""Experiments of hosted tools, a row for each example, as JSON, JSON lines or CSV. `langsmith`: runs, and the table of
`evaluate`. `mlflow`: the table of `evaluate` (`eval_results_table.json`). `braintrust`: events of an experiment.
`langfuse`: the result of an experiment. `azure`: the output of `evaluate`. `pydantic-evals`: a report as JSON. Yes, no,
true, false, pass and fail decide; other numbers need a mark."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import isnan
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from howsure.dialects.importers.records import finite_number
from howsure.dialects.strict_json import Json, head_keys
from howsure.dialects.tool_results.base import ResultsRecord
from howsure.dialects.tool_results.samples import (
    SampleRecord,
    number_score,
    read_records,
    read_score,
    read_time,
    unscored,
)
from howsure.dialects.tool_results.streams import container_fault, first_keys, json_object, read_head, read_rows
from howsure.model.score import Grade, Score
from howsure.model.tool_runs import ToolRun

LISTED_SCORES = re.compile(rb'"scores"\s*:\s*\[')
"""Scores as a list of objects, each with its name: those of Langfuse, where Braintrust has an object."""
MLFLOW_INPUTS = ("request", "inputs", "input", "question", "prompt")
MLFLOW_OUTPUTS = ("response", "outputs", "output", "predictions", "prediction")
MLFLOW_EXPECTED = ("targets", "ground_truth", "expectations")


def _scores(tool: str, values: Mapping[str, Any], reasons: Mapping[str, Any] | None = None) -> Iterator[Grade]:
    """A grade for every value that is there; tables have empty cells and NaN for those that are not."""
    for name, value in values.items():
        if value not in (None, "") and not (isinstance(value, float) and isnan(value)):
            yield read_score(name, value, giver=tool, reason=(reasons or {}).get(name))


def _under(row: Json, prefix: str) -> Json:
    return {
        key.removeprefix(prefix): each for key, each in row.items() if key.startswith(prefix) and each not in (None, "")
    }


def _first(row: Json, names: tuple[str, ...]) -> Any:
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)


class LangSmithReader:
    """Runs as the API and the SDK give them, and `evaluate(…).to_pandas()` as CSV or JSON."""

    name = "langsmith"

    def detect(self, path: Path, head: bytes) -> bool:
        keys = first_keys(head)
        table = any(key.startswith("feedback.") for key in keys) and any(key.startswith("inputs.") for key in keys)
        return table or {"inputs", "run_type"} <= keys or ("post" in keys and b'"dotted_order"' in head)

    def read(self, path: Path) -> Iterator[ResultsRecord]:
        sent = "post" in head_keys(read_head(path))
        yield from read_records(_sent_runs(path) if sent else read_rows(path, "runs"), self.sample)
        yield ToolRun(tool=self.name)

    def sample(self, row: Json) -> SampleRecord | None:
        """A run, or a row of the table, whose columns are named after the fields of a run."""
        if row.get("parent_run_id"):
            return None
        started, ended = read_time(row.get("start_time")), read_time(row.get("end_time"))
        stats = (row.get("feedback_stats") or {}).items()
        means = {key: each.get("avg") if isinstance(each, dict) else each for key, each in stats}
        return SampleRecord(
            asked=_under(row, "inputs.") or row["inputs"],
            said=_under(row, "outputs.") or row.get("outputs"),
            expected=_under(row, "reference.") or row.get("reference_outputs"),
            id=row.get("example_id") or row.get("reference_example_id"),
            grades=_scores(self.name, _under(row, "feedback.") or means),
            error=row.get("error"),
            seconds=(ended - started).total_seconds() if started and ended else row.get("execution_time") or None,
            metadata={name: row[name] for name in ("name", "trace_id") if row.get(name)},
        )


def _sent_runs(path: Path) -> Iterator[tuple[str, Any]]:
    """What the SDK sends: the beginnings of runs, and what is known at their ends."""
    batch = json_object(path)
    ends = {each.get("id") or each.get("trace_id"): each for each in batch.get("patch") or ()}
    for place, run in enumerate(batch["post"]):
        yield f"post[{place}]", {**run, **ends.get(run.get("id"), {})}


class MLflowTableReader:
    """The table of `mlflow.evaluate` and `mlflow.genai.evaluate`."""

    name = "mlflow"

    def detect(self, path: Path, head: bytes) -> bool:
        keys = first_keys(head)
        table = {"columns", "data"} <= keys or ("columns" in keys and b'"data"' in head)
        named = any(key.endswith(("/score", "/value")) for key in keys)
        return named or (table and any(each in head for each in (b'/score"', b'/value"', b'"outputs"', b'"response"')))

    def read(self, path: Path) -> Iterator[ResultsRecord]:
        yield from read_records(read_rows(path), self.sample)
        yield ToolRun(tool=self.name, name=path.parent.name)

    def sample(self, row: Json) -> SampleRecord:
        by_kind: dict[str, Json] = {}
        for key, value in row.items():
            name, _, kind = key.rpartition("/")
            if name and value not in (None, "") and value == value:
                by_kind.setdefault(kind, {})[name] = value
        values = {**by_kind.get("score", {}), **by_kind.get("value", {})}
        stated = {name: values.pop(name) for name in list(values) if name.startswith("expected")}
        reasons = {**by_kind.get("justification", {}), **by_kind.get("rationale", {})}
        broken = by_kind.get("error_message", {})
        asked, took = _first(row, MLFLOW_INPUTS), row.get("execution_duration") or None
        if asked is None:
            raise KeyError(" or ".join(MLFLOW_INPUTS))
        return SampleRecord(
            asked=asked,
            said=_first(row, MLFLOW_OUTPUTS),
            expected=_first(row, MLFLOW_EXPECTED) or next(iter(stated.values()), None),
            grades=[
                *(unscored(name, str(message), giver=self.name, error=True) for name, message in broken.items()),
                *_scores(self.name, values, reasons),
            ],
            error="MLflow says that the request failed" if row.get("state") == "ERROR" else "",
            seconds=None if took is None else float(took) / 1000,
        )


class BraintrustReader:
    """Events of an experiment, as its page and its API export them."""

    name = "braintrust"

    def detect(self, path: Path, head: bytes) -> bool:
        keys = first_keys(head)
        return ({"input", "scores"} <= keys or ("events" in keys and b'"scores"' in head)) and not LISTED_SCORES.search(
            head
        )

    def read(self, path: Path) -> Iterator[ResultsRecord]:
        yield from read_records(read_rows(path, "events"), self.sample)
        yield ToolRun(tool=self.name)

    def sample(self, row: Json) -> SampleRecord | None:
        """An event. Inner spans (of the task and its scorers) are no examples of their own."""
        if row.get("is_root") is False or row.get("span_parents"):
            return None
        start, end = ((row.get("metrics") or {}).get(name) for name in ("start", "end"))
        return SampleRecord(
            asked=row["input"],
            said=row.get("output"),
            expected=row.get("expected"),
            grades=_scores(self.name, row.get("scores") or {}),
            error=row.get("error"),
            seconds=end - start if start and end else None,
            metadata=row.get("metadata") or {},
        )


class LangfuseRunReader:
    """The result of an experiment of the SDK; items of a dataset run, and exported traces, that have their scores with
    them."""

    name = "langfuse"
    lists = ("item_results", "itemResults", "datasetRunItems")

    def detect(self, path: Path, head: bytes) -> bool:
        keys = first_keys(head)
        return bool(keys & set(self.lists)) or ({"input", "scores"} <= keys and LISTED_SCORES.search(head) is not None)

    def read(self, path: Path) -> Iterator[ResultsRecord]:
        def rows() -> Iterator[tuple[str, Any]]:
            for place, row in read_rows(path, *self.lists):
                if isinstance(row, dict) and "datasetItemId" in row and not row.keys() & {"item", "input"}:
                    message = "the items of this dataset run name their traces only: they have no answers and no scores"
                    hint = "save the result of `run_experiment`, or export the traces of the run"
                    raise container_fault(path, "no-results", message, hint=hint)
                yield place, row

        yield from read_records(rows(), self.sample)
        yield ToolRun(tool=self.name)

    def sample(self, row: Json) -> SampleRecord:
        item, judged = row.get("item") or row, row.get("evaluations") or row.get("scores") or ()
        if not all(isinstance(each, dict) for each in judged):
            raise ValueError("its scores are named by their ids only: export them with their names and values")
        return SampleRecord(
            asked=item["input"],
            said=row.get("output"),
            expected=item.get("expected_output", item.get("expectedOutput")),
            id=item.get("id") or row.get("datasetItemId"),
            grades=_scores(
                self.name,
                {each["name"]: each.get("value", each.get("stringValue")) for each in judged},
                {each["name"]: each.get("comment") for each in judged},
            ),
            error=row.get("error"),
            seconds=row.get("latency"),
        )


class AzureReader:
    """What `evaluate` of Azure AI Evaluation writes with `output_path`, and its rows as JSON lines or CSV."""

    name = "azure"

    def detect(self, path: Path, head: bytes) -> bool:
        keys = first_keys(head)
        listed = {"rows", "metrics"} <= keys and b'"inputs.' in head
        return listed or (any(key.startswith("inputs.") for key in keys) and any(_evaluator(key) for key in keys))

    def read(self, path: Path) -> Iterator[ResultsRecord]:
        yield from read_records(read_rows(path, "rows"), self.sample)
        yield ToolRun(tool=self.name)

    def sample(self, row: Json) -> SampleRecord:
        inputs, outputs = _under(row, "inputs."), _under(row, "outputs.")
        scores = {key: value for key, value in outputs.items() if "." in key}
        verdicts = {key.removesuffix("_result"): str(scores[key]) for key in scores if key.endswith("_result")}
        numbers = {key: value for key, value in scores.items() if not key.endswith(AZURE_NOTES)}
        said = _first({**inputs, **outputs}, ("response", "answer", "output", "outputs"))
        expected = inputs.pop("ground_truth", None)
        asked = _first(inputs, ("query", "question", "conversation", "prompt", "input"))
        return SampleRecord(
            asked=inputs if asked is None else asked,
            said=said,
            expected=expected,
            grades=[
                *_scores(self.name, {key: value for key, value in numbers.items() if key not in verdicts}),
                *(_azure_grade(key, outcome, scores) for key, outcome in verdicts.items()),
            ],
            metadata={key: value for key, value in inputs.items() if value not in (asked, said)},
        )


AZURE_NOTES = ("_result", "_reason", "_threshold", "_label", "_model", "_tokens", "_details", "_properties")


def _evaluator(key: str) -> bool:
    return key.startswith("outputs.") and key.count(".") > 1 and key.endswith(AZURE_NOTES[:3])


def _azure_grade(key: str, outcome: str, scores: Json) -> Grade:
    """A score with the verdict that its evaluator gave it; without a number, the verdict alone."""
    reason, mark = str(scores.get(f"{key}_reason") or ""), finite_number(scores.get(f"{key}_threshold"))
    value = finite_number(scores.get(key, scores.get(f"{key}_score")))
    if value is None or outcome.lower() not in ("pass", "fail"):
        return read_score(key, outcome, giver=AzureReader.name, reason=reason)
    grade = number_score(
        key, value, giver=AzureReader.name, pass_mark=mark if mark is not None else value, reason=reason
    )
    return replace(grade, stated_pass=outcome.lower() == "pass") if isinstance(grade, Score) else grade


class PydanticReportReader:
    """A report of `Dataset.evaluate`, as `EvaluationReport` becomes JSON."""

    name = "pydantic-evals"

    def detect(self, path: Path, head: bytes) -> bool:
        return "cases" in first_keys(head) and b'"assertions"' in head and b'"task_duration"' in head

    def read(self, path: Path) -> Iterator[ResultsRecord]:
        report = json_object(path)
        rows = (
            (f"{key}[{place}]", row) for key in ("cases", "failures") for place, row in enumerate(report.get(key) or ())
        )
        yield from read_records(rows, self.sample)
        yield ToolRun(tool=self.name, name=str(report.get("name") or ""))

    def sample(self, row: Json) -> SampleRecord:
        given = {**(row.get("scores") or {}), **(row.get("assertions") or {})}
        values = {name: each.get("value") if isinstance(each, dict) else each for name, each in given.items()}
        reasons = {name: each.get("reason") for name, each in given.items() if isinstance(each, dict)}
        broken = row.get("evaluator_failures") or ()
        return SampleRecord(
            id=row.get("name"),
            asked=row["inputs"],
            said=row.get("output"),
            expected=row.get("expected_output"),
            grades=[
                *_scores(self.name, values, reasons),
                *(
                    unscored(each["name"], str(each.get("error_message")), giver=self.name, error=True)
                    for each in broken
                ),
            ],
            error=row.get("error_message"),
            seconds=row.get("task_duration"),
            metadata={key: row[key] for key in ("labels", "attributes", "metadata") if row.get(key)},
        )
