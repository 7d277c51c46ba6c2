"""The dialect `pydantic-evals`: a dataset in YAML or JSON with `cases`, and evaluators for one case or for all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from howsure.dialects.importers.base import HashIds
from howsure.dialects.plain_rows import CellFault, input_of, short_labels, text_of
from howsure.dialects.problems import Spot
from howsure.dialects.strict_json import top_level_keys
from howsure.dialects.tool_datasets.documents import (
    YAML_ENDINGS,
    Row,
    ToolDialect,
    ToolFolder,
    equal_output,
    judged,
    object_in,
)
from howsure.model.case import UNCHECKED, Case
from howsure.model.expectation import Expectation, IncludedText, ReferenceAnswer

_CASES = re.compile(rb"^['\"]?cases['\"]?\s*:", re.MULTILINE)
_INPUTS = re.compile(rb"^[ \t-]+inputs[ \t]*:", re.MULTILINE)


class PydanticEvalsDialect(ToolDialect):
    """`inputs` with one value are the question; with several, all of them are, as JSON, and the agent also gets them as
    its state."""

    name = "pydantic-evals"

    def detect(self, path: Path, head: bytes) -> bool:
        if path.suffix.lower() in YAML_ENDINGS:
            return bool(_CASES.search(head) and _INPUTS.search(head))
        keys = top_level_keys(head.decode("utf-8", "ignore")) if path.suffix.lower() == ".json" else []
        listed = "cases" in keys and b'"inputs"' in head and b'"task_duration"' not in head
        return listed or ("$defs" in keys and b"LLMJudge" in head)

    def cases(self, folder: ToolFolder) -> Iterator[tuple[Spot, Case]]:
        document, ids = folder.document(folder.path), HashIds("case")
        value = object_in(document.value)
        if "$defs" in value:
            message = "this is the JSON Schema of a dataset, not the dataset"
            hint = "give the YAML or JSON file that it describes"
            folder.problems.append(document.spot.problem("not-a-dataset", message, hint=hint))
        for spot, each in folder.objects(document.elements("cases"), "an object with `inputs`"):
            inputs, metadata = each.get("inputs"), each.get("metadata")
            kept = metadata if isinstance(metadata, dict) else {"metadata": metadata} if metadata is not None else {}
            try:
                only = list(object_in(inputs).values())
                asked, _ = input_of(only[0] if len(only) == 1 else inputs)
            except CellFault as fault:
                folder.problems.append(spot.below("inputs").problem(fault.code, str(fault)))
                continue
            evaluators = [*(each.get("evaluators") or []), *(value.get("evaluators") or [])]
            expectations, unchecked = _evaluated(evaluators, each, folder)
            case = Case(
                id=ids.of(msgspec.json.encode(inputs, order="deterministic").decode()),
                name=str(each.get("name") or ""),
                input=asked,
                expectations=expectations,
                labels=short_labels(kept),
                metadata={**kept, **({UNCHECKED: unchecked} if unchecked else {})},
                state=object_in(inputs),
            )
            yield spot, case


def _evaluated(evaluators: list[Any], case: Row, folder: ToolFolder) -> tuple[tuple[Expectation, ...], list[str]]:
    """The expectations, and what nothing here checks. The expected output also helps the judge."""
    found: list[Expectation] = []
    rubrics: list[str] = []
    unchecked: list[str] = []
    output = case.get("expected_output")
    for each in evaluators:
        name, arguments = _named(each)
        value = arguments.get("value", arguments.get(""))
        if name == "LLMJudge" and isinstance(rubric := arguments.get("rubric", arguments.get("")), str):
            rubrics.append(rubric)
        elif name == "EqualsExpected" and output is not None:
            found.append(equal_output(output))
        elif name == "Equals" and value is not None:
            found.append(equal_output(value))
        elif name == "Contains" and isinstance(value, str | int | float):
            loose = not arguments.get("case_sensitive", True)
            found.append(IncludedText(values=(text_of(value),), ignore_case=loose))
        else:
            unchecked.append(f"{name}: {text_of(arguments.get('', arguments))}")
            folder.lack(f"evaluator `{name}`", why="has no counterpart here and is not checked")
    if output is not None and all(isinstance(each, IncludedText) for each in found):
        found.append(ReferenceAnswer(answers=(text_of(output),)))
    return (*found, *([judged(dict.fromkeys(rubrics))] if rubrics else [])), unchecked


def _named(each: Any) -> tuple[str, Row]:
    """`Name`, `Name: argument`, `Name: {key: value}`, or `name` and `arguments`."""
    if isinstance(each, dict) and len(each) == 1:
        ((name, given),) = each.items()
        return str(name), dict(given) if isinstance(given, dict) else {"": given}
    if isinstance(each, dict) and "name" in each:
        return str(each["name"]), object_in(each.get("arguments"))
    return str(each), {}
