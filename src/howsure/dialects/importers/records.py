"""Records of benchmark files in any container: JSON lines, a CSV table, or one JSON list; each with its place. Their
fields are taken out one by one, and what is not taken is kept as metadata, so nothing is lost. `BenchmarkImporter` is
the small base of an importer that makes one legal case of each record.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType, structs

from howsure.dialects.base import Watch, WatchedDialect
from howsure.dialects.importers.base import list_records, skipped_case, text_hash
from howsure.dialects.legal import attachment_problems
from howsure.dialects.legal_rows import VERSION, AnyRow, McqRow, ReferenceRow, RubricRow
from howsure.dialects.lines import Row, first_keys, header_of, is_table, open_file, read_objects, read_table
from howsure.dialects.problems import Spot, kind_of, shown, with_article
from howsure.dialects.strict_json import BOM, parse_json, top_level_keys
from howsure.errors import Level, Problem
from howsure.model.case import Attachment, Case
from howsure.model.expectation import Choice
from howsure.model.plain_values import is_storable
from howsure.model.transcript import Message

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class RecordFields:
    """The fields of a record; `left` has those that were not taken yet."""

    def __init__(self, row: Mapping[str, Any], spot: Spot) -> None:
        self.left: dict[str, Any] = dict(row)
        self.spot = spot
        self.problems: list[Problem] = []

    @property
    def sound(self) -> bool:
        return not any(problem.level is Level.ERROR for problem in self.problems)

    def wrong(self, field: str | tuple[str | int, ...], code: str, message: str, **details: str) -> None:
        """Notes a problem of a field (a tuple is a path), or of the record itself where none is named."""
        path = (field,) if field and isinstance(field, str) else tuple(field)
        self.problems.append(self.spot.below(*path).problem(code, message, **details))

    def text(self, name: str) -> str:
        """A required text."""
        if name not in self.left:
            self.wrong(name, "missing-field", f"`{name}` is required", expected=name, found=", ".join(self.left))
            return ""
        text = self.optional(name)
        if not text and (not self.problems or self.problems[-1].field != self.spot.below(name).prefix):
            self.wrong(name, "empty", "must not be empty", expected="a text", found=shown(text))
        return text

    def optional(self, name: str) -> str:
        """An optional text or number, stripped."""
        raw = self.left.pop(name, None)
        if raw is None or isinstance(raw, str):
            return (raw or "").strip()
        if isinstance(raw, int | float) and not isinstance(raw, bool):
            return str(int(raw) if isinstance(raw, float) and raw.is_integer() else raw)
        message = f"must be a text, not {with_article(kind_of(raw))}"
        self.wrong(name, "wrong-type", message, expected="string", found=shown(raw))
        return ""

    def structured(self, name: str, kind: type) -> Any:
        """An object or a list: as it is, as JSON text, or as Python prints it. None, and a problem, where it is
        neither."""
        expected_kind = kind_of(kind())
        if name not in self.left:
            names = ", ".join(self.left)
            self.wrong(name, "missing-field", f"`{name}` is required", expected=expected_kind, found=names)
            return None
        raw = self.left.pop(name)
        value = self._read(name, raw) if isinstance(raw, str) else raw
        if value is not None and not isinstance(value, kind):
            message = f"must be {with_article(expected_kind)}, not {with_article(kind_of(value))}"
            self.wrong(name, "wrong-type", message, expected=expected_kind, found=shown(raw))
        elif raw is None:
            message = f"must be {with_article(expected_kind)}, not null"
            self.wrong(name, "wrong-type", message, expected=expected_kind, found="null")
        return value if isinstance(value, kind) else None

    def _read(self, name: str, text: str) -> Any:
        stripped = text.strip()
        printed = _printed(stripped) if stripped.startswith(("['", "{'")) else None
        if printed is not None:
            return printed
        value, problems = parse_json(stripped.encode("utf-8", "surrogatepass"), file=self.spot.file, line=None)
        if not problems:
            return value
        printed = _printed(stripped)
        if printed is None:
            expected, hint = "JSON, or a Python literal", problems[0].hint
            message = f"cannot be read: {problems[0].message}"
            self.wrong(name, problems[0].code, message, expected=expected, found=shown(text), hint=hint)
        return printed

    def place(self, name: str, count: int) -> int | None:
        """A position in a list of `count`, counted from 0."""
        if name not in self.left:
            self.wrong(name, "missing-field", f"`{name}` is required", expected=f"0 to {count - 1}")
            return None
        raw = self.left.pop(name)
        number = whole(raw)
        if number is None or not 0 <= number < count:
            message = "points at no choice" if number is not None else "must be a whole number"
            code = "unknown-correct-id" if number is not None else "wrong-type"
            self.wrong(name, code, message, expected=f"0 to {count - 1}", found=shown(raw))
            return None
        return number

    def weight(self, name: str = "weight") -> float | UnsetType:
        """A number, also as text. A weight in words stays among the notes, because its size is unknown."""
        raw = self.left.get(name)
        if is_empty(raw):
            return UNSET
        number = finite_number(raw)
        if number is None:
            message = "the weight is no number; the criterion counts as one without a weight"
            self.problems.append(self.spot.below(name).warning("weight-in-words", message, found=shown(raw)))
            return UNSET
        del self.left[name]
        return number

    def attachments(self, names: Iterable[str]) -> tuple[Attachment, ...]:
        """Documents by their paths, which must be inside the folder of the file."""
        attachments: list[Attachment] = []
        for name in names:
            raw = self.left.pop(name, None)  # one path, several on lines of their own, or a list of them
            paths = raw if isinstance(raw, list) else str(raw or "").splitlines()
            for path in [path.strip() for path in paths if isinstance(path, str) and path.strip()]:
                self.problems += attachment_problems(path, Path(self.spot.file).parent, self.spot.below(name))
                attachments.append(Attachment(path=path, kind="pdf" if path.lower().endswith(".pdf") else "file"))
        return tuple(attachments)

    def metadata(self, policy: str = "", **ours: Any) -> dict[str, Any]:
        """What is left, and `ours`, without empty values."""
        remaining = {name: value for name, value in self.left.items() if not is_empty(value)}
        added = {name: value for name, value in ours.items() if not is_empty(value)}
        return {**remaining, **added, **({"policy_id": policy} if policy else {})}


def is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {}) or (isinstance(value, float) and not isfinite(value))


def finite_number(raw: Any) -> float | None:
    """A number, also as text; None where it is none, or has no end."""
    try:
        number = float(raw) if isinstance(raw, str | int | float) and not isinstance(raw, bool) else None
    except (ValueError, OverflowError):
        return None
    return number if number is not None and isfinite(number) else None


def whole(raw: Any) -> int | None:
    """A whole number, also as text or as a float; None where it is not one."""
    number = finite_number(raw)
    return int(number) if number is not None and number.is_integer() else None


def lettered(texts: Sequence[str]) -> tuple[Choice, ...]:
    """A to Z, then CHOICE_26 and so on."""
    return tuple(Choice(id=choice_id(place), text=text) for place, text in enumerate(texts))


def choice_id(place: int) -> str:
    return LETTERS[place] if place < len(LETTERS) else f"CHOICE_{place}"


def _printed(text: str) -> Any:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return value if is_storable(value) else None


Place = tuple[Spot, Row | Problem]


def records(path: Path, watch: Watch | None = None, required: Iterable[str] = ()) -> Iterator[Place]:
    """Every record with its place; `required` are columns that a table must have."""
    if path.suffix.lower() == ".json":
        yield from list_records(path, watch)
        return
    with open_file(path, watch) as stream:
        rows = read_table(stream, str(path), required) if is_table(path) else read_objects(stream, str(path))
        yield from ((Spot(str(path), line), row) for line, row in rows)


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
            legal_row = self.row(fields)
            yield from fields.problems
            if legal_row is not None and fields.sound:
                yield from repeated.check(legal_row.case(), row, spot, self.id_field)

    def records(self, path: Path, watch: Watch | None) -> Iterator[Place]:
        return records(path, watch, self.telling)

    def _shared(self, id: str, prompt: str, metadata: dict[str, Any], **rest: Any) -> dict[str, Any]:
        """The fields of every kind of row; empty ones are unset."""
        optional = {name: value or UNSET for name, value in {**rest, "metadata": metadata}.items()}
        id = f"{self.name}:{id}"
        return {"schema_version": VERSION, "id": id, "dataset": self.name, "prompt": prompt, **optional}

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
