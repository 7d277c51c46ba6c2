"""Typed `legal_eval_v1` rows, decoded straight from a line, and the Cases they stand for.

Nested objects are decoded into the model's own classes where the names agree. Whether a row is sound is asked in
legal_bulk.py, of many at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from msgspec import UNSET, Struct, UnsetType

from howsure.dialects import extras
from howsure.model.case import Attachment, Case, SingleTurn, World
from howsure.model.expectation import Choice, CorrectChoice, Criterion, Expectation, ReferenceAnswer, WeightedCriteria
from howsure.model.transcript import Message


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

    def expectation(self) -> WeightedCriteria:
        criteria = tuple([one.criterion() for one in self.rubric])
        return WeightedCriteria(criteria=criteria, references=self.reference_answers or ())


class ReferenceRow(Row, frozen=True, kw_only=True, gc=False, tag="reference_qa"):
    task = "reference_qa"
    reference_answers: tuple[str, ...]

    def expectation(self) -> ReferenceAnswer:
        return ReferenceAnswer(answers=self.reference_answers)


class McqRow(Row, frozen=True, kw_only=True, gc=False, tag="mcq"):
    task = "mcq"
    choices: tuple[Choice, ...]
    correct_choice_ids: tuple[str, ...]

    def expectation(self) -> CorrectChoice:
        return CorrectChoice(choices=self.choices, correct=self.correct_choice_ids)


AnyRow = RubricRow | ReferenceRow | McqRow
