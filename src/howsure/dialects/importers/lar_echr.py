"""LAR-ECHR: which of four arguments continues the Court's reasoning. docs/importers.md.

The facts and the arguments so far are the context of the question: without them there is nothing to answer from.
"""

from __future__ import annotations

from howsure.dialects.importers.fields import Fields
from howsure.dialects.importers.records import BenchmarkImporter, question_hash
from howsure.dialects.legal_rows import McqRow
from howsure.dialects.wording import shown
from howsure.model.expectation import Choice

PROMPT = (
    "Which of the choices is the argument that follows next in the reasoning of the European Court of Human Rights?"
)
_LETTERS = ("a", "b", "c", "d")


class LarEchrImporter(BenchmarkImporter):
    """JSONL, JSON or CSV of LAR-ECHR rows."""

    name = "lar_echr"
    telling = frozenset({"facts", "label", "a", "b"})
    numbered = True

    def row(self, fields: Fields) -> McqRow | None:
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
        asked = question_hash(facts, arguments, *texts)
        metadata = fields.metadata("lar_echr_mcq_v1", source_id=source)
        context = f"Facts:\n{facts}\n\nArguments:\n{arguments}"
        # One case of the Court gives several questions, so its id alone is not enough.
        return self.choice_row(f"{source}:{asked}" if source else asked, PROMPT, metadata, choices, label, context)
