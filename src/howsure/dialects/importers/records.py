"""Records of benchmark files in any container: JSON lines, a CSV table, or one JSON list; each with its place.
`BenchmarkImporter` is the small base of an importer that makes one legal case of each record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, structs

from howsure.dialects.base import Watch, WatchedDialect
from howsure.dialects.importers.base import list_elements, load_file, skipped_case, text_hash, wrong_kind
from howsure.dialects.importers.fields import RecordFields
from howsure.dialects.legal_rows import VERSION, AnyRow, McqRow, ReferenceRow, RubricRow
from howsure.dialects.lines import (
    Row,
    first_keys,
    header_of,
    is_table,
    not_an_object,
    open_file,
    read_objects,
    read_table,
)
from howsure.dialects.problems import Spot, shown
from howsure.dialects.strict_json import BOM, top_level_keys
from howsure.errors import Problem
from howsure.model.case import Attachment, Case
from howsure.model.transcript import Message

Place = tuple[Spot, Row | Problem]


def records(path: Path, watch: Watch | None = None, required: Iterable[str] = ()) -> Iterator[Place]:
    """Every record with its place; `required` are columns that a table must have."""
    file = str(path)
    if path.suffix.lower() == ".json":
        yield from _listed(path, watch)
        return
    with open_file(path, watch) as stream:
        item = read_table(stream, file, required) if is_table(path) else read_objects(stream, file)
        yield from ((Spot(file, line), row) for line, row in item)


def _listed(path: Path, watch: Watch | None) -> Iterator[Place]:
    """The objects of a file that holds one list."""
    loaded = load_file(path, watch)
    yield from ((loaded.spot, problem) for problem in loaded.problems)
    if not loaded.problems and not isinstance(loaded.value, list):
        yield loaded.spot, wrong_kind(loaded.spot, "a list of records", loaded.value)
    for spot, element in list_elements(loaded):
        yield spot, element if isinstance(element, dict) else not_an_object(element, spot)


def head_columns(path: Path, head: bytes) -> set[str]:
    """The columns of the first record, as far as the head of the file shows them."""
    if is_table(path):
        return set(header_of(head))
    text = head.removeprefix(BOM).lstrip()
    if path.suffix.lower() == ".json":
        return set(top_level_keys(text[1:].decode("utf-8", "ignore"))) if text[:1] == b"[" else set()
    return set(first_keys(head))


class RepeatedRecords:
    """Finds records that repeat an earlier one. A record that is equal in everything is left out, with a warning."""

    def __init__(self, *, numbered: bool) -> None:
        """With `numbered`, ids are hashes of the question, and a different record with the same question gets a number;
        else a repeated id is a problem."""
        self._numbered = numbered
        self._seen: dict[str, dict[bytes, int | None]] = {}

    def check(self, case: Case, row: Row, spot: Spot, field: str) -> Iterator[Case | Problem]:
        digest = sha256(msgspec.json.encode(row, order="sorted")).digest()
        seen = self._seen.setdefault(case.id, {})
        if digest in seen:
            yield skipped_case(spot, f"the same as line {seen[digest]} ({case.id})")
            return
        first = next(iter(seen.values()), None)
        seen[digest] = spot.line
        if len(seen) == 1:
            yield case
        elif self._numbered:
            message = f"the same question stands on line {first} already, with another answer or other details; kept"
            yield spot.warning("repeated-question", message, found=shown(case.id))
            yield structs.replace(case, id=f"{case.id}-{len(seen)}")
        else:
            message = f"the id {shown(case.id)} stands on line {first} already, with other content"
            yield spot.below(field).problem("duplicate-id", message, found=shown(case.id), hint="ids must be unique")


class BenchmarkImporter(WatchedDialect):
    """One legal case for each record. Give it a `name`, the columns by which a file is recognised (`telling`), and
    `row(fields)`; what `row` notes as wrong becomes the problems of the record."""

    name: str
    telling: frozenset[str]
    numbered = False
    id_field = "id"

    def row(self, fields: RecordFields) -> AnyRow | None:
        raise NotImplementedError(f"the importer {self.name!r} has no `row`")

    def detect(self, path: Path, head: bytes) -> bool:
        return self.telling <= head_columns(path, head)

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        repeated = RepeatedRecords(numbered=self.numbered)
        for spot, row in self.records(path, watch):
            if isinstance(row, Problem):
                yield row
                continue
            fields = RecordFields(row, spot)
            made = self.row(fields)
            yield from fields.problems
            if made is not None and fields.sound:
                yield from repeated.check(made.case(), row, spot, self.id_field)

    def records(self, path: Path, watch: Watch | None) -> Iterator[Place]:
        return records(path, watch, self.telling)

    def _shared(self, id: str, prompt: str, metadata: dict[str, Any], **rest: Any) -> dict[str, Any]:
        """The fields of every kind of row; empty ones are unset."""
        optional = {name: value or UNSET for name, value in rest.items()}
        id = f"{self.name}:{id}"
        return {"schema_version": VERSION, "id": id, "dataset": self.name, "prompt": prompt, **optional} | {
            "metadata": metadata or UNSET
        }

    def rubric_row(
        self,
        id: str,
        prompt: str,
        metadata: dict[str, Any],
        rubric: tuple[Any, ...],
        *,
        context: str = "",
        messages: tuple[Message, ...] = (),
        attachments: tuple[Attachment, ...] = (),
    ) -> RubricRow:
        shared = self._shared(id, prompt, metadata, context=context, messages=messages, attachments=attachments)
        return RubricRow(**shared, rubric=rubric)

    def choice_row(
        self, id: str, prompt: str, metadata: dict[str, Any], choices: tuple[Any, ...], correct: str, context: str = ""
    ) -> McqRow:
        shared = self._shared(id, prompt, metadata, context=context)
        return McqRow(**shared, choices=choices, correct_choice_ids=(correct,))

    def reference_row(self, id: str, prompt: str, metadata: dict[str, Any], answer: str) -> ReferenceRow:
        return ReferenceRow(**self._shared(id, prompt, metadata), reference_answers=(answer,))


def question_hash(*texts: str) -> str:
    """A hash of what the model is asked, never of what is expected of it."""
    return text_hash(texts)
