"""Answers made worse on purpose, so that it can be seen whether a judge tells good ones from poor ones. Each change has
a name; the same answer always gives the same worse ones."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

BANDS = ("excellent", "good", "mixed", "poor")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_FIXED = frozenset({"questions", "options"})
"""Lists whose length is part of what an output must be."""
_WORDS_OF_A_THIN_TEXT = 4


class Worse(Struct, frozen=True):
    """An answer of one band, and the names of what was done to it."""

    text: str
    mutations: tuple[str, ...]


def worsened(answer: str, band: str) -> Worse | None:
    """The answer as one of that band would be; None where there is too little of it to take away."""
    if band == BANDS[0]:
        return Worse(answer, ())
    try:
        value = json.loads(answer)
    except (ValueError, RecursionError):
        value = None
    made = _worse_json(value, band) if isinstance(value, dict) else _worse_prose(answer, band)
    return made if made is not None and made.mutations else None


def _worse_prose(answer: str, band: str) -> Worse | None:
    sentences = _SENTENCE.split(answer.strip())
    if len(sentences) < len(BANDS):
        return None
    if band == "good":
        return Worse(" ".join(sentences[:-1]), ("drop-last-sentence",))
    if band == "mixed":
        return Worse(" ".join(sentences[: len(sentences) // 2]), ("keep-half-of-sentences",))
    return Worse(_thin(sentences[0]), ("keep-first-sentence", "thin-texts"))


def _worse_json(value: dict[str, Any], band: str) -> Worse | None:
    lists = sorted(_lists(value), key=lambda found: (-len(found[1]), found[0]))
    names: list[str] = []
    if lists and len(lists[0][1]) >= len(BANDS) - 1:
        path, longest = lists[0]
        kept = {"good": len(longest) - 1, "mixed": len(longest) // 2, "poor": 1}[band]
        del longest[kept:]
        names.append(f"keep-{kept}-of:{path}")
    texts = sorted(_texts(value), key=lambda found: (-len(found[2][found[1]]), found[0]))
    thinned = texts[: {"good": 0 if names else 1, "mixed": 1, "poor": len(texts)}[band]]
    for path, key, holder in thinned:
        holder[key] = _thin(holder[key])
        names.append(f"thin-text:{path}")
    return Worse(json.dumps(value, ensure_ascii=False), tuple(names))


def _lists(value: Any, path: str = "") -> Iterator[tuple[str, list[Any]]]:
    """Every list that may be shortened, with its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            at = f"{path}.{key}" if path else key
            if isinstance(inner, list) and key not in _FIXED:
                yield at, inner
            else:
                yield from _lists(inner, at)
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _lists(inner, f"{path}[{index}]")


def _texts(value: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Every text that can be made thinner: its path, its key and what holds it."""
    places = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in places:
        at = f"{path}[{key}]" if isinstance(value, list) else f"{path}.{key}" if path else str(key)
        if isinstance(inner, str) and _thin(inner) != inner and " " in inner:
            yield at, key, value
        else:
            yield from _texts(inner, at)


def _thin(text: str) -> str:
    return " ".join(text.split()[:_WORDS_OF_A_THIN_TEXT])
