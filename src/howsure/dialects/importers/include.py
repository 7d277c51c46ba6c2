"""INCLUDE: exam questions in many languages with up to four options. docs/importers.md."""

from __future__ import annotations

from howsure.dialects.importers.fields import LETTERS, Fields
from howsure.dialects.importers.records import BenchmarkImporter, question_hash
from howsure.dialects.legal_rows import McqRow
from howsure.model.expectation import Choice

_OPTIONS = ("option_a", "option_b", "option_c", "option_d")


class IncludeImporter(BenchmarkImporter):
    """JSONL, JSON or CSV of INCLUDE rows."""

    name = "includebase"
    telling = frozenset({"question", "option_a", "option_b", "answer"})
    numbered = True

    def row(self, fields: Fields) -> McqRow | None:
        question = fields.text("question")
        texts = [fields.optional(name) for name in _OPTIONS]
        # An option that is empty is left out; the others keep their letters.
        choices = tuple(Choice(id=LETTERS[place], text=text) for place, text in enumerate(texts) if text)
        if len(choices) < 2:
            fields.wrong("option_b", "empty", "a question needs two options", expected="two texts or more")
        answer = fields.place("answer", len(_OPTIONS))
        if answer is None or not question:
            return None
        if not texts[answer]:
            message = f"points at `{_OPTIONS[answer]}`, which is empty"
            fields.wrong("answer", "unknown-correct-id", message, found=str(answer))
        metadata = fields.metadata("includebase_default_v1")
        return self.choice_row(question_hash(question, *texts), question, metadata, choices, LETTERS[answer])
