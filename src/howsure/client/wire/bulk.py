"""Documents as entries of a file, and what became of each when it was brought in."""

from __future__ import annotations

from msgspec import field

from howsure.client.wire.base import Json, Shape


class Entry(Shape, frozen=True, kw_only=True):
    """One document at its newest version. That of a dataset has its `dialect`, and its file as `content`."""

    kind: str
    id: str
    document: Json


class Imported(Shape, frozen=True, kw_only=True):
    """What became of one entry: `created`, `kept` (there was one by this id) or `refused`."""

    line: int
    kind: str
    id: str
    status: str
    detail: str = ""
    problems: list[Json] = field(default_factory=list)
