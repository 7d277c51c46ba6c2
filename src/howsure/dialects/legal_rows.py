"""Typed `legal_eval_v1` rows, decoded straight from a line; the Cases they become; their JSON Schema; and the fast
check whether many rows are valid, column by column.

Nested objects are decoded into the model's own classes where the names agree. What a schema cannot state (ids that
repeat or refer to nothing, attachments outside their folder) is checked in legal.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter, methodcaller
from typing import Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from howsure.dialects import extras
from howsure.dialects.problems import load_schema
from howsure.dialects.strict_json import CONTAINERS, count_keys, duplicate_free
from howsure.judges.dataset_policies import POLICY_ID
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


class LegalRow(Struct, frozen=True, kw_only=True, gc=False, tag_field="task_type"):
    """The fields of every task type."""

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
        """`kept` are the unknown fields, by JSON Pointer."""
        labels = {"dataset": self.dataset, "task_type": self.task}
        metadata = self.metadata or {}
        if POLICY_ID in metadata:
            labels[POLICY_ID] = metadata[POLICY_ID]
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


class RubricRow(LegalRow, frozen=True, kw_only=True, gc=False, tag="rubric_qa"):
    task = "rubric_qa"
    rubric: tuple[CriterionRow, ...]
    reference_answers: tuple[str, ...] | UnsetType = UNSET

    def expectation(self) -> WeightedCriteria:
        criteria = tuple([one.criterion() for one in self.rubric])
        return WeightedCriteria(criteria=criteria, references=self.reference_answers or ())


class ReferenceRow(LegalRow, frozen=True, kw_only=True, gc=False, tag="reference_qa"):
    task = "reference_qa"
    reference_answers: tuple[str, ...]

    def expectation(self) -> ReferenceAnswer:
        return ReferenceAnswer(answers=self.reference_answers)


class McqRow(LegalRow, frozen=True, kw_only=True, gc=False, tag="mcq"):
    task = "mcq"
    choices: tuple[Choice, ...]
    correct_choice_ids: tuple[str, ...]

    def expectation(self) -> CorrectChoice:
        return CorrectChoice(choices=self.choices, correct=self.correct_choice_ids)


AnyRow = RubricRow | ReferenceRow | McqRow


VERSION = "legal_eval_v1"
FORBIDDEN = {
    "rubric_qa": frozenset({"choices", "correct_choice_ids"}),
    "reference_qa": frozenset({"rubric", "choices", "correct_choice_ids"}),
    "mcq": frozenset({"rubric", "reference_answers"}),
}
"""Fields that each task type forbids."""

SCHEMA = load_schema("legal")

_ID, _DATASET, _PROMPT = attrgetter("id"), attrgetter("dataset"), attrgetter("prompt")
_CHOICES, _CORRECT = attrgetter("choices"), attrgetter("correct_choice_ids")
_RUBRIC, _ANSWERS = attrgetter("rubric"), attrgetter("reference_answers")
_TITLE, _DESCRIPTION, _WEIGHT = attrgetter("title"), attrgetter("description"), attrgetter("weight")
_OPENS, _CLOSES = methodcaller("startswith", b"{"), methodcaller("endswith", (b"}\n", b"}\r\n", b"}"))
_RESERVED = methodcaller("__contains__", extras.KEY)
_NEVER = -(1 << 60)
"""Makes any sum of key counts negative: something is wrong with a row."""
_decode = msgspec.json.Decoder(AnyRow).decode_lines
_encode = msgspec.json.Encoder().encode_lines


def sound_rows(lines: Sequence[bytes]) -> list[AnyRow]:
    """A row for each line; none at all where something may be wrong with one of them."""
    piece = b"".join(lines)
    try:
        rows: list[AnyRow] = _decode(piece)
        whole = len(lines) == len(rows) and all(map(_OPENS, lines)) and all(map(_CLOSES, lines))
        return rows if whole and _nothing_lost(piece, rows) else []
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []


def valid_row(value: Mapping[str, Any]) -> AnyRow | None:
    """The row of a decoded object, where it fulfils the schema; unknown fields do not matter."""
    try:
        row: AnyRow = msgspec.convert(value, AnyRow)
    except (msgspec.ValidationError, UnicodeEncodeError):  # half characters
        return None
    return row if sure_keys([row]) > 0 and FORBIDDEN[row.task].isdisjoint(value) else None


def _nothing_lost(piece: bytes, rows: Sequence[AnyRow]) -> bool:
    """Whether the rows are valid and hold all that was written: no key is repeated and none is unknown. A lost key
    leaves its colon behind. Where there are more colons than the keys and known texts explain, the rows are encoded
    again to count how many there should be; a single line is then compared key by key."""
    keys = sure_keys(rows)
    if keys <= 0:
        return False
    texts = chain(map(_ID, rows), map(_PROMPT, rows))
    colons = sum([text.count(":") for text in texts if ":" in text])
    # A colon may also be written as an escape, and make up for the colon of a lost key.
    if piece.find(b"\\u003") < 0:
        written = piece.count(b":")
        if written == keys + colons or written == _encode(rows).count(b":"):
            return True
    if len(rows) > 1:
        return False
    value = msgspec.json.decode(piece)
    return count_keys(value) == keys and duplicate_free(piece, value)


def sure_keys(rows: Sequence[AnyRow]) -> int:
    """How many keys the lines of these rows have if no key is unknown or repeated; negative where a row breaks a rule
    that its types do not state."""
    return (
        _shared_keys(rows)
        + _mcq_keys([row for row in rows if type(row) is McqRow])
        + _rubric_keys([row for row in rows if type(row) is RubricRow])
        + _reference_keys([row for row in rows if type(row) is ReferenceRow])
    )


def sure_parts(mcq: Sequence[Any], rubric: Sequence[Any], reference: Sequence[Any], metadata: Sequence[Any]) -> bool:
    """Whether the task fields and the metadata of rows, or of anything with the same fields, break no such rule."""
    return min(_mcq_keys(mcq), _rubric_keys(rubric), _reference_keys(reference), _metadata_keys(metadata)) >= 0


def _shared_keys(rows: Sequence[AnyRow]) -> int:
    if not all(_filled(map(column, rows)) for column in (_ID, _DATASET, _PROMPT)):
        return _NEVER
    contexts = sum([row.context is not UNSET for row in rows])
    messages = [row.messages for row in rows if row.messages is not UNSET]
    attachments = [row.attachments for row in rows if row.attachments is not UNSET]
    metadata = [row.metadata for row in rows if row.metadata is not UNSET]
    keys = 5 * len(rows) + contexts + len(messages) + len(attachments) + len(metadata) + _metadata_keys(metadata)
    for message in chain.from_iterable(messages):
        # Only the model's messages have an agent and calls; a row has not.
        keys += 2 if message.content.strip() and not message.agent and not message.tool_calls else _NEVER
    for one in chain.from_iterable(attachments):
        keys += 1 + (one.kind != "") + (one.title != "") if one.path.strip() else _NEVER
    return keys


def _metadata_keys(metadata: Sequence[dict[str, Any]]) -> int:
    if any(map(_RESERVED, metadata)) or not {type(each.get(POLICY_ID, "")) for each in metadata} <= {str}:
        return _NEVER
    values = chain.from_iterable(map(dict.values, metadata))
    return sum(map(len, metadata)) + sum([count_keys(value, 3) for value in values if type(value) in CONTAINERS])


def _mcq_keys(rows: Sequence[McqRow]) -> int:
    choices, correct = list(map(_CHOICES, rows)), list(map(_CORRECT, rows))
    ids = [set(map(_ID, each)) for each in choices]
    counts = list(map(len, choices))
    if counts != list(map(len, ids)) or min(counts, default=2) < 2 or not _filled(chain.from_iterable(ids)):
        return _NEVER
    if not _distinct(correct) or not all(map(set.issuperset, ids, correct)):
        return _NEVER
    return 2 * len(rows) + 2 * sum(counts)


def _rubric_keys(rows: Sequence[RubricRow]) -> int:
    rubrics = list(map(_RUBRIC, rows))
    ids = [list(map(_ID, each)) for each in rubrics]
    criteria = list(chain.from_iterable(rubrics))
    answers = [row.reference_answers for row in rows if row.reference_answers is not UNSET]
    if not _distinct(ids) or not _filled(chain(*ids, map(_TITLE, criteria), *answers)):
        return _NEVER
    absent = list(map(_DESCRIPTION, criteria)).count(UNSET) + list(map(_WEIGHT, criteria)).count(UNSET)
    return len(rows) + len(answers) + 4 * len(criteria) - absent


def _reference_keys(rows: Sequence[ReferenceRow]) -> int:
    answers = list(map(_ANSWERS, rows))
    return len(rows) if all(answers) and _filled(chain.from_iterable(answers)) else _NEVER


def _filled(texts: Iterable[str]) -> bool:
    """Whether none of them is blank."""
    return all(map(str.strip, texts))


def _distinct(groups: Sequence[Sequence[str]]) -> bool:
    """Whether each group has an element, and none twice."""
    return all(groups) and list(map(len, map(set, groups))) == list(map(len, groups))
