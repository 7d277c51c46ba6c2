"""The fields of an object that a judge gave, whatever it calls them: `criteriaMet`, `criteria_met` and `Criteria met`
are one key; the reason has five names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from howsure.judges.rulings import Unreadable

NUMBERS = ("score", "rating", "grade", "result")
VERDICTS = ("verdict", "passed", "pass", "met", "criteriamet", "criterionmet")
REASONS = ("explanation", "rationale", "reasoning", "reason", "thoughtchain")
EVIDENCE = ("evidence", "quotes", "quote")

_NOT_PLAIN = re.compile(r"[^a-z0-9]")


@lru_cache(maxsize=4096)
def plain_key(key: str) -> str:
    return _NOT_PLAIN.sub("", key.lower())


def fields_of(said: Mapping[str, Any]) -> dict[str, Any]:
    """By plain key."""
    fields: dict[str, Any] = {}
    for key, value in said.items():
        plain = plain_key(key)
        if plain in fields and fields[plain] != value:
            raise Unreadable(f"the reply says two things under the key {key!r}")
        fields[plain] = value
    return fields


def reason_in(fields: Mapping[str, Any]) -> tuple[str, str]:
    """The reason, and the key it stands under."""
    for key in REASONS:
        said = fields.get(key)
        if isinstance(said, str) and said.strip():
            return said.strip(), key
    return "", ""


def evidence_in(fields: Mapping[str, Any]) -> tuple[tuple[str, ...], str]:
    """What the judge quotes, and the key it stands under. A number is that of a turn."""
    for key in EVIDENCE:
        said = fields.get(key)
        if isinstance(said, str) and said.strip():
            return (said,), key
        if isinstance(said, list) and all(isinstance(each, str) or type(each) is int for each in said):
            return tuple(each if isinstance(each, str) else f"turn {each}" for each in said), key
    return (), ""
