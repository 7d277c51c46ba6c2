"""The contract of a dialect, and of an importer: a dialect that only reads. What a dialect may offer beyond the
contract (a schema, hashing while it reads, a faster second reading) is listed here too."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct, field

from howsure.errors import Problem
from howsure.model.case import Case

Watch = Callable[[memoryview], object]
"""Is shown every byte that is read, in pieces."""


class Importer(Protocol):
    """Reads one foreign file shape into Cases. Knows the format; knows no grader, no store.

    `read` yields every Case and every Problem of the file, and never raises for bad content: the caller decides
    (`datasets.read_cases` gives all cases or raises with all problems). Warnings are Problems of level WARNING.
    """

    name: str

    def detect(self, path: Path, head: bytes) -> bool:
        """Whether the file is of this dialect, judged by its name and its first 64 KiB."""
        ...

    def read(self, path: Path) -> Iterator[Case | Problem]: ...


@runtime_checkable
class Dialect(Importer, Protocol):
    """An importer that also writes: reading what it wrote gives equal Cases. It can be a target of `convert --to`."""

    def write(self, cases: Iterable[Case], path: Path) -> None: ...


class FileCandidates(Struct, frozen=True, kw_only=True):
    """The candidates that a file names. `targets` are blocks as in howsure.yaml, by a short name; `calls` are the call
    settings of those that are models; `refused` gives by name the reason why one cannot be asked. With several
    `prompts`, each of them is a candidate with every target. `code` is what checks answers by running, in `files` or
    the file itself."""

    targets: dict[str, dict[str, Any]] = field(default_factory=dict)
    calls: dict[str, dict[str, Any]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    prompts: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


@runtime_checkable
class CandidateDialect(Protocol):
    """A dialect whose files may name candidates."""

    name: str

    def detect(self, path: Path, head: bytes) -> bool: ...

    def candidates(self, path: Path) -> FileCandidates: ...

    def with_code(self, languages: Collection[str]) -> Any:
        """The dialect, for a file whose code may run."""
        ...


@runtime_checkable
class HasSchema(Protocol):
    """A dialect that can print its JSON Schema (`howsure schema NAME`)."""

    def schema(self) -> dict[str, Any]: ...


class WatchedDialect:
    """The base of a dialect that hands every byte to `watch` as it reads, so that the file is hashed in the same
    reading. It also finds repeated ids itself, and names their lines."""

    def read(self, path: Path) -> Iterator[Case | Problem]:
        return self.read_watched(path)

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        raise NotImplementedError


@runtime_checkable
class ScanningDialect(Protocol):
    """A watched dialect that can check a file without building its cases: None stands for a case."""

    def scan(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem | None]: ...


@runtime_checkable
class RereadingDialect(Protocol):
    """A watched dialect with a faster way to read a file that it has already found valid."""

    def read_again(self, path: Path, watch: Watch) -> Iterator[Case | Problem]: ...
