"""Writing `legal_eval_v1` rows. A case that holds what the format has no place for is refused, never cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.dialects import extras
from assay.dialects.documents import Reason, beyond, checking, foreign_expectations
from assay.dialects.legal_schema import VERSION
from assay.model.case import Attachment, Case, SingleTurn
from assay.model.expectation import CorrectChoice, Criterion, ReferenceAnswer, WeightedCriteria
from assay.model.transcript import Message

_GRADED = (CorrectChoice, WeightedCriteria, ReferenceAnswer)
_LABELS = {"dataset", "task_type", "policy_id"}


def legal_rows(cases: Iterable[Case], path: Path) -> Iterator[dict[str, Any]]:
    """The rows, or a DatasetInvalid with every reason why there are none."""
    return (_row(case) for case in checking(cases, path, unwritable))


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


def _row(case: Case) -> dict[str, Any]:
    question = case.input
    assert isinstance(question, SingleTurn)  # checked above
    task, graded = _task(case)
    metadata = {key: value for key, value in case.metadata.items() if key != extras.KEY}
    optional: dict[str, Any] = {
        "context": question.context,
        "messages": [_message(message) for message in question.history],
        "attachments": [_attachment(attachment) for attachment in question.attachments],
    }
    row = {
        "schema_version": VERSION,
        "id": case.id,
        "dataset": case.labels["dataset"],
        "task_type": task,
        "prompt": question.message,
        **{field: value for field, value in optional.items() if value},
        **graded,
        **({"metadata": metadata} if metadata else {}),
    }
    extras.put_back(row, case.metadata.get(extras.KEY, {}))
    return row


def _task(case: Case) -> tuple[str, dict[str, Any]]:
    match case.expectations[0]:
        case CorrectChoice(choices=choices, correct=correct):
            listed = [{"id": choice.id, "text": choice.text} for choice in choices]
            return "mcq", {"choices": listed, "correct_choice_ids": list(correct)}
        case WeightedCriteria(criteria=criteria, references=references):
            answers = {"reference_answers": list(references)} if references else {}
            return "rubric_qa", {"rubric": [_criterion(one) for one in criteria], **answers}
        case ReferenceAnswer(answers=answers):
            return "reference_qa", {"reference_answers": list(answers)}
        case other:
            raise TypeError(f"not a legal expectation: {other!r}")


def _criterion(criterion: Criterion) -> dict[str, Any]:
    optional: Mapping[str, Any] = {"description": criterion.description or None, "weight": criterion.weight}
    given = {field: value for field, value in optional.items() if value is not None}
    return {"id": criterion.id, "title": criterion.text, **given}


def _message(message: Message) -> dict[str, str]:
    return {"role": message.role.value, "content": message.content}


def _attachment(attachment: Attachment) -> dict[str, str]:
    optional = {"kind": attachment.kind, "title": attachment.title}
    return {"path": attachment.path, **{field: value for field, value in optional.items() if value}}
