"""The contract of a dialect, and of an importer: a dialect that only reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from howsure.errors import Problem
from howsure.model.case import Case


class Importer(Protocol):
    """Reads one foreign file shape into Cases. Knows the format; knows no grader, no store.

    `read` yields every Case and every Problem of the file, and never raises for bad content: whoever reads decides
    (`reading.read_cases` gives all cases or raises with all problems). Warnings are Problems of level WARNING.
    """

    name: str

    def detect(self, path: Path, head: bytes) -> bool:
        """Whether the file is of this dialect, judged by its name and its first 64 KiB."""
        ...

    def read(self, path: Path) -> Iterator[Case | Problem]: ...


class Dialect(Importer, Protocol):
    """An importer that also writes: reading what it wrote gives equal Cases."""

    def write(self, cases: Iterable[Case], path: Path) -> None: ...


@runtime_checkable
class Describing(Protocol):
    """A dialect that can print its JSON Schema (`howsure schema NAME`)."""

    def schema(self) -> dict[str, Any]: ...
