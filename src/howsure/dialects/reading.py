"""Reading datasets: which dialect a file is of, and all of its cases or all of its problems, never half of either.

Reading takes two passes: `validate` looks at everything, then `read_cases` yields. Each pass hashes what it reads, and
the two must agree, so no case comes from a file that was not validated. `OnePass` does both at once, for a caller that
can take back what it made of the cases. finding.py turns what users type into files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Protocol, runtime_checkable

from msgspec import Struct

from howsure.dialects.base import Importer
from howsure.dialects.finding import detect as detect
from howsure.dialects.finding import digest as digest
from howsure.dialects.finding import empty_file, readable
from howsure.dialects.finding import expand as expand
from howsure.dialects.finding import spool as spool
from howsure.dialects.lines import Watch
from howsure.dialects.wording import shown
from howsure.errors import Conflict, DatasetInvalid, Level, Problem
from howsure.model.case import Case

Look = Callable[[Case], object]

MOST_ALIKE = 100
"""Warnings with the same code and field that a report lists one by one."""


class FileReport(Struct, frozen=True, kw_only=True):
    """What validating one file gave. `cases` counts those that could be read."""

    path: str
    dialect: str
    cases: int
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    sha256: str = ""

    @property
    def valid(self) -> bool:
        return not self.problems


@runtime_checkable
class Watchable(Protocol):
    """A dialect that shows every byte as it reads it, so that the file need not be read again to be hashed. It also
    finds repeated ids itself, and can say on which line."""

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]: ...


@runtime_checkable
class Surveying(Protocol):
    """A watchable dialect that can look a file over without building its cases: None stands for one."""

    def survey(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem | None]: ...


@runtime_checkable
class Rereading(Protocol):
    """A watchable dialect that reads a file which it has found valid with less ado."""

    def read_again(self, path: Path, watch: Watch) -> Iterator[Case | Problem]: ...


def validate(path: Path, dialect: Importer, look: Look | None = None) -> FileReport:
    """One pass over the file: every problem and warning, and how many cases there are. `look` is shown each case."""
    tally = _Tally(path, look, tells_ids=isinstance(dialect, Watchable | Surveying))
    if look is None and isinstance(dialect, Surveying):
        hashed = sha256()
        with readable(path):
            tally.add_all(dialect.survey(path, hashed.update))
        return tally.report(dialect.name, hashed.hexdigest())
    reading = _Pass(path, dialect)
    tally.add_all(reading)
    return tally.report(dialect.name, reading.sha256)


def read_cases(path: Path, dialect: Importer, report: FileReport | None = None) -> Iterator[Case]:
    """Every case, or DatasetInvalid with every problem, raised before the first case. Conflict, when the file is no
    longer what was validated."""
    report = report or validate(path, dialect)
    if report.problems:
        raise DatasetInvalid(str(path), report.problems)
    return _cases(path, dialect, report.sha256)


def _cases(path: Path, dialect: Importer, expected: str) -> Iterator[Case]:
    reading = _Pass(path, dialect, again=True)
    for found in reading:
        if isinstance(found, Case):
            yield found
        elif found.level is Level.ERROR:
            raise changed(path)
    if reading.sha256 != expected:
        raise changed(path)


class _Pass:
    """One reading of a file; `sha256` is known once it is over."""

    def __init__(self, path: Path, dialect: Importer, *, again: bool = False) -> None:
        self.sha256 = ""
        self._again = again
        self._path = path
        self._dialect = dialect

    def __iter__(self) -> Iterator[Case | Problem]:
        with readable(self._path):
            yield from self._watched(self._dialect) if isinstance(self._dialect, Watchable) else self._hashed()

    def _watched(self, dialect: Watchable) -> Iterator[Case | Problem]:
        hashed = sha256()
        if self._again and isinstance(dialect, Rereading):
            yield from dialect.read_again(self._path, hashed.update)
        else:
            yield from dialect.read_watched(self._path, hashed.update)
        self.sha256 = hashed.hexdigest()

    def _hashed(self) -> Iterator[Case | Problem]:
        before = digest(self._path)
        yield from self._dialect.read(self._path)
        self.sha256 = digest(self._path)
        if self.sha256 != before:
            raise changed(self._path)


class OnePass:
    """Validates and yields in one reading, for a caller that keeps nothing before the end: the cases stop at the first
    problem, the reading does not, and `report` then names every problem."""

    def __init__(self, path: Path, dialect: Importer) -> None:
        self._path = path
        self._dialect = dialect
        self._tally = _Tally(path, None, tells_ids=isinstance(dialect, Watchable))

    def cases(self) -> Iterator[Case]:
        tally = self._tally
        with readable(self._path):
            before = _stamp(self._path)
            for found in self._dialect.read(self._path):
                if isinstance(found, Problem):
                    tally.note(found)
                else:
                    tally.add(found)
                    if not tally.problems:
                        yield found
            if _stamp(self._path) != before:
                raise changed(self._path)

    def report(self) -> FileReport:
        """Without a hash: nobody reads the file again."""
        return self._tally.report(self._dialect.name, "")


def _stamp(path: Path) -> tuple[int, int, int]:
    """What changes when a file is written to."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


class _Tally:
    """What a validating pass remembers: problems, a count, and ids where the dialect does not look after them."""

    def __init__(self, path: Path, look: Look | None, tells_ids: bool) -> None:
        self._path = path
        self._look = look
        self._ids: set[str] | None = None if tells_ids else set()
        self._cases = 0
        self.problems: list[Problem] = []
        self._warnings: list[Problem] = []
        self._alike: Counter[tuple[str, str]] = Counter()
        self._repeated: list[Problem] = []

    def add_all(self, read: Iterable[Case | Problem | None]) -> None:
        for found in read:
            if isinstance(found, Problem):
                self.note(found)
            else:
                self.add(found)

    def note(self, problem: Problem) -> None:
        """Every problem, and the first of many equal warnings: a large file may have one on each line."""
        kind = (problem.code, problem.field)
        if problem.level is Level.ERROR:
            self.problems.append(problem)
            return
        self._alike[kind] += 1
        if self._alike[kind] <= MOST_ALIKE:
            self._warnings.append(problem)

    def add(self, case: Case | None) -> None:
        """None: a case that was not built."""
        self._cases += 1
        if case is None:
            return
        if self._look is not None:
            self._look(case)
        if self._ids is not None:
            if case.id in self._ids:
                self._repeated.append(_repeated(case.id, self._path))
            self._ids.add(case.id)

    def report(self, dialect: str, sha256: str) -> FileReport:
        problems = list(self.problems)
        if not any(problem.code == "duplicate-id" for problem in problems):
            problems += self._repeated
        if not problems and not self._cases:
            problems = [empty_file(self._path)]
        return FileReport(
            path=str(self._path),
            dialect=dialect,
            cases=self._cases,
            problems=tuple(problems),
            warnings=(*self._warnings, *self._more()),
            sha256=sha256,
        )

    def _more(self) -> Iterator[Problem]:
        for (code, field), count in self._alike.items():
            if count > MOST_ALIKE:
                message = f"and {count - MOST_ALIKE:,} more lines with this warning"
                file = str(self._path)
                yield Problem(code=code, message=message, file=file, field=field, level=Level.WARNING)


def _repeated(id: str, path: Path) -> Problem:
    message = f"two cases have the id {shown(id)}"
    return Problem(code="duplicate-id", message=message, file=str(path), field="id", hint="ids must be unique")


def changed(path: Path) -> Conflict:
    return Conflict(f"{path} changed while it was being read; try again when nothing else writes to it")
