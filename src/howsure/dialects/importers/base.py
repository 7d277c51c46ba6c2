"""What importers share: options, files, ids for sources without any, and loading: whole JSON with the lines of its
elements, or JSON lines, told apart by content and not by name.

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
from howsure.dialects.lines import Row, not_an_object, open_file, read_objects, split_lines
from howsure.dialects.problems import Spot, kind_of, shown, with_article
from howsure.dialects.strict_json import BOM, element_lines, parse_json
from howsure.errors import Problem

_encode = msgspec.json.Encoder().encode
SKIPPED = "skipped-case"
"""The code of the warning that something in the file became no case, and why."""


class ImportOptions(Struct, frozen=True, kw_only=True):
    """A user's options for a source. `since` is in epoch seconds; `runs` are names of runs or parts of them; `to` is
    the format that it is converted to."""

    agent: str = ""
    prefix: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    per_turn: bool = False
    since: float | None = None
    runs: tuple[str, ...] = ()
    agent_folder: Path | None = None
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

    def __init__(self, prefix: str, mark: str = "_") -> None:
        self._prefix = f"{prefix}{mark}"
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


Placed = tuple[Spot, Any]


class LoadedFile(Struct, frozen=True, kw_only=True):
    """The JSON value of a file; `problems` and no value where it is not JSON."""

    value: Any
    text: str
    spot: Spot
    problems: list[Problem]


def load_file(path: Path, watch: Watch | None = None) -> LoadedFile:
    with open_file(path, watch) as file:
        raw = file.read()
    spot = Spot(str(path), 1)
    value, problems = parse_json(raw, file=spot.file)
    text = "" if problems else raw.decode("utf-8-sig")
    return LoadedFile(value=None if problems else value, text=text, spot=spot, problems=problems)


def list_elements(loaded: LoadedFile, key: str = "") -> Iterator[Placed]:
    """The elements of the list in the file, or under `key` of its object, each with its place."""
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


def read_records(path: Path, watch: Watch | None = None) -> Iterator[tuple[Spot, Row | Problem]]:
    """The objects of a JSON list, or of JSON lines."""
    if is_list(first_bytes(path)):
        yield from list_objects(load_file(path, watch))
        return
    for number, found in read_objects(split_lines(path, watch), str(path)):
        yield Spot(str(path), number), found


def list_objects(loaded: LoadedFile) -> Iterator[tuple[Spot, Row | Problem]]:
    yield from ((loaded.spot, problem) for problem in loaded.problems)
    for spot, element in list_elements(loaded):
        yield spot, element if isinstance(element, dict) else not_an_object(element, spot)


def first_bytes(path: Path) -> bytes:
    with open_file(path) as file:
        return file.read(1 << 10)


def wrong_kind(spot: Spot, expected: str, found: Any) -> Problem:
    """The problem of JSON of another kind than expected."""
    message = f"must be {expected}, not {with_article(kind_of(found))}"
    return spot.problem("wrong-kind", message, expected=expected, found=shown(found))
