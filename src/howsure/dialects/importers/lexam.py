"""LEXam: Swiss law exams, open questions with a reference answer and multiple choice. docs/importers.md.

The same question comes with 4, 8, 16 and 32 choices under one id, so the id holds a hash of the question and choices.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from howsure.dialects.importers.fields import Fields, choice_id, lettered
from howsure.dialects.importers.records import BenchmarkImporter, head_columns, question_hash
from howsure.dialects.legal_rows import McqRow, ReferenceRow
from howsure.dialects.wording import shown

_ASKED = {"gold", "choices", "answer", "question_type"}


class LexamImporter(BenchmarkImporter):
    """JSONL, JSON or CSV of LEXam rows."""

    name = "lexam"
    telling = frozenset({"question", "course"})
    numbered = True

    def detect(self, path: Path, head: bytes) -> bool:
        columns = head_columns(path, head)
        return self.telling <= columns and bool(_ASKED & columns)

    def row(self, fields: Fields) -> McqRow | ReferenceRow | None:
        question, source = fields.text("question"), fields.optional("id")
        kind = _kind(fields)
        if kind == "open":
            answer = fields.text("answer")
            metadata = fields.metadata("lexam_oq_v1", source_id=source)
            return self.reference_row(_id("open", source, question), question, metadata, answer)
        texts = _choices(fields)
        gold = fields.place("gold", len(texts)) if len(texts) > 1 else None
        if gold is None:
            return None
        metadata = fields.metadata("lexam_mcq_v1", source_id=source)
        id = _id("mcq", source, question, *texts)
        return self.choice_row(id, question, metadata, lettered(texts), choice_id(gold))


def _kind(fields: Fields) -> str:
    """`open` or `mcq`: as the row says, else by what it has."""
    named = str(fields.left.get("question_type") or "").strip().lower()
    if named:
        return "open" if named == "open" else "mcq"
    return "mcq" if fields.left.get("choices") not in (None, "") else "open"


def _choices(fields: Fields) -> list[str]:
    listed: list[Any] = fields.structured("choices", list) or []
    if len(listed) < 2 and fields.sound:
        message = "a question needs two choices"
        fields.wrong("choices", "empty", message, expected="two texts or more", found=shown(listed))
    for place, text in enumerate(listed):
        if not isinstance(text, str):
            fields.wrong_at(("choices", place), "wrong-type", "must be a text", expected="string", found=shown(text))
    return [str(text).strip() for text in listed]


def _id(kind: str, source: str, *asked: str) -> str:
    return ":".join(part for part in (kind, source, question_hash(*asked)) if part)
