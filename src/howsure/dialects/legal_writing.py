"""Writing `legal_eval_v1` rows. A case that holds what the format has no place for is refused, never cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from sys import float_info
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from howsure.dialects import extras
from howsure.dialects.documents import Reason, beyond, checking, foreign_expectations
from howsure.dialects.legal_bulk import sure_parts
from howsure.dialects.legal_rows import CriterionRow
from howsure.dialects.legal_schema import VERSION
from howsure.model.case import Attachment, Case, SingleTurn
from howsure.model.expectation import Choice, CorrectChoice, Criterion, ReferenceAnswer, WeightedCriteria
from howsure.model.transcript import Message

_GRADED = (CorrectChoice, WeightedCriteria, ReferenceAnswer)
_LABELS = {"dataset", "task_type", "policy_id"}


class Line(Struct, frozen=True, kw_only=True, gc=False):
    """What a line says, in the order in which it says it."""

    schema_version: str = VERSION
    id: str
    dataset: str
    task_type: str
    prompt: str
    context: str | UnsetType = UNSET
    messages: list[dict[str, str]] | UnsetType = UNSET
    attachments: list[dict[str, str]] | UnsetType = UNSET
    choices: tuple[Choice, ...] | UnsetType = UNSET
    correct_choice_ids: tuple[str, ...] | UnsetType = UNSET
    rubric: list[CriterionRow] | UnsetType = UNSET
    reference_answers: tuple[str, ...] | UnsetType = UNSET
    metadata: Mapping[str, Any] | UnsetType = UNSET


def legal_rows(cases: Iterable[Case], path: Path) -> Iterator[Line | dict[str, Any]]:
    """The rows, or a DatasetInvalid with every reason why there are none."""
    return (_row(case) for case in checking(cases, path, unwritable))


def sure_lines(rows: Sequence[Any]) -> bool:
    """Whether it is certain that all of these can be read: they are lines without messages and documents, of the right
    types, with nothing blank, repeated or unknown in them."""
    if not all(type(row) is Line and row.messages is UNSET and row.attachments is UNSET for row in rows):
        return False
    kinds: dict[str, list[Line]] = {"mcq": [], "rubric_qa": [], "reference_qa": []}
    for row in rows:
        kinds[row.task_type].append(row)
    criteria = [one for row in kinds["rubric_qa"] for one in row.rubric or ()]
    loose = [row.context for row in rows] + [one.description for one in criteria]
    loose += [one.text for row in kinds["mcq"] for one in row.choices or ()]
    weights = [one.weight for one in criteria if one.weight is not UNSET]
    try:
        return (
            all(map(str.strip, [text for row in rows for text in (row.id, row.dataset, row.prompt)]))
            and set(map(type, loose)) <= {str, UnsetType}
            and set(map(type, weights)) <= {int, float}
            and all(abs(weight) <= float_info.max for weight in weights)
            and sure_parts(
                kinds["mcq"],
                kinds["rubric_qa"],
                kinds["reference_qa"],
                [row.metadata for row in rows if row.metadata is not UNSET],
            )
        )
    except (TypeError, AttributeError):
        return False  # something is of another type than a case says


def unwritable(case: Case) -> Iterator[Reason]:
    """Why the format cannot hold the case; nothing where it can."""
    if not _is_plain(case):
        yield from _reasons(case)


def _is_plain(case: Case) -> bool:
    """Whether a look is enough to see that it can: most cases are legal ones."""
    question, labels = case.input, case.labels
    return (
        type(question) is SingleTurn
        and not question.history
        and len(case.expectations) == 1
        and type(case.expectations[0]) in _GRADED
        and bool(labels.get("dataset"))
        and labels.keys() <= _LABELS
        and not (case.name or case.profile or case.tags or case.tools or case.recorded)
    )


def _reasons(case: Case) -> Iterator[Reason]:
    if not isinstance(case.input, SingleTurn):
        yield "input", f"legal files hold single questions, not a {type(case.input).__name__}"
    elif any(message.tool_calls or message.agent for message in case.input.history):
        yield "input.history", "legal files have no place for tool calls and agents in messages"
    yield from foreign_expectations(case, _GRADED, "legal")
    if len(case.expectations) != 1:
        yield "expectations", f"a legal row needs exactly one expectation, not {len(case.expectations)}"
    if not case.labels.get("dataset"):
        yield "labels.dataset", "a legal row names its dataset"
    for name in case.labels.keys() - _LABELS:
        yield f"labels.{name}", "legal files have no place for this label"
    yield from beyond(case, ("name", "profile", "tags", "tools", "recorded"), "legal")


def _row(case: Case) -> Line | dict[str, Any]:
    """Fields that nobody knows are put back where they stood, which takes more than a line's own fields."""
    if extras.KEY not in case.metadata:
        return _line(case, case.metadata)
    known = {key: value for key, value in case.metadata.items() if key != extras.KEY}
    row: dict[str, Any] = msgspec.to_builtins(_line(case, known))
    extras.put_back(row, case.metadata[extras.KEY])
    return row


def _line(case: Case, metadata: Mapping[str, Any]) -> Line:
    question = case.input
    assert isinstance(question, SingleTurn)  # checked above
    task, graded = _task(case)
    return Line(
        id=case.id,
        dataset=case.labels["dataset"],
        task_type=task,
        prompt=question.message,
        context=question.context or UNSET,
        messages=[_message(message) for message in question.history] or UNSET,
        attachments=[_attachment(attachment) for attachment in question.attachments] or UNSET,
        metadata=metadata or UNSET,
        **graded,
    )


def _task(case: Case) -> tuple[str, dict[str, Any]]:
    match case.expectations[0]:
        case CorrectChoice(choices=choices, correct=correct):
            return "mcq", {"choices": choices, "correct_choice_ids": correct}
        case WeightedCriteria(criteria=criteria, references=references):
            return "rubric_qa", {
                "rubric": [_criterion(one) for one in criteria],
                "reference_answers": references or UNSET,
            }
        case ReferenceAnswer(answers=answers):
            return "reference_qa", {"reference_answers": answers}
        case other:
            raise TypeError(f"not a legal expectation: {other!r}")


def _criterion(criterion: Criterion) -> CriterionRow:
    weight = criterion.weight
    return CriterionRow(
        criterion.id, criterion.text, criterion.description or UNSET, UNSET if weight is None else weight
    )


def _message(message: Message) -> dict[str, str]:
    return {"role": message.role.value, "content": message.content}


def _attachment(attachment: Attachment) -> dict[str, str]:
    optional = {"kind": attachment.kind, "title": attachment.title}
    return {"path": attachment.path, **{field: value for field, value in optional.items() if value}}
