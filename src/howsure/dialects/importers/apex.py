"""APEX: professional tasks with documents and weighted criteria. docs/importers.md.

A criterion is its `description`; the `justification` beside it explains it and is never what is judged.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from howsure.dialects.importers.fields import Fields
from howsure.dialects.importers.records import BenchmarkImporter, question_hash
from howsure.dialects.legal_rows import CriterionRow, RubricRow
from howsure.dialects.wording import shown

RUBRIC = "Rubric JSON"
FILES = ("File Attachments", "Attachments", "attachment")


class ApexImporter(BenchmarkImporter):
    """JSONL, JSON or CSV of APEX rows."""

    name = "apexv1"
    telling = frozenset({"Prompt", RUBRIC})
    id_field = "Task ID"

    def row(self, fields: Fields) -> RubricRow | None:
        prompt = fields.text("Prompt")
        id = fields.optional("Task ID")
        attachments = fields.attachments(FILES)
        notes: dict[str, Any] = {}
        criteria = _criteria(fields, notes)
        if not prompt:
            return None
        return self.rubric_row(
            id or question_hash(prompt, *(attachment.path for attachment in attachments)),
            prompt,
            fields.metadata("apexv1_extended_v1", criteria=notes),
            criteria,
            attachments=attachments,
        )


def _criteria(fields: Fields, notes: dict[str, Any]) -> tuple[CriterionRow, ...]:
    listed = fields.structured(RUBRIC, dict)
    if listed == {}:
        fields.wrong(RUBRIC, "empty", "a rubric needs a criterion", expected="criteria by name", found="{}")
    made = [_criterion(fields, key, given, notes) for key, given in (listed or {}).items()]
    return tuple(one for one in made if one is not None)


def _criterion(fields: Fields, key: str, given: Any, notes: dict[str, Any]) -> CriterionRow | None:
    one = Fields(given if isinstance(given, dict) else {}, fields.spot.below(RUBRIC, key))
    if not isinstance(given, dict):
        one.wrong("", "wrong-type", "must be an object", expected="object", found=shown(given))
    text = one.text("description") if isinstance(given, dict) else ""
    why = one.optional("justification")
    weight = one.weight()
    id = key.strip()
    if not id:
        one.wrong("", "empty", "a criterion needs a name", expected="a text", found=shown(key))
    fields.problems += one.problems
    if not one.sound:
        return None
    if kept := one.metadata():
        notes[id] = kept
    return CriterionRow(id=id, title=text, description=why or UNSET, weight=weight)
