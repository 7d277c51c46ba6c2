"""What importers share: options, ids for sources without any, records of JSON lists, and problems.

An importer with options has `chosen(options)`; one that finds its files in places of its own has `files(folder)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

import msgspec
from msgspec import Struct, field

from howsure.dialects.base import Importer, Watch
from howsure.dialects.documents import load_json
from howsure.dialects.lines import Row, not_an_object
from howsure.dialects.problems import Spot, kind_of, shown, with_article
from howsure.dialects.strict_json import BOM
from howsure.errors import Problem

_encode = msgspec.json.Encoder().encode
SKIPPED = "skipped-case"
"""The code of the warning that something in the file became no case, and why."""


class ImportOptions(Struct, frozen=True, kw_only=True):
    """A user's options for a source. `since` is in epoch seconds; `runs` are names of runs or parts of them; `criteria`
    is a file of evaluation criteria beside it; `to` is the format that it is converted to."""

    agent: str = ""
    prefix: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    per_turn: bool = False
    since: float | None = None
    runs: tuple[str, ...] = ()
    agent_folder: Path | None = None
    criteria: Path | None = None
    to: str = ""


@runtime_checkable
class ConfigurableImporter(Protocol):
    """An importer whose reading depends on options."""

    def chosen(self, options: ImportOptions) -> Importer: ...


class OptionImporter:
    """The small base of an importer with options."""

    def __init__(self, options: ImportOptions | None = None) -> None:
        self._options = options or ImportOptions()

    def chosen(self, options: ImportOptions) -> Self:
        return type(self)(options)


@runtime_checkable
class FolderImporter(Protocol):
    """An importer that finds its own files in a folder. If it finds none, they are searched as usual."""

    def files(self, folder: Path) -> list[Path]: ...


class HashIds:
    """Ids from what the user says, for sources without ids: `q_3f…`, and `q_3f…-2` for the second with the same words.
    Neither lines nor outputs count, so an insertion changes no other id."""

    def __init__(self, prefix: str) -> None:
        self._prefix = f"{prefix}_"
        self._seen: dict[str, int] = {}

    def of(self, *texts: str) -> str:
        digest = text_hash(texts)
        count = self._seen[digest] = self._seen.get(digest, 0) + 1
        return f"{self._prefix}{digest}" if count == 1 else f"{self._prefix}{digest}-{count}"


def text_hash(texts: Sequence[str]) -> str:
    """A hash of texts: twelve hexadecimal digits."""
    return sha256(_encode(texts)).hexdigest()[:12]


def skipped_case(spot: Spot, why: str, hint: str = "") -> Problem:
    """A warning for something that became no case; the file is still valid."""
    return spot.warning(SKIPPED, f"left out: {why}", hint=hint)


def list_records(path: Path, watch: Watch | None = None) -> Iterator[tuple[Spot, Row | Problem]]:
    """The objects of a file that holds one list."""
    document = load_json(path, watch)
    if document.problems:
        yield from ((document.spot, problem) for problem in document.problems)
        return
    if not isinstance(document.value, list):
        yield document.spot, wrong_kind(document.spot, "a list of records", document.value)
    for spot, element in document.elements():
        yield spot, element if isinstance(element, dict) else not_an_object(element, spot)


def is_list(head: bytes) -> bool:
    """Whether the file begins as a JSON list."""
    return head.removeprefix(BOM).lstrip()[:1] == b"["


def wrong_kind(spot: Spot, expected: str, found: Any) -> Problem:
    """The problem of JSON of another kind than expected."""
    message = f"must be {expected}, not {with_article(kind_of(found))}"
    return spot.problem("wrong-kind", message, expected=expected, found=shown(found))
