"""Fields that a format does not know, at any depth: set apart before the row is read, kept in the case's metadata under
`unknown_fields` by JSON Pointer, and put back in place when the row is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from howsure.dialects.json_places import Spot
from howsure.dialects.problems import unknown_fields
from howsure.errors import Problem

KEY = "unknown_fields"
"""Where a case's metadata keeps them. A file's own metadata may not use this key."""


class Extras(Struct, frozen=True):
    """What was set apart, by JSON Pointer, and a warning for each."""

    kept: dict[str, Any]
    warnings: list[Problem]


def set_apart(value: Any, schema: Mapping[str, Any], spot: Spot) -> Extras:
    """Takes out of `value` (in place) every field that `schema` does not name. Objects for which the schema names no
    fields, or says `additionalProperties: true`, are free: everything in them is known."""
    extras = Extras({}, [])
    for parts, holder, known in list(_closed_objects(value, schema)):
        if holder.keys() <= known.keys():
            continue
        place = spot.below(*parts)
        extras.warnings.extend(unknown_fields(holder, known, file=place.file, line=place.line, prefix=place.prefix))
        for name in [name for name in holder if name not in known]:
            extras.kept[_pointer((*parts, name))] = holder.pop(name)
    return extras


def put_back(row: dict[str, Any], kept: Mapping[str, Any]) -> None:
    """Undoes `set_apart`. A pointer that leads nowhere is a LookupError."""
    for pointer, value in kept.items():
        *way, name = (part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
        holder: Any = row
        for step in way:
            holder = holder[int(step) if isinstance(holder, Sequence) else step]
        holder[name] = value


def _pointer(parts: Sequence[str | int]) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


Parts = tuple[str | int, ...]
Closed = tuple[Parts, dict[str, Any], Mapping[str, Any]]
"""An object whose fields the schema names: its path, itself, and those names."""


def _closed_objects(value: Any, schema: Mapping[str, Any], parts: Parts = ()) -> Iterator[Closed]:
    if isinstance(value, list):
        inside = schema.get("items", {})
        for index, element in enumerate(value):
            if isinstance(element, dict | list):
                yield from _closed_objects(element, inside, (*parts, index))
        return
    fields: Mapping[str, Any] = schema.get("properties", {})
    if not isinstance(value, dict) or not fields or schema.get("additionalProperties") is True:
        return
    yield parts, value, fields
    for name, inner in value.items():
        if isinstance(inner, dict | list) and name in fields:
            yield from _closed_objects(inner, fields[name], (*parts, name))
