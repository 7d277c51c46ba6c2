"""The shape of golden files, as `howsure schema golden` prints it, and the names by which their questions are told."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from howsure.dialects import reference_data
from howsure.dialects.documents import Json
from howsure.dialects.reference_data import TEXT, TEXTS
from howsure.dialects.schema_fit import Shape

LISTS = ("golden_questions", "questions")
_QUESTION: Json = {
    "type": "object",
    "required": ["id", "user_inputs", "agents_evaluated", "reference_data"],
    "properties": {
        "id": TEXT,
        "user_inputs": {**TEXTS, "minItems": 1},
        "agents_evaluated": TEXTS,
        "metadata": {"type": "object"},
        "reference_data": reference_data.SCHEMA,
        "updated_datetime": {"type": "string"},
        "agent": {"type": "string"},
        "initial_state": {"type": "object"},
    },
}
SHAPE = Shape(_QUESTION)
_QUESTIONS: Json = {"type": "array", "items": _QUESTION}
SCHEMA: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A golden dataset",
    "type": "object",
    "properties": dict.fromkeys(LISTS, _QUESTIONS),
    "oneOf": [{"required": [name]} for name in LISTS],
}
_NAMED = re.compile(r"(?P<agent>.+)_golden\.json", re.IGNORECASE)
FIELDS = _QUESTION["properties"]
FILE_FIELDS = "file_fields"
"""Where a case's metadata keeps the fields that stand beside the list of questions."""
KEPT = ("metadata", "updated_datetime")


def agent_of(path: Path) -> str:
    """`billing_golden.json` holds questions for the agent `billing`."""
    named = _NAMED.fullmatch(path.name)
    return named["agent"] if named else ""


def labels(metadata: Mapping[str, Any], **ours: str) -> dict[str, str]:
    """What a case can be filtered by: the plain values of its metadata, and ours, which win over equal names."""
    plain: dict[str, str] = {}
    for key, value in metadata.items():
        if type(value) is str:
            plain[key] = value
        elif isinstance(value, str | int | float):
            plain[key] = label(value)
    plain |= {key: value for key, value in ours.items() if value}
    return plain


def label(value: str | float) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
