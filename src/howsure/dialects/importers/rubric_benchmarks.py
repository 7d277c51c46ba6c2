"""Benchmarks with rubrics (docs/importers.md).

PRBench: professional questions with weighted criteria, as conversations of up to ten turns. The weight of a criterion
is the one that its `weight_class` names; the other weight columns are earlier choices of annotators, and do not count.

ACE: everyday tasks, one CSV row for each criterion. The published files give no weights; a column `Weight` is read
where there is one. A hurdle, which decides whether anything is earned at all, is kept among the notes of its criterion
and counts like the others, because no weight can express it.

APEX: professional tasks with documents and weighted criteria. A criterion is its `description`; the `justification`
beside it is never judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import UNSET, UnsetType

from howsure.dialects.base import Watch
from howsure.dialects.importers.records import BenchmarkImporter, RecordFields, finite_number, is_empty, question_hash
from howsure.dialects.legal_rows import CriterionRow, RubricRow
from howsure.dialects.lines import Row
from howsure.dialects.problems import Spot, shown
from howsure.errors import Problem
from howsure.model.case import Case
from howsure.model.expectation import text_id
from howsure.model.transcript import Message, Role

TURNS = 10
_WEIGHT = re.compile(r"(critically_|slightly_)?(important|detrimental)_weight")
_REFERENCES = re.compile(r"(?>(?:(?!reference)\w)*)reference\w*(?P<turn>[0-9])", re.IGNORECASE)


class PrBenchImporter(BenchmarkImporter):
    """JSONL, JSON or CSV of PRBench rows."""

    name = "prbench"
    telling = frozenset({"prompt_0", "rubric"})
    id_field = "task"

    def row(self, fields: RecordFields) -> RubricRow | None:
        references = _references(fields)
        turns = _turns(fields)
        id = fields.optional("task") or fields.optional("id")
        rubric = _Rubric(fields)
        if not turns:
            return None
        *earlier, (last, prompt, answered) = turns
        messages: list[Message] = []
        for number, text, response in earlier:
            texts = _numbered(references.get(number, []))
            messages.append(Message(role=Role.USER, content=f"{texts}\n\n{text}" if texts else text))
            if response:
                messages.append(Message(role=Role.ASSISTANT, content=response))
        return self.rubric_row(
            id or question_hash(*(text for _, prompt, reply in turns for text in (prompt, reply))),
            prompt,
            fields.metadata("prbench_v1", criteria=rubric.notes, answer_in_source=answered),
            tuple(rubric.criteria),
            context=_numbered(references.get(last, [])),
            messages=tuple(messages),
        )


def _references(fields: RecordFields) -> dict[int, list[str]]:
    """Reference texts by turn, from the digit at the end of their column."""
    references: dict[int, list[str]] = {}
    for column in [name for name in fields.left if _REFERENCES.fullmatch(name)]:
        raw = fields.left[column]
        if is_empty(raw):
            continue
        listed = fields.structured(column, list)
        texts = [text.strip() for text in listed or () if isinstance(text, str) and text.strip()]
        references.setdefault(int(column[-1]), []).extend(texts)
    return references


def _turns(fields: RecordFields) -> list[tuple[int, str, str]]:
    """Number, prompt and response of each turn."""
    turns = [
        (number, fields.optional(f"prompt_{number}"), fields.optional(f"response_{number}")) for number in range(TURNS)
    ]
    prompted = [turn for turn in turns if turn[1]]
    if not prompted:
        fields.wrong("prompt_0", "missing-field", "there is no prompt", expected="a text", found="nothing")
    for place, (number, _, _) in enumerate(prompted):
        if place != number:
            message = f"`prompt_{number}` stands without `prompt_{place}`"
            fields.wrong(f"prompt_{place}", "missing-field", message, expected="turns without gaps")
            break
    return prompted


def _numbered(texts: list[str]) -> str:
    return "\n\n".join(f"Reference text {place}:\n{text}" for place, text in enumerate(texts, start=1))


class _Rubric:
    """The criteria of one row; `notes` are the annotators' remarks on each, by its id."""

    def __init__(self, fields: RecordFields) -> None:
        self.criteria: list[CriterionRow] = []
        self.notes: dict[str, Any] = {}
        self._fields = fields
        self._ids: set[str] = set()
        listed = fields.structured("rubric", list)
        if listed == []:
            fields.wrong("rubric", "empty", "a rubric needs a criterion", expected="criteria", found="[]")
        for place, one in enumerate(listed or ()):
            self._read(one, RecordFields(one if isinstance(one, dict) else {}, fields.spot.below("rubric", place)))

    def _read(self, raw: Any, one: RecordFields) -> None:
        if not isinstance(raw, dict):
            one.wrong("", "wrong-type", "must be an object", expected="object", found=shown(raw))
        annotations = one.left.pop("annotations", None)
        notes = dict(annotations) if isinstance(annotations, dict) else {}
        explained = str(notes.pop("criteria_description", None) or "").strip()
        text = one.optional("title") or explained
        id = one.optional("id") or (text_id(text) if text else "")
        if not text and one.sound:
            one.wrong("title", "missing-field", "`title` is required", expected="what is to be judged")
        if id in self._ids:
            one.wrong("id", "duplicate-criterion-id", f"the criterion id {shown(id)} stands twice", found=shown(id))
        self._ids.add(id)
        weight = _weight(notes, one)
        self._fields.problems += one.problems
        if one.sound:
            description = explained if explained != text and explained else UNSET
            self.criteria.append(CriterionRow(id=id, title=text, description=description, weight=weight))
            filled = {name: value for name, value in notes.items() if not is_empty(value)}
            if remarks := one.metadata() | filled:
                self.notes[id] = remarks


