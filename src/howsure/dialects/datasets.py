"""Datasets: the files that a path stands for, the dialect of a file, and all of its cases or all of its problems.

Reading takes two passes: `validate` checks everything, then `read_cases` yields. Each pass hashes what it reads and the
hashes must agree, so no case comes from a file that was not validated. `OnePass` does both at once, for a caller that
can undo what it did with the cases.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from shlex import quote
from typing import TypeVar

from msgspec import Struct

from howsure.dialects.base import Importer, RereadingDialect, ScanningDialect, WatchedDialect
from howsure.dialects.lines import CHUNK, open_file
from howsure.dialects.problems import Spot, shown
from howsure.dialects.strict_json import BOM, parse_json
from howsure.errors import Conflict, DatasetInvalid, InputError, Level, NotFound, Problem
from howsure.model.case import Case, World

HEAD = 1 << 16
ENDINGS = (".csv", ".json", ".jsonl", ".ndjson")
STDIN = "-"
Note = Callable[[Problem], object]
R = TypeVar("R", bound=Importer)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turns operating system errors into errors that the user can act on."""
    try:
        yield
    except FileNotFoundError as error:
        raise NotFound(f"no such file: {path}") from error
    except IsADirectoryError as error:
        raise InputError(f"{path} is a folder; a file is needed here") from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def digest(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    hashed = sha256()
    with readable(path), open_file(path) as file:
        while piece := file.read(CHUNK):
            hashed.update(piece)
    return hashed.hexdigest()


def detect(path: Path, dialects: Iterable[R], importers: Iterable[Importer] = ()) -> R:
    """The one dialect that recognises the file. What one of `importers` reads is refused with the command to type."""
    known = list(dialects)
    head = _head(path)
    if _is_blank(head):
        raise DatasetInvalid(str(path), [empty_file(path)])
    fitting = [dialect for dialect in known if dialect.detect(path, head)]
    if len(fitting) == 1:
        return fitting[0]
    names = ", ".join(dialect.name for dialect in fitting or known)
    if fitting:
        raise InputError(f"{path}: fits several dialects ({names}); name one with --dialect")
    if foreign := [importer for importer in importers if importer.detect(path, head)]:
        raise InputError(
            f"{path}: this is a file of {foreign[0].name}, not yet a dataset; make one of it with"
            f" `howsure convert {quote(str(path))} {_conversion(path, foreign[0])}`"
        )
    raise InputError(f"{path}: not recognised as any dialect (known: {names}); name one with --dialect")


def _conversion(path: Path, importer: Importer) -> str:
    """The options of `howsure convert` for this file, by what its first case is."""
    first = next((each for each in importer.read(path) if isinstance(each, Case)), None)
    kind = first.world if first and first.world != World.PLAIN else World.GOLDEN
    if first and kind == World.GOLDEN and first.recorded is not None:
        kind = "simulation"
    ending = ".json" if kind in (World.GOLDEN, World.TEST_SET) else ".jsonl"
    return f"--to {kind} -o {quote(f'{path.stem}-{kind}{ending}')}"


def empty_file(path: Path) -> Problem:
    return Problem(code="empty-file", message="there are no cases in this file", file=str(path))


def expand(paths: Iterable[Path], dialects: Iterable[Importer] = (), note: Note | None = None) -> list[Path]:
    """The files behind the paths; a folder stands for the data files in it. With `dialects`, a file in a folder that
    none of them recognises (a rubric, a scenario catalog, an agent) is skipped, and `note` gets a warning."""
    known = list(dialects)
    files: list[Path] = []
    for path in paths:
        with readable(path):
            if path.is_dir():
                files += _in_folder(path, known, note)
            elif path.exists() or str(path) == STDIN:
                files.append(path)
            else:
                raise NotFound(f"no such file: {path}")
    return list(dict.fromkeys(files))


def is_pipe(path: Path) -> bool:
    """Whether the path can be read only once: standard input, a FIFO, a device."""
    if str(path) == STDIN:
        return True
    with readable(path):
        mode = os.stat(path).st_mode
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def spool(path: Path, folder: Path) -> Path:
    """Copies a pipe into `folder`, where it can be read twice; a plain file is returned as it is."""
    if not is_pipe(path):
        return path
    unnamed = folder / ("stdin" if str(path) == STDIN else path.name)
    with (
        readable(path),
        open(0, "rb", closefd=False) if str(path) == STDIN else open(path, "rb") as source,
        open(unnamed, "wb") as copy,
    ):
        shutil.copyfileobj(source, copy, CHUNK)
    return unnamed.rename(unnamed.with_suffix(_ending(_head(unnamed))))


def _ending(head: bytes) -> str:
    """The ending for unnamed data: several lines of which the first is an object are JSONL."""
    lines = [line for line in head.removeprefix(BOM).splitlines() if line.strip()]
    if not lines or lines[0].lstrip()[:1] not in b"{[":
        return ".csv" if lines else ".jsonl"
    value, problems = parse_json(lines[0], file="")
    return ".jsonl" if isinstance(value, dict) and not problems and len(lines) > 1 else ".json"


def _in_folder(folder: Path, dialects: Sequence[Importer], note: Note | None) -> list[Path]:
    with readable(folder):
        files = sorted(
            path
            for path in folder.rglob("*")
            if path.suffix.lower() in ENDINGS
            and not any(part.startswith(".") for part in path.relative_to(folder).parts)
            and path.is_file()
        )
    known: list[Path] = []
    for path in files:
        head = _head(path) if dialects else b""
        if _is_blank(head) or any(dialect.detect(path, head) for dialect in dialects):
            known.append(path)
        elif note is not None:
            message = "passed over: no dialect knows this file"
            note(Problem(code="skipped-file", message=message, file=str(path), level=Level.WARNING))
    if not known:
        requirement = f"that is of a known dialect ({', '.join(each.name for each in dialects)})" if files else ""
        raise InputError(f"{folder}: no data file ({', '.join(ENDINGS)}) {requirement}".rstrip() + " in this folder")
    return known


def _head(path: Path) -> bytes:
    with readable(path), open_file(path) as file:
        return file.read(HEAD)


def _is_blank(head: bytes) -> bool:
    return not head.removeprefix(BOM).strip()


Look = Callable[[Case], object]

MOST_ALIKE = 100
"""How many warnings with the same code and field a report lists one by one."""


class FileReport(Struct, frozen=True, kw_only=True):
    """The outcome of validating one file. `cases` counts those that could be read."""

    path: str
    dialect: str
    cases: int
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    sha256: str = ""

    @property
    def valid(self) -> bool:
        return not self.problems


def validate(path: Path, dialect: Importer, look: Look | None = None, *, glance: bool = False) -> FileReport:
    """Every problem and warning of the file, and its number of cases. `look` is called with each case; with `glance`,
    only with those that a scan builds."""
    tally = _Tally(path, look, tells_ids=isinstance(dialect, WatchedDialect | ScanningDialect))
    if (look is None or glance) and isinstance(dialect, ScanningDialect):
        hashed = sha256()
        with readable(path):
            tally.add_all(dialect.scan(path, hashed.update))
        return tally.report(dialect.name, hashed.hexdigest())
    reading = _Pass(path, dialect)
    tally.add_all(reading)
    return tally.report(dialect.name, reading.sha256)


def read_cases(path: Path, dialect: Importer, report: FileReport | None = None) -> Iterator[Case]:
    """Every case, or DatasetInvalid with every problem, raised before the first case. Conflict, where the file has
    changed since it was validated."""
    report = report or validate(path, dialect)
    if report.problems:
        raise DatasetInvalid(str(path), report.problems)
    return _validated_cases(path, dialect, report.sha256)


def _validated_cases(path: Path, dialect: Importer, expected: str) -> Iterator[Case]:
    reading = _Pass(path, dialect, again=True)
    for item in reading:
        if isinstance(item, Case):
            yield item
        elif item.level is Level.ERROR:
            raise file_changed(path)
    if reading.sha256 != expected:
        raise file_changed(path)


class _Pass:
    """One pass over a file; `sha256` is known at its end."""

    def __init__(self, path: Path, dialect: Importer, *, again: bool = False) -> None:
        self.sha256 = ""
        self._again = again
        self._path = path
        self._dialect = dialect

    def __iter__(self) -> Iterator[Case | Problem]:
        path, dialect, hashed = self._path, self._dialect, sha256()
        with readable(path):
            if not isinstance(dialect, WatchedDialect):
                before = digest(path)
                yield from dialect.read(path)
                self.sha256 = digest(path)
                if self.sha256 != before:
                    raise file_changed(path)
                return
            if self._again and isinstance(dialect, RereadingDialect):
                yield from dialect.read_again(path, hashed.update)
            else:
                yield from dialect.read_watched(path, hashed.update)
            self.sha256 = hashed.hexdigest()


class OnePass:
    """Validates and yields in one pass, for a caller that keeps nothing before the end: the cases stop at the first
    problem, the pass does not, and `report` then names every problem."""

    def __init__(self, path: Path, dialect: Importer) -> None:
        self._path = path
        self._dialect = dialect
        self._tally = _Tally(path, None, tells_ids=isinstance(dialect, WatchedDialect))

    def cases(self) -> Iterator[Case]:
        tally = self._tally
        with readable(self._path):
            before = _stamp(self._path)
            for item in self._dialect.read(self._path):
                if isinstance(item, Problem):
                    tally.note(item)
                else:
                    tally.add(item)
                    if not tally.problems:
                        yield item
            if _stamp(self._path) != before:
                raise file_changed(self._path)

    def report(self) -> FileReport:
        """The report, without a hash: the file is not read again."""
        return self._tally.report(self._dialect.name, "")


def _stamp(path: Path) -> tuple[int, int, int]:
    """Values that change when a file is written to."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


class _Tally:
    """What a validating pass collects: problems, a count, and ids where the dialect does not check them itself."""

    def __init__(self, path: Path, look: Look | None, tells_ids: bool) -> None:
        self._path = path
        self._look = look
        self._ids: set[str] | None = None if tells_ids else set()
        self._cases = 0
        self.problems: list[Problem] = []
        self._warnings: list[Problem] = []
        self._alike: Counter[tuple[str, str]] = Counter()
        self._repeated: list[Problem] = []

    def add_all(self, items: Iterable[Case | Problem | None]) -> None:
        for item in items:
            if isinstance(item, Problem):
                self.note(item)
            else:
                self.add(item)

    def note(self, problem: Problem) -> None:
        """Keeps every problem, and the first warnings of each kind: a large file may have one on each line."""
        kind = (problem.code, problem.field)
        if problem.level is Level.ERROR:
            self.problems.append(problem)
            return
        self._alike[kind] += 1
        if self._alike[kind] <= MOST_ALIKE:
            self._warnings.append(problem)

    def add(self, case: Case | None) -> None:
        """Counts a case; None is a case that was not built."""
        self._cases += 1
        if case is None:
            return
        if self._look is not None:
            self._look(case)
        if self._ids is not None:
            if case.id in self._ids:
                spot, message = Spot(str(self._path), None, "id"), f"two cases have the id {shown(case.id)}"
                self._repeated.append(spot.problem("duplicate-id", message, hint="ids must be unique"))
            self._ids.add(case.id)

    def report(self, dialect: str, sha256: str) -> FileReport:
        problems = list(self.problems)
        if not any(problem.code == "duplicate-id" for problem in problems):
            problems += self._repeated
        if not problems and not self._cases:
            problems = [empty_file(self._path)]
        file, warnings = str(self._path), list(self._warnings)
        for (code, field), count in self._alike.items():
            if count > MOST_ALIKE:
                message = f"and {count - MOST_ALIKE:,} more lines with this warning"
                warnings.append(Problem(code=code, message=message, file=file, field=field, level=Level.WARNING))
        return FileReport(
            path=file,
            dialect=dialect,
            cases=self._cases,
            problems=tuple(problems),
            warnings=tuple(warnings),
            sha256=sha256,
        )


def file_changed(path: Path) -> Conflict:
    return Conflict(f"{path} changed while it was being read; try again when nothing else writes to it")
