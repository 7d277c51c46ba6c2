"""JSON files that are loaded whole: the value in a file, the elements of its list with the lines they start on, and ids
that must be unique. Line formats are in lines.py; writers.py writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from howsure.dialects.base import Watch
from howsure.dialects.ids import nul_problem
from howsure.dialects.lines import open_file
from howsure.dialects.problems import Spot, kind_of, shown, with_article
from howsure.dialects.strict_json import element_lines, parse_json
from howsure.errors import Problem


class JsonDocument(Struct, frozen=True):
    """The JSON value of a file and every problem of its text; the value is None where the text cannot be read."""

    value: Any
    text: str
    spot: Spot
    problems: list[Problem]

    def elements(self, key: str = "") -> Iterator[tuple[Spot, Any]]:
        """The elements of the list in the file, or under `key` of its object, each with its place; nothing where there
        is no list."""
        elements = self.value.get(key) if key and isinstance(self.value, dict) else self.value
        if isinstance(elements, list):
            lines = self.lines_of(key)
            for place, element in enumerate(elements):
                spot = Spot(self.spot.file, lines[place] if place < len(lines) else 1)
                yield (spot.below(key, place) if key else spot.below(place)), element

    def lines_of(self, key: str) -> Sequence[int]:
        """The lines on which the elements of a list begin."""
        return element_lines(self.text if key else f'{{"":{self.text}}}', key)


def load_json(path: Path, watch: Watch | None = None) -> JsonDocument:
    with open_file(path, watch) as file:
        text = file.read()
    value, problems = parse_json(text, file=str(path))
    return JsonDocument(value, "" if value is None else text.decode("utf-8-sig"), Spot(str(path), 1), problems)


def load_object(path: Path, watch: Watch | None = None) -> JsonDocument:
    """A file that should hold one object. Where it does not, the value is None and the problems say why."""
    document = load_json(path, watch)
    if isinstance(document.value, dict):
        return document
    message = f"must be an object, not {with_article(kind_of(document.value))}"
    problem = document.spot.problem("wrong-type", message, expected="object", found=shown(document.value))
    return structs.replace(document, value=None, problems=document.problems or [problem])


class UniqueIds:
    """The ids of one file, and where each was first seen."""

    def __init__(self, field: str) -> None:
        self._field = field
        self._seen: dict[str, Spot] = {}

    def problems(self, element: Any, spot: Spot) -> Iterator[Problem]:
        id = element.get(self._field) if isinstance(element, dict) else None
        if not isinstance(id, str):
            return
        if "\0" in id:
            yield nul_problem(id, spot.below(self._field))
        first = self._seen.setdefault(id, spot)
        if first != spot:
            message = f"the id {shown(id)} stands on line {first.line} already (`{first.prefix}`)"
            yield spot.below(self._field).problem("duplicate-id", message, found=shown(id), hint="ids must be unique")
