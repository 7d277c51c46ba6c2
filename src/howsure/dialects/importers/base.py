"""What importers share: the options a user may give them, where they look in a folder, and ids for sources without any.

An importer that has options has `chosen(options)`; one that finds its files in places of its own has `files(folder)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Protocol, Self, runtime_checkable

import msgspec
from msgspec import Struct, field

from howsure.dialects.base import Importer
from howsure.dialects.json_places import Spot
from howsure.errors import Problem

_encode = msgspec.json.Encoder().encode
SKIPPED = "skipped-case"
"""The code of the warning that says that, and why, something in the file became no case."""


class Options(Struct, frozen=True, kw_only=True):
    """What a user may say about a source. `since` is in seconds of the epoch; `runs` are names of runs or parts; `to`
    is the format that it is read for."""

    agent: str = ""
    prefix: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    per_turn: bool = False
    since: float | None = None
    runs: tuple[str, ...] = ()
    agent_folder: Path | None = None
    to: str = ""


@runtime_checkable
class Choosing(Protocol):
    """An importer that reads differently by options."""

    def chosen(self, options: Options) -> Importer: ...


class WithOptions:
    """The small base of an importer that has options: it is made with them."""

    def __init__(self, options: Options | None = None) -> None:
        self._options = options or Options()

    def chosen(self, options: Options) -> Self:
        return type(self)(options)


@runtime_checkable
class Searching(Protocol):
    """An importer that knows where its files lie in a folder; none: they are looked for as usual."""

    def files(self, folder: Path) -> list[Path]: ...


class HashIds:
    """Ids from what the user says, for sources that have none: `q_3f…`, and `q_3f…-2` for the second with the same
    words. Neither lines nor outputs count, so an insertion changes no other id."""

    def __init__(self, prefix: str, mark: str = "_") -> None:
        self._prefix = f"{prefix}{mark}"
        self._seen: dict[str, int] = {}

    def of(self, *texts: str) -> str:
        digest = text_hash(texts)
        count = self._seen[digest] = self._seen.get(digest, 0) + 1
        return f"{self._prefix}{digest}" if count == 1 else f"{self._prefix}{digest}-{count}"


def text_hash(texts: Sequence[str]) -> str:
    """Twelve hexadecimal digits."""
    return sha256(_encode(texts)).hexdigest()[:12]


def skipped(spot: Spot, why: str, hint: str = "") -> Problem:
    """Something that became no case; the file is valid all the same."""
    return spot.warning(SKIPPED, f"left out: {why}", hint=hint)
