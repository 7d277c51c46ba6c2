"""What importers share: the options a user may give them, where they look in a folder, and ids for sources without any.

An importer that has options has `chosen(options)`; one that finds its files in places of its own has `files(folder)`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec
from msgspec import Struct, field

from assay.dialects.base import Importer
from assay.dialects.json_places import Spot
from assay.errors import Problem

SKIPPED = "skipped-case"
"""The code of the warning that says that, and why, something in the file became no case."""


class Options(Struct, frozen=True, kw_only=True):
    """What a user may say about a source. `since` is in seconds of the epoch; `runs` are names of runs or parts."""

    agent: str = ""
    prefix: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    per_turn: bool = False
    since: float | None = None
    runs: tuple[str, ...] = ()
    agent_folder: Path | None = None


@runtime_checkable
class Choosing(Protocol):
    """An importer that reads differently by options."""

    def chosen(self, options: Options) -> Importer: ...


@runtime_checkable
class Searching(Protocol):
    """An importer that knows where its files lie in a folder; none: they are looked for as usual."""

    def files(self, folder: Path) -> list[Path]: ...


class HashIds:
    """Ids from what the user says, for sources that have none: `q_3f…`, and `q_3f…-2` for the second with the same
    words. Neither lines nor outputs count, so an insertion changes no other id."""

    def __init__(self, prefix: str, mark: str = "_") -> None:
        self._prefix = f"{prefix}{mark}"
        self._seen: Counter[str] = Counter()

    def of(self, *texts: str) -> str:
        digest = text_hash(texts)
        self._seen[digest] += 1
        count = self._seen[digest]
        return f"{self._prefix}{digest}" if count == 1 else f"{self._prefix}{digest}-{count}"


def text_hash(texts: Sequence[str]) -> str:
    """Twelve hexadecimal digits."""
    return sha256(msgspec.json.encode(texts)).hexdigest()[:12]


def skipped(spot: Spot, why: str, hint: str = "") -> Problem:
    """Something that became no case; the file is valid all the same."""
    return spot.warning(SKIPPED, f"left out: {why}", hint=hint)
