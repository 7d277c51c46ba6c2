"""The survey: one look at every case before anything runs. It validates, counts, and finds what would go wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from howsure.dialects.base import Importer
from howsure.dialects.finding import detect, expand
from howsure.dialects.ids import Ids
from howsure.dialects.reading import FileReport, read_cases, validate
from howsure.dialects.test_set_writing import HEADER
from howsure.errors import DatasetInvalid, PlanRefused, Problem
from howsure.kit import Kit
from howsure.model.case import Case

Filters = Mapping[str, tuple[str, ...]]
Look = Callable[[Case], None]
Shape = Callable[[Case], Case]
"""What becomes of a case before it is tried."""


class Dataset(Struct, frozen=True):
    """A file, who reads it, and what the first pass found. `header` is what a test set says of itself."""

    path: Path
    dialect: Importer
    report: FileReport
    header: Mapping[str, Any] = field(default_factory=dict)


class Survey(Struct, frozen=True, kw_only=True):
    """What the first pass over all files found; `cases` reads them again, one at a time."""

    datasets: tuple[Dataset, ...]
    filters: Filters = field(default_factory=dict)
    limit: int | None = None
    total: int = 0
    shape: Shape | None = None

    @property
    def warnings(self) -> list[Problem]:
        return [warning for dataset in self.datasets for warning in dataset.report.warnings]

    def cases(self) -> Iterator[Case]:
        """The selected cases, in the order of the files; a file that changed meanwhile raises `Conflict`."""
        every = (case for each in self.datasets for case in read_cases(each.path, each.dialect, each.report))
        chosen = islice(selected(every, self.filters), self.limit)
        return chosen if self.shape is None else map(self.shape, chosen)


def survey(
    paths: Sequence[str],
    kit: Kit,
    look: Look,
    *,
    dialect: str = "",
    filters: Filters | None = None,
    limit: int | None = None,
    glance: bool = False,
) -> Survey:
    """Read every file once, show each selected case to `look`, and refuse with every problem of every file.

    `glance`: nothing but the answer matters of a case, so those that bring theirs need not be built to be looked at.
    """
    chosen: Filters = filters or {}
    files = expand([Path(path) for path in paths], list(kit.dialects))
    seen = _Seen(look, chosen, limit, several=len(files) > 1)
    datasets: list[Dataset] = []
    problems: list[Problem] = []
    for path in files:
        reader = kit.reader(dialect) if dialect else detect(path, list(kit.dialects))
        seen.begin(path.name)
        if glance and not chosen and len(files) == 1 and getattr(reader, "brings_answers", False):
            report = validate(path, reader)
            seen.read = report.cases
            seen.total = report.cases if limit is None else min(report.cases, limit)
        else:
            report = validate(path, reader, seen)
        problems += [*report.problems, *seen.clashes]
        seen.clashes.clear()
        datasets.append(Dataset(path, reader, report, seen.header))
    if problems:
        raise DatasetInvalid(", ".join(str(each.path) for each in datasets), problems)
    if not seen.total:
        raise PlanRefused(_nothing_left(seen, chosen))
    return Survey(datasets=tuple(datasets), filters=chosen, limit=limit, total=seen.total)


class _Seen:
    """Counts the selected cases and notices ids that occur in two files, where there are several."""

    def __init__(self, look: Look, filters: Filters, limit: int | None, *, several: bool) -> None:
        self._look = look
        self._filters = filters
        self._limit = limit
        self._ids = Ids() if several else None
        self._files: list[str] = []
        self.header: Mapping[str, Any] = {}
        self.read = 0
        self.total = 0
        self.clashes: list[Problem] = []

    def begin(self, file: str) -> None:
        self._files.append(file)
        self.header = {}

    def __call__(self, case: Case) -> None:
        self.read += 1
        self.header = self.header or case.metadata.get(HEADER, {})
        if self._ids is not None and not self._ids.is_new(case.id, len(self._files)):
            first = self._files[self._ids.line_of(case.id) - 1]
            self.clashes.append(_clash(case.id, first, self._files[-1]))
        if (self._limit is None or self.total < self._limit) and matches(case, self._filters):
            self.total += 1
            self._look(case)


def _clash(case_id: str, first: str, second: str) -> Problem:
    return Problem(
        code="duplicate-id",
        message=f"the case {case_id!r} is also in {first}",
        file=second,
        field="id",
        expected="ids that are unique over all files of one run",
        found=case_id,
        hint="run the files one by one, or rename one of the cases",
    )


def _nothing_left(seen: _Seen, filters: Filters) -> str:
    if not seen.read:
        return "there is no case to run: the dataset holds none"
    wanted = ", ".join(f"{key}:{','.join(values)}" for key, values in filters.items())
    return f"there is no case to run: none of {seen.read} has {wanted or 'a place under the limit'}"


def selected(cases: Iterable[Case], filters: Filters) -> Iterator[Case]:
    return (case for case in cases if matches(case, filters)) if filters else iter(cases)


def matches(case: Case, filters: Filters) -> bool:
    """Whether the case has one of the wanted values for every key: its id, a tag, a label, or in its metadata."""
    return all(not values_of(case, key).isdisjoint(wanted) for key, wanted in filters.items())


def values_of(case: Case, key: str) -> set[str]:
    if key in ("id", "case_id"):
        return {case.id}
    if key in ("tag", "tags"):
        return set(case.tags)
    if key in case.labels:
        return {case.labels[key]}
    value = case.metadata.get(key)
    if value is None and isinstance(inner := case.metadata.get("metadata"), dict):
        value = inner.get(key)
    return {str(each) for each in value} if isinstance(value, list) else set() if value is None else {str(value)}
