"""The dialect `lm-eval`: a task (YAML) over data in its folder. The harness compares the likelihood of each choice;
here the agent is asked to choose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from howsure.dialects.importers.base import HashIds
from howsure.dialects.importers.records import lettered
from howsure.dialects.plain_rows import text_of
from howsure.dialects.problems import Spot, shown
from howsure.dialects.tool_datasets.documents import IS_CODE, Row, TagValue, ToolDialect, ToolFolder, object_in
from howsure.dialects.tool_datasets.templates import JINJA, TemplateFailed, fill, value_in
from howsure.matching.numbers import read_number
from howsure.model.case import Case, SingleTurn
from howsure.model.expectation import CorrectChoice, ExactText, Expectation, NumericAnswer, ReferenceAnswer

_TASK = re.compile(rb"^['\"]?(doc_to_text|doc_to_target|doc_to_choice|include|task|group)['\"]?[ \t]*:", re.MULTILINE)
_KEYS = (
    {b"doc_to_text", b"doc_to_target"},
    {b"doc_to_text", b"doc_to_choice"},
    {b"include", b"task"},
    {b"group", b"task"},
)
LOCAL = ("json", "csv", "parquet", "arrow")
SPLITS = ("test_split", "validation_split", "training_split")
FINAL = "####"
"""What stands before the final answer in targets that show their work."""


class LmEvalDialect(ToolDialect):
    """Reads tasks whose data is a JSON, JSON lines or CSV file beside them."""

    name = "lm-eval"

    def detect(self, path: Path, head: bytes) -> bool:
        found = set(_TASK.findall(head)) if path.suffix.lower() in ("", ".yaml", ".yml") else set()
        return any(keys <= found for keys in _KEYS)

    def cases(self, folder: ToolFolder) -> Iterator[tuple[Spot, Case]]:
        task = _task(folder.path, folder)
        if isinstance(task.get("task"), list):
            message, hint = "this is a group of tasks, with no data of its own", "give the file of one of its tasks"
            folder.problems.append(Spot(str(folder.path), None, "task").problem("task-group", message, hint=hint))
            return
        ids = HashIds(str(task.get("task") or "task"))
        if code := [name for name, value in task.items() if isinstance(value, TagValue)]:
            folder.lack(f"`{code[0]}`", len(code), why=IS_CODE)
        if task.get("num_fewshot"):
            folder.lack(f"examples before the question ({task['num_fewshot']})", why="are not put into the prompt here")
        path = _data_file(task, folder)
        for place, row in folder.rows(path) if path else ():
            try:
                text = _filled(task.get("doc_to_text"), row)
                expected = _expected(task, row, folder)
            except (TemplateFailed, ValueError) as error:
                folder.problems.append(place.problem("template", str(error), found=shown(row)))
                continue
            asked = SingleTurn(message=text)
            yield place, Case(id=ids.of(text), input=asked, expectations=expected, metadata={"doc": row})


def _task(path: Path, folder: ToolFolder, depth: int = 0) -> Row:
    """The task with what it includes."""
    own = object_in(folder.document(path).value)
    names = own.pop("include", None) or []
    for name in (names if isinstance(names, list) else [names]) if depth < 5 else ():
        inner = folder.find(str(name), Spot(str(path)).below("include"))
        own = {**(_task(inner, folder, depth + 1) if inner else {}), **own}
    return own


def _data_file(task: Row, folder: ToolFolder) -> Path | None:
    spot, where = Spot(str(folder.path)), str(task.get("dataset_path") or "")
    files = object_in(task.get("dataset_kwargs")).get("data_files")
    if isinstance(files, dict):
        split = next((str(task[name]) for name in SPLITS if task.get(name) and str(task[name]) in files), "")
        files = files.get(split) or next(iter(files.values()), None)
    name = files[0] if isinstance(files, list) and files else files
    if where not in LOCAL or not isinstance(name, str):
        message = f"the data of this task is not here: {where or 'it names none'} is on the Hugging Face Hub"
        hint = "save the split as JSON lines beside this file; write dataset_path: json and dataset_kwargs.data_files"
        folder.problems.append(spot.below("dataset_path").problem("data-elsewhere", message, found=where, hint=hint))
        return None
    return folder.find(name, spot.below("dataset_kwargs", "data_files"))


def _filled(raw: Any, row: Row) -> str:
    """A template with the values of a row, or a column by its name."""
    if isinstance(raw, TagValue):
        raise ValueError(f"{raw.tag} {raw.text} {IS_CODE}")
    return text_of(row[raw]) if isinstance(raw, str) and raw in row else fill(text_of(raw), row, JINJA)


def _expected(task: Row, row: Row, folder: ToolFolder) -> tuple[Expectation, ...]:
    target = _filled(task.get("doc_to_target"), row).strip()
    if task.get("output_type", "generate_until") == "multiple_choice":
        raw = task.get("doc_to_choice")
        texts = [fill(str(each), row, JINJA) for each in raw] if isinstance(raw, list) else value_in(str(raw), row)
        if not isinstance(texts, list):
            raise ValueError(f"`doc_to_choice` is no list here: {raw}")
        choices = lettered([text_of(each) for each in texts])
        named = [each.id for each in choices if each.text == target]
        named = [choices[int(target)].id] if target.isdigit() and int(target) < len(choices) else named
        if not named:
            raise ValueError(f"the target {target!r} is no choice of {len(texts)}")
        return (CorrectChoice(choices=choices, correct=(named[0],)),)
    metrics = {str(each.get("metric")): each for each in task.get("metric_list") or [{"metric": "exact_match"}]}
    final = target.rpartition(FINAL)[2].strip()
    if "exact_match" in metrics and (number := read_number(final)) is not None:
        return (NumericAnswer(values=(number,)),)
    if "exact_match" in metrics and final:
        return (ExactText(values=(final,), ignore_case=bool(metrics["exact_match"].get("ignore_case"))),)
    if target:
        folder.lack(f"metric {', '.join(metrics)}", why="is judged as `reference_answer`")
    return (ReferenceAnswer(answers=(target,)),) if target else ()
