"""The JSON Schemas of the file shapes Howsure reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from howsure.dialects import responses
from howsure.dialects.base import Describing
from howsure.errors import UnknownName
from howsure.kit import Kit


def schemas(kit: Kit) -> dict[str, Callable[[], dict[str, Any]]]:
    """Name → what prints its schema: the dialects that have one, and the files that stand beside datasets."""
    known: dict[str, Callable[[], dict[str, Any]]] = {
        dialect.name: dialect.schema for dialect in kit.dialects if isinstance(dialect, Describing)
    }
    return known | {"responses": lambda: responses.SCHEMA}


def schema_of(name: str, kit: Kit) -> dict[str, Any]:
    known = schemas(kit)
    if name not in known:
        raise UnknownName("schema", name, list(known))
    return known[name]()
