"""Results of OpenAI's evals. `openai`: items of a hosted run, as JSON lines or as the list that the API gives; a case
passes where every grader passes it. `oaieval`: logs of the `evals` package, whose events are gathered by sample; a
match decides, and so does a model's grade of 0 or 1."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from howsure.dialects.strict_json import Json, head_keys
from howsure.dialects.tool_results import samples
from howsure.dialects.tool_results.base import ResultsRecord
from howsure.dialects.tool_results.samples import SampleRecord, number_score, read_records, unscored
from howsure.dialects.tool_results.streams import container_fault, json_lines, read_head, read_rows
from howsure.model.score import UNIT, Grade
from howsure.model.tool_runs import Statistic, ToolAggregate, ToolRun, one_model

HOSTED, LOCAL = "openai", "oaieval"
EXPECTED = (
    "expected_answer",
    "expected",
    "ideal",
    "reference",
    "ground_truth",
    "correct_answer",
    "correct_label",
    "target",
    "answer",
    "label",
)
_RUN_ID = re.compile(rb'"run_id"\s*:\s*"([^"]*)"')
REPRODUCED = ("accuracy", "score")


class OpenAIItemReader:
    """Items of a hosted run: lines of an export, or the API's list of `eval.run.output_item`. Of several runs in one
    file, each is a candidate."""

    name = HOSTED

    def detect(self, path: Path, head: bytes) -> bool:
        keys = set(head_keys(head))
        line = {"item", "grades"} <= keys or {"datasource_item", "results"} <= keys
        return line or (b'"eval.run.output_item"' in head and "data" in keys)

    def read(self, path: Path) -> Iterator[ResultsRecord]:
        runs = _run_ids(path)
        models: dict[str, dict[str, None]] = {}

        def build(row: Json) -> SampleRecord:
            record, sample = _item(row), row.get("sample") or {}
            run_id = str(row.get("run_id") or "")
            record.candidate = run_id if len(runs) > 1 else ""
            runs.setdefault(run_id)
            named = str(sample.get("model") or sample.get("sampled_model_name") or "")
            models.setdefault(record.candidate, {}).setdefault(named)
            return record

        yield from read_records(read_rows(path, "data"), build)
        asked = {candidate: ", ".join(filter(None, each)) for candidate, each in models.items()}
        yield ToolRun(
            tool=HOSTED,
            name=", ".join(filter(None, runs)),
            models={candidate: name for candidate, name in asked.items() if name},
        )


def _run_ids(path: Path) -> dict[str, None]:
    """The runs in a file of lines; a page of the API is of one run."""
    if "data" in head_keys(read_head(path)):
        return {}
    with path.open("rb") as lines:
        found = (_RUN_ID.search(line) for line in lines)
        return dict.fromkeys(match[1].decode("utf-8", "replace") for match in found if match)


def _item(row: Json) -> SampleRecord:
    item, sample = row.get("item") or row.get("datasource_item") or {}, row.get("sample") or {}
    # The API has a list of results; an export has scores and verdicts by grader.
    listed = row.get("results") or ()
    scores = row.get("grades") or {each["name"]: each.get("score") for each in listed}
    verdicts = row.get("passes") or {each["name"]: each.get("passed") for each in listed}
    failed = [name for name, passed in verdicts.items() if passed is False]
    error = samples.error_text(sample.get("error") or row.get("error"))
    used, own = sample.get("usage") or sample.get("token_usage") or {}, sample.get("output") or sample.get("outputs")
    said = own or item.get("output")
    return SampleRecord(
        id=row.get("data_source_idx", row.get("datasource_item_id")),
        asked=item,
        expected=samples.find_field({name: item.get(name) for name in EXPECTED}, EXPECTED),
        said=said or "",
        messages=samples.read_messages([*(sample.get("input") or sample.get("trajectory") or ()), *(own or ())]),
        grades=_item_grades(scores, verdicts, row.get("grader_samples") or {}),
        passed=not failed if verdicts else None,
        reason=f"fails by {', '.join(failed)}" if failed else "",
        error=error or ("OpenAI says that the item errored" if row.get("status") == "error" else ""),
        usage=samples.token_usage(
            used.get("prompt_tokens"), used.get("completion_tokens"), cached_tokens=used.get("cached_tokens")
        ),
        metadata=item,
    )


def _item_grades(scores: Json, verdicts: Json, replies: Json) -> Iterator[Grade]:
    for name, value in scores.items():
        said = (replies.get(name) or {}).get("outputs")
        details = {"passed": verdicts.get(name), "reply": samples.read_answer(said) if said else None}
        yield samples.read_score(name, value, giver=f"{HOSTED}:{name}", details=details)


class OaievalLogReader:
    """Logs of `oaieval`: a line with the `spec`, one for each event, and one with the `final_report`."""

    name = LOCAL

    def detect(self, path: Path, head: bytes) -> bool:
        keys = set(head_keys(head))
        return (keys == {"spec"} and b'"completion_fns"' in head) or {"run_id", "event_id", "sample_id"} <= keys

    def read(self, path: Path) -> Iterator[ResultsRecord]:
        """Threads write events in any order, so the log is read twice: a sample is whole at its last event."""
        missing = Counter(row.get("sample_id") for _, row in json_lines(path) if isinstance(row, dict))
        about: Json = {"spec": {}, "final_report": {}}
        open_samples: dict[str, list[Json]] = {}

        def whole_samples() -> Iterator[tuple[str, Any]]:
            for line, row in json_lines(path):
                if not isinstance(row, dict):
                    yield f"line {line}", row
                    continue
                about.update({name: row[name] for name in about if name in row})
                if sample := row.get("sample_id"):
                    open_samples.setdefault(sample, []).append(row)
                    missing[sample] -= 1
                    if not missing[sample]:
                        yield f"sample {sample}", open_samples.pop(sample)

        yield from read_records(whole_samples(), _event_sample)
        spec, report = about["spec"], about["final_report"]
        if not spec:
            raise container_fault(path, "wrong-kind", "a log of oaieval has a line with its `spec`; this one has none")
        yield ToolRun(
            tool=LOCAL,
            name=str(spec.get("eval_name") or ""),
            models=one_model(", ".join(map(str, spec.get("completion_fns") or ()))),
            started_at=samples.read_time(spec.get("created_at")),
            aggregates=tuple(
                ToolAggregate(
                    name=name, value=value, statistic=Statistic.MEAN if name in REPRODUCED else None, score=name
                )
                for name, value in report.items()
                if isinstance(value, int | float) and not isinstance(value, bool)
            ),
            notes=() if report else ("The log has no final report: the eval did not end.",),
        )


def _event_sample(events: list[Json]) -> SampleRecord:
    """One sample. The first sampling is the answer; later ones are a judge's, and are not carried."""
    by_kind: dict[str, list[Json]] = {}
    for event in events:
        by_kind.setdefault(event["type"], []).append(event["data"] or {})
    sampled, raw, match, metrics, error = (
        (by_kind.get(kind) or [{}])[0] for kind in ("sampling", "raw_sample", "match", "metrics", "error")
    )
    expected = next((each["expected"] for each in by_kind.get("match", ()) if each.get("expected") is not None), None)
    said = sampled.get("sampled")
    said = match.get("sampled") or match.get("picked") if said is None else said
    return SampleRecord(
        id=events[0]["sample_id"],
        asked=raw.get("input") or sampled.get("prompt") or match.get("prompt") or "",
        expected=raw.get("ideal") if expected is None else expected,
        said=said[0] if isinstance(said, list) and said else said,
        grades=_event_grades(match, metrics),
        error=f"{error.get('type', 'error')}: {error.get('message', '')}" if error else "",
        repeat=1,
    )


def _event_grades(match: Json, metrics: Json) -> Iterator[Grade]:
    if match:
        details = {"picked": samples.show_value(match.get("picked"))}
        yield number_score("accuracy", match["correct"], giver=LOCAL, pass_mark=1.0, scale=UNIT, details=details)
    choice = metrics.get("choice")
    for name, value in metrics.items():
        if isinstance(value, int | float):
            mark = 1.0 if value in (0, 1) and name in ("score", "accuracy", "correct") else None
            yield number_score(name, value, giver=LOCAL, pass_mark=mark, details={"choice": choice})
    if isinstance(choice, str) and not isinstance(metrics.get("score"), int | float):
        yield unscored("choice", f"the judge chose {choice!r}, which has no number", giver=LOCAL)
