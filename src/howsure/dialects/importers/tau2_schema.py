"""The shape of one tau2 task, as far as it is read; other fields are free."""

from __future__ import annotations

from howsure.dialects.documents import Json
from howsure.dialects.reference_data import TEXT

_LOOSE: Json = {"type": ["string", "null"]}
_STATEMENTS: Json = {"type": ["array", "null"], "items": TEXT}
_ACTION: Json = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "action_id": {"type": ["string", "integer"]},
        "name": TEXT,
        "requestor": {"enum": ["assistant", "user"]},
        "arguments": {"type": ["object", "null"]},
        "compare_args": {"type": ["array", "null"], "items": {"type": "string"}},
        "info": _LOOSE,
    },
}
_INSTRUCTIONS: Json = {
    "anyOf": [
        TEXT,
        {
            "type": "object",
            "required": ["reason_for_call"],
            "properties": {
                "reason_for_call": TEXT,
                "domain": _LOOSE,
                "task_instructions": _LOOSE,
                "known_info": _LOOSE,
                "unknown_info": _LOOSE,
            },
        },
    ]
}
TASK: Json = {
    "type": "object",
    "required": ["id", "user_scenario"],
    "properties": {
        "id": TEXT,
        "user_scenario": {
            "type": "object",
            "required": ["instructions"],
            "properties": {"persona": _LOOSE, "instructions": _INSTRUCTIONS},
        },
        "initial_state": {"type": ["object", "null"]},
        "evaluation_criteria": {
            "type": ["object", "null"],
            "properties": {
                "actions": {"type": ["array", "null"], "items": _ACTION},
                "communicate_info": _STATEMENTS,
                "nl_assertions": _STATEMENTS,
                "env_assertions": {"type": ["array", "null"]},
            },
        },
    },
}
