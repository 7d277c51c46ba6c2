"""The JSON Schema of one row of a simulation file (a line of JSONL; in CSV the same values stand in cells as JSON)."""

from __future__ import annotations

from howsure.dialects import reference_data
from howsure.dialects.documents import Json
from howsure.dialects.simulation_columns import JSON_COLUMNS, NUMBERED, PLAIN

_KINDS = {dict: "object", list: "array", str: "string", bool: "boolean"}
_TEXTS: Json = {"type": "array", "items": {"type": "string"}}
_OWN: dict[str, Json] = {
    "user_inputs": _TEXTS,
    "agents_evaluated": _TEXTS,
    "reference_data": reference_data.SCHEMA,
    "final_response": {"type": ["string", "null"]},
}
SCHEMA: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A finished conversation (one row of a simulation file)",
    "type": "object",
    "properties": {
        **{name: {} for name in PLAIN},
        **{
            name: {"type": [*dict.fromkeys([*(_KINDS[kind] for kind in kinds), "string", "null"])]}
            for name, kinds in JSON_COLUMNS.items()
        },
        **_OWN,
    },
    "patternProperties": {f"^{family.removesuffix('.')}\\.": {} for family in NUMBERED},
}
