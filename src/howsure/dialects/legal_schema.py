"""The JSON Schema of one `legal_eval_v1` line, as `howsure schema legal` prints it. What a schema cannot say (ids that
repeat or refer to nothing, attachments that leave their folder) is checked in legal.py.
"""

from __future__ import annotations

from typing import Any

from howsure.dialects.violations import NOT_BLANK

Json = dict[str, Any]

VERSION = "legal_eval_v1"
TEXT: Json = {"type": "string", "pattern": NOT_BLANK}
FORBIDDEN = {
    "rubric_qa": frozenset({"choices", "correct_choice_ids"}),
    "reference_qa": frozenset({"rubric", "choices", "correct_choice_ids"}),
    "mcq": frozenset({"rubric", "reference_answers"}),
}
"""Fields that a task type may not have."""

_ANY_TEXT: Json = {"type": "string"}


def _object(required: list[str], **fields: Json) -> Json:
    return {"type": "object", "required": required, "properties": fields}


def _list(element: Json, description: str) -> Json:
    return {"type": "array", "items": element, "description": description}


def _task(name: str, required: dict[str, int]) -> Json:
    """The rules of one task type; `required` fields with the least number of elements."""
    return {
        "if": {"properties": {"task_type": {"const": name}}, "required": ["task_type"]},
        "then": {
            "required": list(required),
            "properties": {
                **{field: {"minItems": least} for field, least in required.items()},
                **{field: {"not": {}} for field in sorted(FORBIDDEN[name])},
            },
        },
    }


SCHEMA: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "One line of a legal_eval_v1 file",
    "type": "object",
    "required": ["schema_version", "id", "dataset", "task_type", "prompt"],
    "properties": {
        "schema_version": {"const": VERSION},
        "id": {**TEXT, "description": "a stable id, unique in the file"},
        "dataset": {**TEXT, "description": "the name of the source dataset"},
        "task_type": {"enum": ["rubric_qa", "reference_qa", "mcq"]},
        "prompt": {**TEXT, "description": "the question or instruction"},
        "context": {"type": "string", "description": "supporting text; leave it out where there is none"},
        "messages": _list(
            _object(["role", "content"], role={"enum": ["user", "assistant", "system"]}, content=TEXT),
            "the conversation so far",
        ),
        "attachments": _list(
            _object(["path"], path=TEXT, kind=_ANY_TEXT, title=_ANY_TEXT),
            "documents, by a path relative to the dataset's folder",
        ),
        "metadata": {"type": "object", "description": "anything else; `policy_id` selects prompting and judging"},
        "rubric": _list(
            _object(["id", "title"], id=TEXT, title=TEXT, description=_ANY_TEXT, weight={"type": "number"}),
            "the criteria; a negative weight means that meeting it is bad",
        ),
        "reference_answers": _list(TEXT, "good answers"),
        "choices": _list(_object(["id", "text"], id=TEXT, text=_ANY_TEXT), "the options"),
        "correct_choice_ids": _list(TEXT, "the ids of the correct choices: exactly this set"),
    },
    "allOf": [
        _task("rubric_qa", {"rubric": 1}),
        _task("reference_qa", {"reference_answers": 1}),
        _task("mcq", {"choices": 2, "correct_choice_ids": 1}),
    ],
}
