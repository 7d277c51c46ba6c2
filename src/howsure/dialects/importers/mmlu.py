"""Multiple choice as MMLU has it: a CSV without a header (question, the choices, the letter of the right one), the same
with one, or rows with a list of choices and the place of the right one. docs/importers.md.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from howsure.dialects.importers.fields import LETTERS, Fields, choice_id, lettered, whole
from howsure.dialects.importers.records import BenchmarkImporter, Place, head_columns, question_hash, records
from howsure.dialects.json_places import Spot
from howsure.dialects.legal_rows import McqRow
from howsure.dialects.lines import Watch, is_table, opened
from howsure.dialects.strict_json import BOM
from howsure.dialects.tables import LONGEST_CELL, header_of
from howsure.dialects.wording import shown
from howsure.errors import Problem

_NAMED = re.compile(r"(?P<subject>\w+?)_(?P<split>dev|val|validation|test|train|auxiliary_train)", re.IGNORECASE)
_LISTED = frozenset({"question", "choices", "answer"})
_FOREIGN = {"course", "option_a", "task_type", "schema_version", "gold"}
"""Columns of other sources that look alike."""


class MmluImporter(BenchmarkImporter):
    """CSV (with or without a header), JSONL or JSON of MMLU-style questions."""

    name = "mmlu"
    telling = _LISTED
    numbered = True

    def detect(self, path: Path, head: bytes) -> bool:
        columns = head_columns(path, head)
        if columns & _FOREIGN:
            return False
        return columns >= _LISTED or (is_table(path) and (_is_headed(columns) or _is_bare(header_of(head))))

    def records(self, path: Path, watch: Watch | None) -> Iterator[Place]:
        named = _NAMED.fullmatch(path.stem)
        about = named.groupdict() if named else {}
        for spot, row in _table(path, watch) if is_table(path) else records(path, watch):
            yield spot, row if isinstance(row, Problem) else {**about, **row}

    def row(self, fields: Fields) -> McqRow | None:
        question = fields.text("question")
        texts = _texts(fields)
        if len(texts) < 2:
            if fields.sound:
                message = "a question needs two choices"
                fields.wrong("choices", "empty", message, expected="two texts or more", found=shown(texts))
            return None
        correct = _correct(fields, len(texts))
        if correct is None or not question:
            return None
        id = question_hash(question, *texts)
        return self.choice_row(id, question, fields.metadata(), lettered(texts), choice_id(correct))


def _is_headed(columns: Iterable[str]) -> bool:
    return {"question", "a", "b", "answer"} <= {column.strip().lower() for column in columns}


def _is_bare(cells: Iterable[str]) -> bool:
    """Whether the first line is a question already: it ends with the letter of one of its choices."""
    listed = list(cells)
    choices, letter = len(listed) - 2, listed[-1].strip().upper() if listed else ""
    return choices >= 2 and len(letter) == 1 and letter in LETTERS[:choices]


def _table(path: Path, watch: Watch | None) -> Iterator[Place]:
    with opened(path, watch) as stream:
        yield from _cells(stream, str(path))


def _cells(stream: Iterable[bytes], file: str) -> Iterator[Place]:
    """The records of a CSV with or without a header, each by the same names."""
    csv.field_size_limit(LONGEST_CELL)
    start = 1
    header: list[str] = []
    reader = csv.reader(_decoded(stream), strict=True)
    try:
        for cells in reader:
            spot = Spot(file, start)
            if start == 1 and not _is_bare(cells):
                header = [cell.strip() for cell in cells]
                if not _is_headed(header) and not set(header) >= _LISTED:
                    yield spot, _no_header(header, spot)
                    return
            elif any(cells):
                yield spot, _named_cells(cells, header, spot)
            start = reader.line_num + 1
    except UnicodeDecodeError:
        spot = Spot(file, reader.line_num + 1)
        message, hint = "the text is not UTF-8", "save the file as UTF-8"
        yield spot, spot.problem("encoding", message, expected="UTF-8", hint=hint)
    except csv.Error as error:
        yield Spot(file, start), Spot(file, start).problem("csv-syntax", f"not a valid CSV record: {error}")


def _decoded(stream: Iterable[bytes]) -> Iterator[str]:
    for number, line in enumerate(stream, 1):
        yield (line.removeprefix(BOM) if number == 1 else line).decode("utf-8")


def _no_header(header: list[str], spot: Spot) -> Problem:
    expected = "question, choices and the letter of the right one; or a header with question, A, B … and answer"
    return spot.problem("wrong-columns", "is neither a question nor a header", expected=expected, found=shown(header))


def _named_cells(cells: list[str], header: list[str], spot: Spot) -> dict[str, Any] | Problem:
    if header and len(cells) != len(header):
        message = f"has {len(cells)} cells where the header names {len(header)} columns"
        return spot.problem("wrong-columns", message, expected=str(len(header)), found=str(len(cells)))
    if not header and not _is_bare(cells):
        message = "must be a question, its choices, and the letter of the right one"
        expected = f"A to {LETTERS[max(len(cells) - 3, 1)]} in the last cell"
        return spot.problem("wrong-columns", message, expected=expected, found=shown(cells[-1]))
    if header:
        return dict(zip(header, cells, strict=True))
    return {"question": cells[0], "choices": cells[1:-1], "answer": cells[-1]}


def _texts(fields: Fields) -> list[str]:
    """The choices: a list, or columns named by letters."""
    if "choices" in fields.left:
        listed = fields.structured("choices", list) or []
        return [str(text).strip() for text in listed]
    lettered_columns = {name.upper(): name for name in fields.left if len(name) == 1 and name.upper() in LETTERS}
    texts = [fields.optional(lettered_columns[letter]) for letter in sorted(lettered_columns)]
    while texts and not texts[-1]:
        texts.pop()
    return texts


def _correct(fields: Fields, count: int) -> int | None:
    """The place of the right choice: a letter, or a number from 0."""
    name = next((name for name in fields.left if name.lower() == "answer"), "answer")
    given = fields.left.get(name)
    letter = given.strip().upper() if isinstance(given, str) else ""
    if len(letter) == 1 and letter in LETTERS:
        del fields.left[name]
        if LETTERS.index(letter) < count:
            return LETTERS.index(letter)
        allowed = ", ".join(LETTERS[:count])
        fields.wrong(name, "unknown-correct-id", f"no choice has the letter {shown(letter)}", expected=allowed)
        return None
    if isinstance(given, str) and whole(given) is None:
        expected = f"a letter from A to {choice_id(count - 1)}, or a number from 0"
        fields.wrong(name, "wrong-type", "names no choice", expected=expected, found=shown(given))
        return None
    return fields.place(name, count)
