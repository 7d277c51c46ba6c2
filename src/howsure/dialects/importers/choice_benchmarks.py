"""Multiple-choice benchmarks: MMLU (a CSV with or without a header, or rows with a list of choices), INCLUDE (exam
questions in many languages), LAR-ECHR (which argument continues the Court's reasoning; the facts and the arguments so
far are the context) and LEXam (Swiss law exams, open questions too; the same question comes with 4, 8, 16 and 32
choices under one id, so the id holds a hash of the question and choices). docs/importers.md.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from howsure.dialects.base import Watch
from howsure.dialects.importers.records import (
    LETTERS,
    BenchmarkImporter,
    Place,
    RecordFields,
    choice_id,
    head_columns,
    lettered,
    question_hash,
    records,
    whole,
)
from howsure.dialects.legal_rows import McqRow, ReferenceRow
from howsure.dialects.lines import LONGEST_CELL, decoded_lines, header_of, is_table, not_utf8, open_file
from howsure.dialects.problems import Spot, shown
from howsure.errors import Problem
from howsure.model.expectation import Choice

_NAMED = re.compile(r"(?P<subject>\w+?)_(?P<split>dev|val|validation|test|train|auxiliary_train)", re.IGNORECASE)
_LISTED = frozenset({"question", "choices", "answer"})
_PEEKED = 20
_COLUMNS = "question, choices and the letter of the right one; or a header with question, A, B … and answer"
_FOREIGN = {"course", "option_a", "task_type", "schema_version", "gold"}
"""Columns of other sources that look similar."""


class _ChoiceImporter(BenchmarkImporter):
    def is_plain(self, path: Path) -> bool:
        """Whether a run reads the file as a plain table: no answer of its first records is a number. In a benchmark
        that is a place counted from 0."""
        rows = [row for _, row in islice(self.records(path, None), _PEEKED) if isinstance(row, dict)]
        answers = [value for row in rows for name, value in row.items() if name.lower() == "answer"]
        return bool(answers) and all(whole(answer) is None for answer in answers)


class MmluImporter(_ChoiceImporter):
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

    def row(self, fields: RecordFields) -> McqRow | None:
        question = fields.text("question")
        texts = _texts(fields)
        if len(texts) < 2:
            if fields.sound:
                message = "a question needs two choices"
                fields.wrong("choices", "empty", message, expected="two texts or more", found=shown(texts))
            return None
        correct = _correct(fields, texts)
        if correct is None or not question:
            return None
        id = question_hash(question, *texts)
        return self.choice_row(id, question, fields.metadata(), lettered(texts), choice_id(correct))


def _is_headed(columns: Iterable[str]) -> bool:
    return {"question", "a", "b", "answer"} <= {column.strip().lower() for column in columns}


def _is_bare(cells: Iterable[str]) -> bool:
    """Whether the first line is a question, not a header: it ends with the letter of one of its choices."""
    listed = list(cells)
    choices, letter = len(listed) - 2, listed[-1].strip().upper() if listed else ""
    return choices >= 2 and len(letter) == 1 and letter in LETTERS[:choices]


def _table(path: Path, watch: Watch | None) -> Iterator[Place]:
    """The records of a CSV with or without a header, under the same names."""
    csv.field_size_limit(LONGEST_CELL)
    file, start, header = str(path), 1, list[str]()
    with open_file(path, watch) as stream:
        reader = csv.reader(decoded_lines(stream), strict=True)
        try:
            for cells in reader:
                spot = Spot(file, start)
                if start == 1 and not _is_bare(cells):
                    header = [cell.strip() for cell in cells]
                    if not _is_headed(header) and not set(header) >= _LISTED:
                        message, found = "is neither a question nor a header", shown(header)
                        yield spot, spot.problem("wrong-columns", message, expected=_COLUMNS, found=found)
                        return
                elif any(cells):
                    yield spot, _named_cells(cells, header, spot)
                start = reader.line_num + 1
        except UnicodeDecodeError:
            spot = Spot(file, reader.line_num + 1)
            yield spot, not_utf8(spot)
        except csv.Error as error:
            yield Spot(file, start), Spot(file, start).problem("csv-syntax", f"not a valid CSV record: {error}")


def _named_cells(cells: list[str], header: list[str], spot: Spot) -> dict[str, Any] | Problem:
    if header and len(cells) != len(header):
        message = f"has {len(cells)} cells where the header names {len(header)} columns"
        return spot.problem("wrong-columns", message, expected=str(len(header)), found=str(len(cells)))
    if not header and not _is_bare(cells):
        message = "must be a question, its choices, and the letter of the right one"
        expected = f"A to {LETTERS[min(max(len(cells) - 3, 1), 25)]} in the last cell"
        return spot.problem("wrong-columns", message, expected=expected, found=shown(cells[-1]))
    if header:
        return dict(zip(header, cells, strict=True))
    return {"question": cells[0], "choices": cells[1:-1], "answer": cells[-1]}


def _texts(fields: RecordFields) -> list[str]:
    """The choices: a list, or columns named by letters."""
    if "choices" in fields.left:
        listed = fields.structured("choices", list) or []
        return [str(text).strip() for text in listed]
    lettered_columns = {name.upper(): name for name in fields.left if len(name) == 1 and name.upper() in LETTERS}
    texts = [fields.optional(lettered_columns[letter]) for letter in sorted(lettered_columns)]
    while texts and not texts[-1]:
        texts.pop()
    return texts


def _correct(fields: RecordFields, texts: list[str]) -> int | None:
    """The position of the right choice: a letter, a number from 0, or the choice's text."""
    count = len(texts)
    name = next((name for name in fields.left if name.lower() == "answer"), "answer")
    raw = fields.left.get(name)
    letter = raw.strip().upper() if isinstance(raw, str) else ""
    if len(letter) == 1 and letter in LETTERS:
        del fields.left[name]
        if LETTERS.index(letter) < count:
            return LETTERS.index(letter)
        allowed = ", ".join(LETTERS[:count])
        fields.wrong(name, "unknown-correct-id", f"no choice has the letter {shown(letter)}", expected=allowed)
        return None
    if isinstance(raw, str) and whole(raw) is None:
        if texts.count(raw.strip()) == 1:
            del fields.left[name]
            return texts.index(raw.strip())
        expected = f"a letter from A to {choice_id(count - 1)}, a number from 0, or the text of a choice"
        fields.wrong(name, "wrong-type", "names no choice", expected=expected, found=shown(raw))
        return None
    return fields.place(name, count)