def _weight(notes: dict[str, Any], one: RecordFields) -> float | UnsetType:
    """The weight of the named class; without one, the only weight there is."""
    if not is_empty(one.left.get("weight")):
        return one.weight()
    weights = {
        name: value
        for name, value in notes.items()
        if _WEIGHT.fullmatch(name)
        and (isinstance(value, int | float) and not isinstance(value, bool) and finite_number(value))
    }
    named = str(notes.get("weight_class") or "").strip().lower().replace(" ", "_")
    column = f"{named}_weight" if named else next(iter(weights), "")
    if named and column not in weights:
        message = f"the weight class is {shown(notes['weight_class'])}, and `{column}` is missing"
        one.wrong("annotations", "missing-field", message, expected=column, found=", ".join(weights) or "no weight")
    elif not named and len(weights) > 1:
        message = "has several weights and no `weight_class` that tells which one counts"
        one.wrong("annotations", "ambiguous-weight", message, expected="weight_class", found=", ".join(weights))
    return float(weights[column]) if column in weights else UNSET


_TASK = ("Task ID", "Prompt", "Specified Prompt", "Workflow")
"""The columns that all rows of one task repeat."""


class AceImporter(BenchmarkImporter):
    """CSV (or JSONL) with one criterion a row."""

    name = "ace"
    telling = frozenset({"Criterion ID", "Task ID", "Prompt", "Description"})

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        tasks: dict[str, _AceTask] = {}
        for spot, row in self.records(path, watch):
            if isinstance(row, Problem):
                yield row
            else:
                yield from _add(tasks, row, spot)
        for task in tasks.values():
            if task.sound:
                source = task.shared["Prompt"]
                prompt = task.shared["Specified Prompt"] or source
                metadata: dict[str, Any] = {"workflow": task.shared["Workflow"], "criteria": task.notes}
                if prompt != source:
                    metadata["prompt_in_source"] = source
                filled = {name: value for name, value in metadata.items() if value}
                yield self.rubric_row(task.id, prompt, filled, tuple(task.criteria)).case()


class _AceTask:
    """One task, gathered row by row."""

    def __init__(self, id: str, shared: dict[str, str], spot: Spot) -> None:
        self.id = id
        self.shared = shared
        self.spot = spot
        self.sound = True
        self.criteria: list[CriterionRow] = []
        self.notes: dict[str, Any] = {}
        self.ids: dict[str, int | None] = {}


def _add(tasks: dict[str, _AceTask], row: Row, spot: Spot) -> Iterator[Problem]:
    fields = RecordFields(row, spot)
    id = fields.text("Task ID")
    shared = {"Task ID": id, "Prompt": fields.text("Prompt")}
    shared |= {name: fields.optional(name) for name in _TASK[2:]}
    task = tasks.setdefault(id, _AceTask(id, shared, spot))
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


RUBRIC = "Rubric JSON"
FILES = ("File Attachments", "Attachments", "attachment")


class ApexImporter(BenchmarkImporter):
    """JSONL, JSON or CSV of APEX rows."""

    name = "apexv1"
    telling = frozenset({"Prompt", RUBRIC})
    id_field = "Task ID"

    def row(self, fields: RecordFields) -> RubricRow | None:
        prompt = fields.text("Prompt")
        id = fields.optional("Task ID")
        attachments = fields.attachments(FILES)
        notes: dict[str, Any] = {}
        listed = fields.structured(RUBRIC, dict)
        if listed == {}:
            fields.wrong(RUBRIC, "empty", "a rubric needs a criterion", expected="criteria by name", found="{}")
        criteria = [_criterion(fields, key, raw, notes) for key, raw in (listed or {}).items()]
        if not prompt:
            return None
        return self.rubric_row(
            id or question_hash(prompt, *(attachment.path for attachment in attachments)),
            prompt,
            fields.metadata("apexv1_extended_v1", criteria=notes),
            tuple(one for one in criteria if one is not None),
            attachments=attachments,
        )


def _criterion(fields: RecordFields, key: str, raw: Any, notes: dict[str, Any]) -> CriterionRow | None:
    one = RecordFields(raw if isinstance(raw, dict) else {}, fields.spot.below(RUBRIC, key))
    if not isinstance(raw, dict):
        one.wrong("", "wrong-type", "must be an object", expected="object", found=shown(raw))
    text = one.text("description") if isinstance(raw, dict) else ""
    why = one.optional("justification")
    weight = one.weight()
    id = key.strip()
    if not id:
        one.wrong("", "empty", "a criterion needs a name", expected="a text", found=shown(key))
    fields.problems += one.problems
    if not one.sound:
        return None
    if remarks := one.metadata():
        notes[id] = remarks
    return CriterionRow(id=id, title=text, description=why or UNSET, weight=weight)
