"""What the service answers, typed. Fields that are not written down here are kept in `more`: nothing that the service
says is lost, and a newer service does not break an older client."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field

Json = dict[str, Any]


class Shape(Struct, frozen=True, kw_only=True):
    """Something the service answered."""

    more: Json = field(default_factory=dict)


S = TypeVar("S", bound=Shape)


def read(kind: type[S], given: Any) -> S:
    """The shape; `msgspec.ValidationError` where it is not one."""
    if not isinstance(given, dict):
        return msgspec.convert(given, kind)
    known = _names(kind)
    return msgspec.convert({**given, "more": {key: given[key] for key in given.keys() - known}}, kind)


def sendable(body: Any) -> Any:
    """A shape as it was read, ready to be sent back; anything else as it is."""
    if not isinstance(body, Shape):
        return body
    said: Json = msgspec.to_builtins(body)
    return {**said.pop("more"), **said}


@cache
def _names(kind: type[Shape]) -> frozenset[str]:
    return frozenset(kind.__struct_fields__) - {"more"}
