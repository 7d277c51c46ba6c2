"""The part of an answer that a judge of language reads: of JSON, its texts; of anything else, all of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_FENCED = re.compile(r"\A```\w*\s*\n(?P<inside>.*)\n\s*```\Z", re.DOTALL)
# Addresses, times and codes stand in text fields too, and no one would judge their style.
_NOT_TEXT = re.compile(
    r"\A(?:[a-z][a-z0-9+.-]*://\S+|\S+@\S+\.\S+|[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.]+\S*)?|[\W\d_]*)\Z"
)


def judged_text(answer: str) -> str:
    """The texts of a JSON answer, one on each line, in their order; any other answer as it is."""
    stripped = answer.strip()
    if fenced := _FENCED.match(stripped):
        stripped = fenced["inside"].strip()
    if stripped[:1] not in ("{", "["):
        return answer
    try:
        texts = list(_texts(json.loads(stripped, strict=False)))
    except (ValueError, RecursionError):
        return answer
    return "\n".join(texts) or answer


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if not _NOT_TEXT.match(value.strip()):
            yield value.strip()
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
