"""Unknown fields at any depth: they are separated before a row is read, kept in the case's metadata under
`unknown_fields` by JSON Pointer, and restored when the row is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from howsure.dialects.problems import Spot, unknown_fields
from howsure.errors import Problem

KEY = "unknown_fields"
"""Where a case's metadata keeps them. A file's own metadata may not use this key."""


class Extras(Struct, frozen=True):
    """The separated fields by JSON Pointer, and a warning for each."""

    kept: dict[str, Any]
    warnings: list[Problem]


def separate_unknown(value: Any, schema: Mapping[str, Any], spot: Spot) -> Extras:
    """Removes from `value` (in place) every field that `schema` does not name. An object whose fields the schema does
    not name, or for which it says `additionalProperties: true`, is free: nothing in it is unknown."""
    extras = Extras({}, [])
    for parts, holder, known in list(_closed_objects(value, schema)):
        if holder.keys() <= known.keys():
            continue
        place = spot.below(*parts)
        extras.warnings.extend(unknown_fields(holder, known, place))
        for name in [name for name in holder if name not in known]:
            extras.kept["".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in (*parts, name))] = (
                holder.pop(name)
            )
    return extras


def restore_unknown(row: dict[str, Any], unknown: Mapping[str, Any]) -> None:
    """Puts separated fields back. A pointer that leads nowhere is a LookupError."""
    for pointer, value in unknown.items():
        *steps, name = (part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
        holder: Any = row
        for step in steps:
            holder = holder[int(step) if isinstance(holder, Sequence) else step]
        holder[name] = value


Parts = tuple[str | int, ...]
Closed = tuple[Parts, dict[str, Any], Mapping[str, Any]]
"""An object whose fields the schema names: its path, the object, and those names."""


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
