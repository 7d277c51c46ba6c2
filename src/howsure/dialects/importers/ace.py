"""ACE: everyday tasks with criteria, one CSV row for each criterion. docs/importers.md.

The published files give no weights; a column `Weight` is read where there is one. A hurdle decides whether anything is
earned at all, which no weight can say: it is kept among the notes of its criterion, and counts like the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from howsure.dialects.importers.fields import Fields
from howsure.dialects.importers.records import BenchmarkImporter
from howsure.dialects.json_places import Spot
from howsure.dialects.legal_rows import CriterionRow
from howsure.dialects.lines import Row, Watch
from howsure.dialects.wording import shown
from howsure.errors import Problem
from howsure.model.case import Case

_TASK = ("Task ID", "Prompt", "Specified Prompt", "Workflow")
"""What the rows of one task repeat."""


class AceImporter(BenchmarkImporter):
    """CSV (or JSONL) with one criterion a row."""

    name = "ace"
    telling = frozenset({"Criterion ID", "Task ID", "Prompt", "Description"})

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        tasks: dict[str, _Task] = {}
        for spot, row in self.records(path, watch):
            if isinstance(row, Problem):
                yield row
            else:
                yield from _add(tasks, row, spot)
        for task in tasks.values():
            if task.sound:
                yield self._case(task)

    def _case(self, task: _Task) -> Case:
        prompt = task.shared["Specified Prompt"] or task.shared["Prompt"]
        metadata: dict[str, Any] = {"workflow": task.shared["Workflow"], "criteria": task.notes}
        if prompt != task.shared["Prompt"]:
            metadata["prompt_in_source"] = task.shared["Prompt"]
        kept = {name: value for name, value in metadata.items() if value}
        return self.rubric_row(task.id, prompt, kept, tuple(task.criteria)).case()


class _Task:
    """One task, gathered row by row."""

    def __init__(self, id: str, shared: dict[str, str], spot: Spot) -> None:
        self.id = id
        self.shared = shared
        self.spot = spot
        self.sound = True
        self.criteria: list[CriterionRow] = []
        self.notes: dict[str, Any] = {}
        self.ids: dict[str, int | None] = {}


def _add(tasks: dict[str, _Task], row: Row, spot: Spot) -> Iterator[Problem]:
    fields = Fields(row, spot)
    id = fields.text("Task ID")
    shared = {"Task ID": id, "Prompt": fields.text("Prompt")}
    shared |= {name: fields.optional(name) for name in _TASK[2:]}
    task = tasks.setdefault(id, _Task(id, shared, spot))
    for name, value in shared.items():
        if value != task.shared[name]:
            message = f"differs from line {task.spot.line}, which is about the same task"
            fields.wrong(name, "contradiction", message, expected=shown(task.shared[name]), found=shown(value))
    criterion, text = fields.text("Criterion ID"), fields.text("Description")
    weight = fields.weight("Weight")
    if criterion in task.ids:
        message = f"the criterion id {shown(criterion)} stands on line {task.ids[criterion]} already"
        fields.wrong("Criterion ID", "duplicate-criterion-id", message, found=shown(criterion))
    task.ids[criterion] = spot.line
    task.sound = task.sound and fields.sound
    yield from fields.problems
    if fields.sound:
        task.criteria.append(CriterionRow(id=criterion, title=text, weight=weight))
        if notes := fields.metadata():
            task.notes[criterion] = notes
