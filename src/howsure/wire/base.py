"""What all shapes share: fields that a newer service adds are kept in `more`, so that nothing is lost and an older
client does not break; and what OpenAPI says about a field besides its type."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import Meta, Struct, field

Json = dict[str, Any]

OMITTABLE = Meta(extra={"omittable": True})
"""Some answers leave this field out. Every other field is always answered, also where the struct has a default for the
answers of an older service."""


class WireShape(Struct, frozen=True, kw_only=True):
    """Something that the service answers."""

    more: Json = field(default_factory=dict)


S = TypeVar("S", bound=WireShape)


def documented_as(kind: Any, description: str | None = None) -> Meta:
    """For plain JSON in Python that OpenAPI describes as a type."""
    return Meta(extra={"documented_as": kind}, description=description)


def read_shape(kind: type[S], content: Any) -> S:
    """The shape; `msgspec.ValidationError` where the content is not one."""
    if not isinstance(content, dict):
        return msgspec.convert(content, kind)
    known = _field_names(kind)
    return msgspec.convert({**content, "more": {key: content[key] for key in content.keys() - known}}, kind)


def sendable_body(body: Any) -> Any:
    """A shape that was read, ready to be sent back; anything else unchanged."""
    if not isinstance(body, WireShape):
        return body
    content: Json = msgspec.to_builtins(body)
    return {**content.pop("more"), **content}


@cache
def _field_names(kind: type[WireShape]) -> frozenset[str]:
    return frozenset(kind.__struct_fields__) - {"more"}
