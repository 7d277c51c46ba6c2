"""Histories of `adk eval` (`*.evalset_result.json`), as results: the conversation is read as `howsure convert` reads
it, and the verdict is ADK's own. What ADK did not evaluate is errored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from howsure.dialects.importers.adk_history import AdkHistoryImporter, metric_results, verdict
from howsure.dialects.importers.adk_recordings import either_case
from howsure.dialects.strict_json import Json
from howsure.dialects.tool_results.base import ResultsRecord, SampleResult, UnreadableRecord
from howsure.dialects.tool_results.samples import read_score
from howsure.errors import DatasetInvalid, Level, Problem
from howsure.model.score import Grade, Score
from howsure.model.tool_runs import ToolRun
from howsure.model.transcript import Transcript

TOOL = "adk"


class AdkHistoryReader:
    """`.evalset_result.json` files."""

    name = TOOL

    def detect(self, path: Path, head: bytes) -> bool:
        return AdkHistoryImporter().detect(path, head)

    def read(self, path: Path) -> Iterator[ResultsRecord]:
        seen: Counter[str] = Counter()
        names: dict[str, None] = {}
        for place, (result, found) in enumerate(AdkHistoryImporter().read_results(path), start=1):
            id = str(either_case(result, "eval_id") or "")
            if isinstance(found, Problem):
                if result:
                    yield UnreadableRecord(place=found.field or f"result {place}", reason=found.message, id=id)
                elif found.level is Level.ERROR:
                    raise DatasetInvalid(str(path), [found])
                continue
            names.setdefault(str(either_case(result, "eval_set_id") or ""))
            passed = verdict(result)
            case = replace(found, id=id or found.id, recorded=None)
            seen[case.id] += 1
            yield SampleResult(
                case=case,
                transcript=found.recorded if isinstance(found.recorded, Transcript) else None,
                grades=tuple(_grade(each) for each in metric_results(result)),
                passed=passed,
                error="" if passed is not None else "ADK did not evaluate it",
                repeat=seen[case.id],
            )
        yield ToolRun(tool=TOOL, name=", ".join(filter(None, names)))


def _grade(metric: Json) -> Grade:
    grade = read_score(str(metric["metric_name"]), metric.get("score"), giver=TOOL)
    return replace(grade, pass_mark=metric["threshold"]) if isinstance(grade, Score) else grade
