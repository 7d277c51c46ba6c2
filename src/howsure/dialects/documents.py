"""JSON files that are loaded whole: the object in a file, the elements of its list with the lines they start on, and
ids that must be unique. Line formats are in lines.py; writers.py writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from howsure.dialects.base import Watch
from howsure.dialects.lines import open_file
from howsure.dialects.problems import Spot, kind_of, shown, with_article
from howsure.dialects.strict_json import Json, element_lines, parse_json
from howsure.errors import Problem


class JsonDocument:
    """A file that should hold one object. Where it does not, `value` is None and `problems` say why."""

    def __init__(self, path: Path, watch: Watch | None = None) -> None:
        with open_file(path, watch) as file:
            text = file.read()
        self.spot = Spot(str(path), 1)
        loaded, self.problems = parse_json(text, file=str(path))
        self.value: Json | None = loaded if isinstance(loaded, dict) else None
        self._text = "" if self.value is None else text.decode("utf-8-sig")
        if self.value is None and not self.problems:
            message = f"must be an object, not {with_article(kind_of(loaded))}"
            self.problems = [self.spot.problem("wrong-type", message, expected="object", found=shown(loaded))]

    def elements(self, key: str) -> Iterator[tuple[Spot, Any]]:
        """The elements of the list under `key`, each with its place; nothing where there is no list."""
        elements = self.value.get(key) if self.value else None
        if isinstance(elements, list):
            lines = element_lines(self._text, key)
            for place, (line, element) in enumerate(zip(lines, elements, strict=True)):
                yield Spot(self.spot.file, line).below(key, place), element


class UniqueIds:
    """The ids of one file, and where each was first seen."""

    def __init__(self, field: str) -> None:
        self._field = field
        self._seen: dict[str, Spot] = {}

    def problems(self, element: Any, spot: Spot) -> Iterator[Problem]:
        id = element.get(self._field) if isinstance(element, dict) else None
        if not isinstance(id, str):
            return
        first = self._seen.setdefault(id, spot)
        if first != spot:
            message = f"the id {shown(id)} stands on line {first.line} already (`{first.prefix}`)"
            yield spot.below(self._field).problem("duplicate-id", message, found=shown(id), hint="ids must be unique")
