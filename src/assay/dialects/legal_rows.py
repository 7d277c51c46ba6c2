"""Typed `legal_eval_v1` rows, decoded straight from a line, and the Cases they stand for.

Nested objects are decoded into the model's own classes where the names agree. `sure_keys` is the heart of the fast
path: it looks at a decoded row and counts the keys that its line must have, if it is to have neither unknown fields nor
repeated ones; 0 means that something is wrong with the row. It is written for speed: it runs for every row of a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from assay.dialects import extras
from assay.dialects.legal_schema import FORBIDDEN
from assay.dialects.strict_json import count_keys
from assay.model.case import Attachment, Case, SingleTurn, World
from assay.model.expectation import Choice, CorrectChoice, Criterion, Expectation, ReferenceAnswer, WeightedCriteria
from assay.model.transcript import Message


class CriterionRow(Struct, frozen=True, gc=False):
    """One criterion of a rubric."""

    id: str
    title: str
    description: str | UnsetType = UNSET
    weight: float | UnsetType = UNSET

    def criterion(self) -> Criterion:
        weight = None if self.weight is UNSET else self.weight
        return Criterion(id=self.id, text=self.title, description=self.description or "", weight=weight)


class Row(Struct, frozen=True, kw_only=True, gc=False, tag_field="task_type"):
    """What all task types share."""

    task: ClassVar[str]
    schema_version: Literal["legal_eval_v1"]
    id: str
    dataset: str
    prompt: str
    context: str | UnsetType = UNSET
    messages: tuple[Message, ...] | UnsetType = UNSET
    attachments: tuple[Attachment, ...] | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET

    def expectation(self) -> Expectation:
        raise NotImplementedError

    def sure_keys(self) -> int:
        raise NotImplementedError

    def case(self, kept: Mapping[str, Any] | None = None) -> Case:
        """`kept` are the fields nobody knows, by JSON Pointer."""
        labels = {"dataset": self.dataset, "task_type": self.task}
        metadata = self.metadata or {}
        policy = metadata.get("policy_id")
        if isinstance(policy, str):
            labels["policy_id"] = policy
        if kept:
            metadata = {**metadata, extras.KEY: dict(kept)}
        return Case(
            id=self.id,
            input=SingleTurn(
                message=self.prompt,
                context=self.context or "",
                history=self.messages or (),
                attachments=self.attachments or (),
            ),
            expectations=(self.expectation(),),
            world=World.LEGAL,
            labels=labels,
            metadata=metadata,
        )


class RubricRow(Row, frozen=True, kw_only=True, gc=False, tag="rubric_qa"):
    task = "rubric_qa"
    rubric: tuple[CriterionRow, ...]
    reference_answers: tuple[str, ...] | UnsetType = UNSET

    def sure_keys(self) -> int:
        if not self.rubric:
            return 0
        ids, titles, descriptions, weights = zip(*map(_CRITERION_FIELDS, self.rubric), strict=True)
        if len(set(ids)) != len(ids) or not all(map(str.strip, ids)) or not all(map(str.strip, titles)):
            return 0
        count = _shared_keys(self) + 1 + 4 * len(ids) - descriptions.count(UNSET) - weights.count(UNSET)
        if self.reference_answers is UNSET:
            return count
        return count + 1 if all(map(str.strip, self.reference_answers)) else 0

    def expectation(self) -> WeightedCriteria:
        criteria = tuple([one.criterion() for one in self.rubric])
        return WeightedCriteria(criteria=criteria, references=self.reference_answers or ())


class ReferenceRow(Row, frozen=True, kw_only=True, gc=False, tag="reference_qa"):
    task = "reference_qa"
    reference_answers: tuple[str, ...]

    def sure_keys(self) -> int:
        answers = self.reference_answers
        return _shared_keys(self) + 1 if answers and all(map(str.strip, answers)) else 0

    def expectation(self) -> ReferenceAnswer:
        return ReferenceAnswer(answers=self.reference_answers)


class McqRow(Row, frozen=True, kw_only=True, gc=False, tag="mcq"):
    task = "mcq"
    choices: tuple[Choice, ...]
    correct_choice_ids: tuple[str, ...]

    def sure_keys(self) -> int:
        ids = set(map(_CHOICE_ID, self.choices))
        count, correct = len(self.choices), self.correct_choice_ids
        if len(ids) != count or count < 2 or not all(map(str.strip, ids)):
            return 0
        if not correct or not ids.issuperset(correct) or len(set(correct)) != len(correct):
            return 0
        return _shared_keys(self) + 2 + 2 * count

    def expectation(self) -> CorrectChoice:
        return CorrectChoice(choices=self.choices, correct=self.correct_choice_ids)


AnyRow = RubricRow | ReferenceRow | McqRow
_CHOICE_ID = attrgetter("id")
_CRITERION_FIELDS = attrgetter("id", "title", "description", "weight")
decode = msgspec.json.Decoder(AnyRow).decode
_NEVER = -(1 << 60)
"""Added to a count, it fits no line."""


def _shared_keys(row: Row) -> int:
    """The keys outside of what a task type adds; far below zero where something is wrong."""
    if not (row.id.strip() and row.dataset.strip() and row.prompt.strip()):
        return _NEVER
    count = 5
    metadata = row.metadata
    if metadata is not UNSET:
        count += 1 + (_NEVER if extras.KEY in metadata else count_keys(metadata, 2))
    if row.context is not UNSET:
        count += 1
    if row.messages is not UNSET:
        count += 1 + sum([2 if message.content.strip() else _NEVER for message in row.messages])
    if row.attachments is not UNSET:
        count += 1 + sum([_attachment_keys(one) for one in row.attachments])
    return count


def _attachment_keys(attachment: Attachment) -> int:
    return 1 + (attachment.kind != "") + (attachment.title != "") if attachment.path.strip() else _NEVER


def valid_row(value: Mapping[str, Any]) -> AnyRow | None:
    """The row that a decoded object stands for, where it fulfils the schema; fields nobody knows do not matter."""
    try:
        row: AnyRow = msgspec.convert(value, AnyRow)
    except msgspec.ValidationError:
        return None
    return row if row.sure_keys() > 0 and FORBIDDEN[row.task].isdisjoint(value) else None
