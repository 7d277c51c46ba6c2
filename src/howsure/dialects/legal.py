"""The `legal` dialect: JSONL of `legal_eval_v1` rows (docs/dialects/legal.md describes every field and problem).

Lines are decoded straight into typed rows and checked cheaply, many at once (legal_rows.py). A line that fails any
check is read again slowly, by the schema, to name every problem and to keep unknown fields. A case that the format
cannot hold is refused when it is written, never cut. Attachments must be inside the dataset's folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from sys import float_info
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from howsure.config import FILE
from howsure.dialects import extras
from howsure.dialects.base import Watch, WatchedDialect
from howsure.dialects.ids import SeenIds
from howsure.dialects.legal_rows import SCHEMA, VERSION, AnyRow, CriterionRow, sound_rows, sure_parts, valid_row
from howsure.dialects.lines import line_groups, not_an_object
from howsure.dialects.problems import SchemaChecker, Spot, did_you_mean, shown
from howsure.dialects.strict_json import BOM, head_keys, parse_json
from howsure.dialects.writers import Reason, fields_without_place, foreign_expectations, iter_writable, write_checked
from howsure.errors import Level, Problem
from howsure.judges.attachment_paths import path_refusal
from howsure.judges.dataset_policies import DEFAULT_POLICY, POLICIES, POLICY_ID
from howsure.model.case import Case, SingleTurn
from howsure.model.dataset_policy import DatasetPolicy
from howsure.model.expectation import Choice, CorrectChoice, ReferenceAnswer, WeightedCriteria

Placed = tuple[tuple[str | int, ...], str]
"""A path, and the id at that place."""
Policies = Mapping[str, DatasetPolicy]


def row_problems(
    row: Mapping[str, Any], spot: Spot, ids: SeenIds, folder: Path, policies: Policies
) -> Iterator[Problem]:
    id = row.get("id")
    if isinstance(id, str) and spot.line is not None and not ids.is_new(id, spot.line):
        yield ids.repeated(id, spot)
    choices = _placed_ids(row, "choices")
    yield from _repeated(choices, spot, "choice")
    yield from _repeated(_placed_ids(row, "rubric"), spot, "criterion")
    yield from _correct(row, {id for _, id in choices}, spot)
    for index, one in enumerate(_objects(row, "rubric")):
        weight = one.get("weight")
        if isinstance(weight, int) and abs(weight) > float_info.max:
            place = spot.below("rubric", index, "weight")
            yield place.problem("out-of-range", "is too large for a weight", found=shown(weight))
    paths = [one.get("path") for one in _objects(row, "attachments")]
    yield from path_problems(paths, folder, spot)
    metadata = row["metadata"] if isinstance(row.get("metadata"), dict) else {}
    if extras.KEY in metadata:
        message = f"the key `{extras.KEY}` is reserved: unknown fields are kept under it"
        yield spot.below("metadata", extras.KEY).problem("reserved-key", message, hint="rename it")
    policy = metadata.get(POLICY_ID)
    if isinstance(policy, str) and policy not in policies:
        found, known = shown(policy), ", ".join(policies)
        message = f"there is no policy {found}; known: {known}"
        hint = (
            did_you_mean(policy, policies) or f"leave it out for the default, or write it under `policies:` in {FILE}"
        )
        place = spot.below("metadata", POLICY_ID)
        yield place.problem("unknown-policy", message, expected=known, found=found, hint=hint)


def knows_policies(rows: Iterable[Any], policies: Policies) -> bool:
    """Whether every policy that these valid rows name is known."""
    return policies.keys() >= {(row.metadata or {}).get(POLICY_ID, DEFAULT_POLICY) for row in rows}


def path_problems(paths: Iterable[Any], folder: Path, spot: Spot) -> Iterator[Problem]:
    """Problems with the paths of attachments, in their order."""
    for index, path in enumerate(paths):
        if isinstance(path, str) and path.strip():
            yield from attachment_problems(path, folder, spot.below("attachments", index, "path"))


def attachment_problems(path: str, folder: Path, spot: Spot) -> Iterator[Problem]:
    """`attachment-escapes` where the path leads out of `folder`, `attachment-private` where it names what no case may
    show; a warning where there is no such file."""
    code, reason = path_refusal(path, folder)
    if reason:
        hint = "put the document in the dataset's folder and name it relative to that"
        yield spot.problem(code, reason, expected="a document inside the folder", found=shown(path), hint=hint)
    elif not os.path.isfile(folder / path):
        yield spot.warning("attachment-missing", "there is no such file", found=shown(path), hint=f"looked in {folder}")


def _objects(row: Mapping[str, Any], field: str) -> list[dict[str, Any]]:
    """The elements of a list; an empty object for an element that is not an object."""
    elements = row.get(field)
    return [one if isinstance(one, dict) else {} for one in elements] if isinstance(elements, list) else []


def _placed_ids(row: Mapping[str, Any], field: str) -> list[Placed]:
    listed = enumerate(_objects(row, field))
    return [((field, index, "id"), one["id"]) for index, one in listed if isinstance(one.get("id"), str)]


def _repeated(ids: Iterable[Placed], spot: Spot, what: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for path, id in ids:
        if id in seen:
            message = f"the {what} id {shown(id)} stands twice"
            yield spot.below(*path).problem(f"duplicate-{what}-id", message, found=shown(id), hint="ids must be unique")
        seen.add(id)


def _correct(row: Mapping[str, Any], choices: set[str], spot: Spot) -> Iterator[Problem]:
    listed = row.get("correct_choice_ids")
    numbered = enumerate(listed if isinstance(listed, list) else ())
    named: list[Placed] = [(("correct_choice_ids", index), id) for index, id in numbered if isinstance(id, str)]
    yield from _repeated(named, spot, "correct")
    for path, id in named:
        if choices and id not in choices and id.strip():
            message, known = f"no choice has the id {shown(id)}", ", ".join(sorted(choices))
            yield spot.below(*path).problem("unknown-correct-id", message, expected=known, found=shown(id))


_GRADED = (CorrectChoice, WeightedCriteria, ReferenceAnswer)
_LABELS = {"dataset", "task_type", "policy_id"}


class LegalLine(Struct, frozen=True, kw_only=True, gc=False):
    """The fields of a line, in the order in which they are written."""

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


def sure_lines(rows: Sequence[Any]) -> bool:
    """Whether all of these can certainly be read again: they are lines without messages and documents, of the right
    types, with nothing blank, repeated or unknown in them."""
    if not all(type(row) is LegalLine and row.messages is UNSET and row.attachments is UNSET for row in rows):
        return False
    kinds: dict[str, list[LegalLine]] = {"mcq": [], "rubric_qa": [], "reference_qa": []}
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


def _is_plain(case: Case) -> bool:
    """Whether the case is of the usual form, which the format can hold."""
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


def unwritable(case: Case) -> Iterator[Reason]:
    """The reasons why the format cannot hold the case."""
    if _is_plain(case):
        return
    if not isinstance(case.input, SingleTurn):
        yield "input", f"legal files hold single questions, not a {type(case.input).__name__}"
    elif any(message.tool_calls or message.agent for message in case.input.history):
        yield "input.history", "legal files have no place for tool calls and agents in messages"
    yield from foreign_expectations(case, _GRADED, "legal")
    if len(case.expectations) != 1:
        yield "expectations", f"a legal row needs exactly one expectation, not {len(case.expectations)}"
    if not case.labels.get("dataset"):
        yield "labels.dataset", "a legal row names its dataset"
    for name in sorted(case.labels.keys() - _LABELS):
        yield f"labels.{name}", "legal files have no place for this label"
    yield from fields_without_place(case, ("name", "profile", "tags", "tools", "recorded"), "legal")


def row_of(case: Case) -> LegalLine | dict[str, Any]:
    """The row of a case. Unknown fields go back to their places, which takes a dict."""
    if extras.KEY not in case.metadata:
        return _line(case, case.metadata)
    known = {key: value for key, value in case.metadata.items() if key != extras.KEY}
    row: dict[str, Any] = msgspec.to_builtins(_line(case, known))
    extras.restore_unknown(row, case.metadata[extras.KEY])
    return row


def _line(case: Case, metadata: Mapping[str, Any]) -> LegalLine:
    question = case.input
    assert isinstance(question, SingleTurn)  # checked above
    task, graded = _task(case)
    return LegalLine(
        id=case.id,
        dataset=case.labels["dataset"],
        task_type=task,
        prompt=question.message,
        context=question.context or UNSET,
        messages=[{"role": message.role.value, "content": message.content} for message in question.history] or UNSET,
        attachments=[
            {
                "path": one.path,
                **({"kind": one.kind} if one.kind else {}),
                **({"title": one.title} if one.title else {}),
            }
            for one in question.attachments
        ]
        or UNSET,
        metadata=metadata or UNSET,
        **graded,
    )


def _task(case: Case) -> tuple[str, dict[str, Any]]:
    match case.expectations[0]:
        case CorrectChoice(choices=choices, correct=correct):
            return "mcq", {"choices": choices, "correct_choice_ids": correct}
        case WeightedCriteria(criteria=criteria, references=references):
            return "rubric_qa", {
                "rubric": [
                    CriterionRow(
                        one.id, one.text, one.description or UNSET, UNSET if one.weight is None else one.weight
                    )
                    for one in criteria
                ],
                "reference_answers": references or UNSET,
            }
        case ReferenceAnswer(answers=answers):
            return "reference_qa", {"reference_answers": answers}
        case other:
            raise TypeError(f"not a legal expectation: {other!r}")


T = TypeVar("T")

_CHECKER = SchemaChecker(SCHEMA)
_SAYS_ITS_VERSION = re.compile(rb'"schema_version"\s*:\s*"legal_eval_v')
_TASK_FIELDS = (VERSION.encode(), b'"choices"', b'"rubric"', b'"reference_answers"')


class LegalDialect(WatchedDialect):
    """JSONL of `legal_eval_v1` rows."""

    name = "legal"

    def __init__(self, policies: Policies = POLICIES) -> None:
        self._policies = policies

    def schema(self) -> dict[str, Any]:
        return SCHEMA

    def detect(self, path: Path, head: bytes) -> bool:
        if not head.removeprefix(BOM).lstrip().startswith(b"{"):
            return False
        if _SAYS_ITS_VERSION.search(head) and "schema_version" in head_keys(head):
            return True
        return b'"task_type"' in head and b'"prompt"' in head and any(name in head for name in _TASK_FIELDS)

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        return _read(path, watch, lambda row: row.case(), self._policies)

    def scan(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem | None]:
        """As `read_watched`, with None for most cases, which are not built."""
        return _read(path, watch, lambda row: None, self._policies)

    def write(self, cases: Iterable[Case], path: Path) -> None:
        ids, policies = SeenIds(), self._policies

        def vouch(rows: Sequence[Any], lines: Sequence[bytes], first: int) -> bool:
            if sure_lines(rows) and knows_policies(rows, policies):
                return ids.all_new([row.id for row in rows], first)
            read_back = sound_rows(lines)
            uncertain = not read_back or any(row.attachments for row in read_back)
            uncertain = uncertain or not knows_policies(read_back, policies)
            return not uncertain and ids.all_new([row.id for row in read_back], first)

        def read(text: bytes, spot: Spot) -> Iterator[Case | Problem]:
            rows = sound_rows([text])
            certain = rows and not rows[0].attachments and knows_policies(rows, policies)
            if not certain or not ids.is_new(rows[0].id, spot.line or 0):
                yield from _read_slowly(text, spot, ids, path.parent, policies)

        rows = (row_of(case) for case in iter_writable(cases, path, unwritable))
        write_checked(rows, path, read, vouch)


def _read(
    path: Path, watch: Watch | None, build: Callable[[AnyRow], T], policies: Policies
) -> Iterator[T | Case | Problem]:
    """What `build` makes of each row where the fast path finds nothing wrong; else what the slow path yields."""
    ids, folder, line = SeenIds(), path.parent, 1
    for lines in line_groups(path, watch):
        rows = sound_rows(lines)
        astray = any(_has_bad_paths(row, folder) for row in rows if row.attachments)
        if rows and not astray and knows_policies(rows, policies) and ids.all_new([row.id for row in rows], line):
            yield from map(build, rows)
        else:
            for number, text in enumerate(lines, line):
                row = next(iter(sound_rows([text])), None)
                known = row is not None and knows_policies([row], policies)
                if row is not None and known and ids.is_new(row.id, number) and not _has_bad_paths(row, folder):
                    yield build(row)
                elif text.removeprefix(BOM).strip():
                    yield from _read_slowly(text, Spot(str(path), number), ids, folder, policies)
        line += len(lines)


def _has_bad_paths(row: AnyRow, folder: Path) -> bool:
    paths = [attachment.path for attachment in row.attachments or ()]
    return any(path_problems(paths, folder, Spot("")))


def _read_slowly(text: bytes, spot: Spot, ids: SeenIds, folder: Path, policies: Policies) -> Iterator[Case | Problem]:
    """Every problem of the line; the case too, where they are only warnings."""
    value, problems = parse_json(text, file=spot.file, line=spot.line)
    if not isinstance(value, dict):
        yield from problems or [not_an_object(value, spot)]
        return
    unknown = extras.separate_unknown(value, SCHEMA, spot)
    row = valid_row(value)
    if row is None:
        problems += _CHECKER.problems(value, spot)
    problems += [*row_problems(value, spot, ids, folder, policies), *unknown.warnings]
    if all(problem.level is Level.WARNING for problem in problems):
        yield row.case(unknown.kept) if row else spot.problem("invalid", "cannot be read, though it fits the schema")
    yield from problems