_OPTIONS = ("option_a", "option_b", "option_c", "option_d")


class IncludeImporter(_ChoiceImporter):
    """JSONL, JSON or CSV of INCLUDE rows."""

    name = "includebase"
    telling = frozenset({"question", "option_a", "option_b", "answer"})
    numbered = True

    def row(self, fields: RecordFields) -> McqRow | None:
        question = fields.text("question")
        texts = [fields.optional(name) for name in _OPTIONS]
        # An option that is empty is left out; the others keep their letters.
        choices = tuple(Choice(id=LETTERS[place], text=text) for place, text in enumerate(texts) if text)
        if len(choices) < 2:
            fields.wrong("option_b", "empty", "a question needs two options", expected="two texts or more")
        answer = _correct(fields, texts)
        if answer is None or not question:
            return None
        if not texts[answer]:
            message = f"points at `{_OPTIONS[answer]}`, which is empty"
            fields.wrong("answer", "unknown-correct-id", message, found=str(answer))
        metadata = fields.metadata("includebase_default_v1")
        return self.choice_row(question_hash(question, *texts), question, metadata, choices, LETTERS[answer])


PROMPT = (
    "Which of the choices is the argument that follows next in the reasoning of the European Court of Human Rights?"
)
_LETTERS = ("a", "b", "c", "d")


class LarEchrImporter(BenchmarkImporter):
    """JSONL, JSON or CSV of LAR-ECHR rows."""

    name = "lar_echr"
    telling = frozenset({"facts", "label", "a", "b"})
    numbered = True

    def row(self, fields: RecordFields) -> McqRow | None:
        facts = fields.text("facts")
        arguments = fields.text("context_arguments" if "context_arguments" in fields.left else "context")
        texts = [fields.optional(letter) for letter in _LETTERS]
        choices = tuple(
            Choice(id=letter.upper(), text=text) for letter, text in zip(_LETTERS, texts, strict=True) if text
        )
        label = fields.text("label").upper()
        known = [choice.id for choice in choices]
        if len(choices) < 2:
            fields.wrong("b", "empty", "a question needs two choices", expected="two texts or more")
        elif label and label not in known:
            message = f"no choice has the letter {shown(label)}"
            fields.wrong("label", "unknown-correct-id", message, expected=", ".join(known), found=shown(label))
        source = fields.optional("record_id") or str(fields.left.get("case_id") or "").strip()
        hashed = question_hash(facts, arguments, *texts)
        metadata = fields.metadata("lar_echr_mcq_v1", source_id=source)
        context = f"Facts:\n{facts}\n\nArguments:\n{arguments}"
        # One case of the Court gives several questions, so its id alone is not enough.
        return self.choice_row(f"{source}:{hashed}" if source else hashed, PROMPT, metadata, choices, label, context)


_ASKED = {"gold", "choices", "answer", "question_type"}


class LexamImporter(BenchmarkImporter):
    """JSONL, JSON or CSV of LEXam rows."""

    name = "lexam"
    telling = frozenset({"question", "course"})
    numbered = True

    def detect(self, path: Path, head: bytes) -> bool:
        columns = head_columns(path, head)
        return self.telling <= columns and bool(_ASKED & columns)

    def row(self, fields: RecordFields) -> McqRow | ReferenceRow | None:
        question, source = fields.text("question"), fields.optional("id")
        kind = str(fields.left.get("question_type") or "").strip().lower()
        # Where the row does not say its kind, its fields do.
        if kind == "open" or (not kind and fields.left.get("choices") in (None, "")):
            answer = fields.text("answer")
            metadata = fields.metadata("lexam_oq_v1", source_id=source)
            return self.reference_row(_id("open", source, question), question, metadata, answer)
        listed: list[Any] = fields.structured("choices", list) or []
        if len(listed) < 2 and fields.sound:
            message = "a question needs two choices"
            fields.wrong("choices", "empty", message, expected="two texts or more", found=shown(listed))
        for place, text in enumerate(listed):
            if not isinstance(text, str):
                at = ("choices", place)
                fields.wrong(at, "wrong-type", "must be a text", expected="string", found=shown(text))
        texts = [str(text).strip() for text in listed]
        gold = fields.place("gold", len(texts)) if len(texts) > 1 else None
        if gold is None:
            return None
        metadata = fields.metadata("lexam_mcq_v1", source_id=source)
        id = _id("mcq", source, question, *texts)
        return self.choice_row(id, question, metadata, lettered(texts), choice_id(gold))


def _id(kind: str, source: str, *texts: str) -> str:
    return ":".join(part for part in (kind, source, question_hash(*texts)) if part)
