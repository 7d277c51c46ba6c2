"""Loading the files of importers: whole JSON of any kind with the lines its elements start on, or JSON lines, told
apart by what the file holds and not by its name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from howsure.dialects.json_places import Spot, element_lines
from howsure.dialects.lines import Row, Watch, not_an_object, opened, read_objects, split_lines
from howsure.dialects.strict_json import BOM, parse
from howsure.dialects.wording import a, kind_of, shown
from howsure.errors import Problem

Placed = tuple[Spot, Any]


class Loaded(Struct, frozen=True, kw_only=True):
    """What a file holds; `problems` where it is no JSON, and then no value."""

    value: Any
    text: str
    spot: Spot
    problems: list[Problem]


def load(path: Path, watch: Watch | None = None) -> Loaded:
    with opened(path, watch) as file:
        raw = file.read()
    spot = Spot(str(path), 1)
    value, problems = parse(raw, file=spot.file)
    text = "" if problems else raw.decode("utf-8-sig")
    return Loaded(value=None if problems else value, text=text, spot=spot, problems=problems)


def listed(loaded: Loaded, key: str = "") -> Iterator[Placed]:
    """The elements of the list that the file is, or that it has under `key`, each with its place."""
    elements = loaded.value.get(key) if key and isinstance(loaded.value, dict) else loaded.value
    if not isinstance(elements, list):
        return
    text = loaded.text if key else f'{{"":{loaded.text}}}'
    for place, (line, element) in enumerate(zip(element_lines(text, key), elements, strict=True)):
        spot = Spot(loaded.spot.file, line)
        yield (spot.below(key, place) if key else spot.below(place)), element


def is_list(head: bytes) -> bool:
    """Whether the file begins as a JSON list."""
    return head.removeprefix(BOM).lstrip()[:1] == b"["


def objects(path: Path, watch: Watch | None = None) -> Iterator[tuple[Spot, Row | Problem]]:
    """The objects of a JSON list, or of JSON lines."""
    if is_list(first_bytes(path)):
        yield from objects_of_list(load(path, watch))
        return
    for number, found in read_objects(split_lines(path, watch), str(path)):
        yield Spot(str(path), number), found


def objects_of_list(loaded: Loaded) -> Iterator[tuple[Spot, Row | Problem]]:
    yield from ((loaded.spot, problem) for problem in loaded.problems)
    for spot, element in listed(loaded):
        yield spot, element if isinstance(element, dict) else not_an_object(element, spot)


def first_bytes(path: Path) -> bytes:
    with opened(path) as file:
        return file.read(1 << 10)


def not_this(spot: Spot, expected: str, found: Any) -> Problem:
    """The file is JSON, and of another kind."""
    message = f"must be {expected}, not {a(kind_of(found))}"
    return spot.problem("wrong-kind", message, expected=expected, found=shown(found))
