"""JSON files that are loaded whole: the object a file holds, the elements of its list with the lines they start on, ids
that must be unique, and writing such a file. Line formats are in lines.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from howsure.dialects.json_places import Spot, element_lines
from howsure.dialects.lines import Watch, opened
from howsure.dialects.strict_json import parse
from howsure.dialects.wording import a, kind_of, shown
from howsure.dialects.writing import line_of, write_binary
from howsure.errors import DatasetInvalid, Level, Problem
from howsure.model.case import Case
from howsure.model.expectation import Expectation

Json = dict[str, Any]
Reason = tuple[str, str]
"""A field of a Case, and why the format cannot say what it holds."""


class Document:
    """A file that should hold one object; `value` is None where it does not, and `problems` say why."""

    def __init__(self, path: Path, watch: Watch | None = None) -> None:
        with opened(path, watch) as file:
            text = file.read()
        self.spot = Spot(str(path), 1)
        loaded, self.problems = parse(text, file=str(path))
        self.value: Json | None = loaded if isinstance(loaded, dict) else None
        self._text = "" if self.value is None else text.decode("utf-8-sig")
        if self.value is None and not self.problems:
            message = f"must be an object, not {a(kind_of(loaded))}"
            self.problems = [self.spot.problem("wrong-type", message, expected="object", found=shown(loaded))]

    def elements(self, key: str) -> Iterator[tuple[Spot, Any]]:
        """The elements of the list under `key`, each with its place; nothing where that is no list."""
        listed = self.value.get(key) if self.value else None
        if isinstance(listed, list):
            lines = element_lines(self._text, key)
            for place, (line, element) in enumerate(zip(lines, listed, strict=True)):
                yield Spot(self.spot.file, line).below(key, place), element


class UniqueIds:
    """The ids of one file, and where each was first seen."""

    def __init__(self, field: str) -> None:
        self._field = field
        self._seen: dict[str, Spot] = {}

    def problems(self, element: Any, spot: Spot) -> Iterator[Problem]:
        id = element.get(self._field) if isinstance(element, dict) else None
        if not isinstance(id, str):
            return
        first = self._seen.setdefault(id, spot)
        if first != spot:
            message = f"the id {shown(id)} stands on line {first.line} already (`{first.prefix}`)"
            yield spot.below(self._field).problem("duplicate-id", message, found=shown(id), hint="ids must be unique")


def write_json(document: Any, path: Path) -> None:
    """Indented, in the order given, readable in any editor."""
    write_binary(path, lambda file: file.write(indented(document, 0) + b"\n"))


def indented(document: Any, level: int) -> bytes:
    """The text of a value that stands so many levels inside of its document."""
    text = msgspec.json.format(line_of(document), indent=2).rstrip()
    return text.replace(b"\n", b"\n" + b"  " * level) if level else text


def checked(cases: Iterable[Case], path: Path, reasons: Callable[[Case], Iterable[Reason]]) -> list[Case]:
    """The cases, or every reason why they cannot be written: what a format has no words for is never dropped."""
    return list(checking(cases, path, reasons))


def checking(cases: Iterable[Case], path: Path, reasons: Callable[[Case], Iterable[Reason]]) -> Iterator[Case]:
    """As `checked`, one at a time: the reasons are raised after the last case, and what was made of the others until
    then must not be kept."""
    problems: list[Problem] = []
    for case in cases:
        found = [_not_writable(case, path, *reason) for reason in reasons(case)]
        problems += found
        if not problems:
            yield case
    if problems:
        raise DatasetInvalid(str(path), problems)


def _not_writable(case: Case, path: Path, field: str, message: str) -> Problem:
    return Problem(
        code="not-writable",
        message=f"case {case.id!r}: {message}",
        file=str(path),
        field=field,
        hint="write this case in another dialect, or leave the field out",
    )


def foreign_expectations(case: Case, known: Sequence[type[Expectation]], dialect: str) -> Iterator[Reason]:
    """Expectations of a kind that the format does not know, or that it has room for only once."""
    seen: set[type] = set()
    for expectation in case.expectations:
        kind = type(expectation)
        if kind not in known:
            yield "expectations", f"{dialect} files have no place for {kind.__name__}"
        elif kind in seen:
            yield "expectations", f"{dialect} files have room for one {kind.__name__} only"
        seen.add(kind)


def beyond(case: Case, fields: Iterable[str], dialect: str) -> Iterator[Reason]:
    """Fields that are set and that the format does not have."""
    for name in fields:
        if getattr(case, name) not in (None, "", ()):
            yield name, f"{dialect} files have no place for `{name}`"


def unplaced(case: Case, known: Sequence[str], dialect: str) -> Iterator[Reason]:
    """Metadata that the format has no field for."""
    for key in case.metadata:
        if key not in known:
            yield f"metadata.{key}", f"{dialect} files have no place for `{key}`"


class Alike:
    """Cases one after the other, all of which must keep the same of the file they came from, under `key` of their
    metadata: one file can say it only once. What they keep is `shared`, from the first on; that they differ is raised
    after the last."""

    def __init__(self, cases: Iterable[Case], key: str, path: Path) -> None:
        self._cases = cases
        self._key = key
        self._path = path
        self.shared: Json = {}

    def __iter__(self) -> Iterator[Case]:
        first, other = True, None
        for case in self._cases:
            kept = case.metadata.get(self._key, {})
            if first:
                self.shared, first = kept, False
            elif other is None and kept != self.shared:
                other = case
            yield case
        if other is not None:
            raise DatasetInvalid(str(self._path), [_unlike(other, self._key, self._path)])


def raise_problems(read: Iterable[Case | Problem], path: Path) -> None:
    """Of a file that was written beside its place: what is wrong with it is said of `path`."""
    found = [one for one in read if isinstance(one, Problem) and one.level is Level.ERROR]
    if found:
        raise DatasetInvalid(str(path), [structs.replace(one, file=str(path)) for one in found])


def shared(cases: Sequence[Case], key: str, path: Path) -> Json:
    """What the cases' metadata keeps of the file they came from: one file can say it only once."""
    kept: Json = cases[0].metadata.get(key, {}) if cases else {}
    other = next((case for case in cases if case.metadata.get(key, {}) != kept), None)
    if other is None:
        return kept
    raise DatasetInvalid(str(path), [_unlike(other, key, path)])


def _unlike(other: Case, key: str, path: Path) -> Problem:
    message = f"case {other.id!r} comes from another file than the first one: their `{key}` differ"
    field, hint = f"metadata.{key}", "write one file for each, or make them equal"
    return Problem(code="not-writable", message=message, file=str(path), field=field, hint=hint)
