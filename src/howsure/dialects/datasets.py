"""Datasets: the files that a path stands for, the dialect of a file, and all of its cases or all of its problems.

Reading takes two passes: `validate` checks everything, then `read_cases` yields. Each pass hashes what it reads and the
hashes must agree, so no case comes from a file that was not validated. `OnePass` does both at once, for a caller that
can undo what it did with the cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from shlex import quote
from typing import Protocol, TypeVar

from msgspec import Struct, structs

from howsure.dialects.base import Importer, RereadingDialect, ScanningDialect, WatchedDialect
from howsure.dialects.ids import unstorable_case
from howsure.dialects.lines import CHUNK, open_file
from howsure.dialects.plain_columns import TableDialect, no_input
from howsure.dialects.problems import LISTING, Spot, shown
from howsure.dialects.strict_json import BOM, head_keys
from howsure.dialects.tables import head_names
from howsure.dialects.trace_files import describe_trace
from howsure.errors import MAX_PROBLEMS, Conflict, DatasetInvalid, InputError, Level, NotFound, Problem
from howsure.model.case import Case, World

HEAD = 1 << 16
ENDINGS = (".csv", ".json", ".jsonl", ".ndjson", ".tsv", ".parquet")
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


class FileHash:
    """The SHA-256 and the number of the bytes of a file, from the pieces that are read of it."""

    def __init__(self) -> None:
        self._hashed = sha256()
        self.size = 0

    def update(self, piece: bytes | memoryview) -> None:
        self._hashed.update(piece)
        self.size += len(piece)

    @property
    def sha256(self) -> str:
        return self._hashed.hexdigest()


def digest(path: Path, size: int | None = None) -> str:
    """The SHA-256 of a file's bytes, or of the first ones."""
    hashed = FileHash()
    with readable(path), open_file(path) as file:
        while piece := file.read(CHUNK if size is None else min(CHUNK, size - hashed.size)):
            hashed.update(piece)
    return hashed.sha256


def bytes_added(path: Path, sha256: str, size: int) -> int | None:
    """How many bytes a file has more than it had, where it begins with exactly what it was; None: it has changed."""
    with readable(path):
        added = path.stat().st_size - size
        if added < 0 or not size or digest(path, size) != sha256:
            return None
        if added:
            with open(path, "rb") as file:
                file.seek(size - 1)
                last, following = file.read(1), file.read(1)
            # What follows must be a line of its own, and not the rest of the last one.
            return added if last == b"\n" or following in (b"\n", b"\r") else None
    return 0


class _Recogniser(Protocol):
    name: str

    def detect(self, path: Path, head: bytes) -> bool: ...


def detect(
    path: Path, dialects: Iterable[R], importers: Iterable[Importer] = (), results: Iterable[_Recogniser] = ()
) -> R:
    """The one dialect that recognises the file. What one of `importers` or a reader of other tools' `results` reads is
    refused with the command to type. A dialect with `fallback` is asked if no other one knows the file, but before an
    importer that finds it `is_plain`. Dialects of other tools are loaded, and asked, only if no loaded one knows it."""
    head = _head(path)
    if _is_blank(head):
        raise DatasetInvalid(str(path), [empty_file(path)])
    if (own := dialect_at_hand(path, head, dialects)) is not None:
        return own
    known = list(dialects)
    fitting = [dialect for dialect in known if dialect.detect(path, head)]
    certain = [dialect for dialect in fitting if not getattr(dialect, "fallback", False)]
    if len(certain) == 1:
        return certain[0]
    if certain:
        names = ", ".join(dialect.name for dialect in certain)
        raise InputError(f"{path}: fits several dialects ({names}); name one with --dialect")
    if tool := next((reader.name for reader in results if reader.detect(path, head)), ""):
        word = quote(str(path))
        raise InputError(
            f"{path}: these are results of {tool}, not a dataset: `howsure import {word}` makes a run of them, and"
            f" `howsure compare {word} OTHER` compares them as they are"
        )
    foreign = [importer for importer in importers if importer.detect(path, head)]
    if fitting and all(getattr(each, "is_plain", lambda _: False)(path) for each in foreign):
        return fitting[0]
    if foreign:
        raise InputError(
            f"{path}: this is a file of {foreign[0].name}, not yet a dataset; make one of it with"
            f" `howsure convert {quote(str(path))} {conversion_options(path, foreign[0])}`"
        )
    every, more = [dialect.name for dialect in known], len(known) - _MOST_NAMED
    listed = ", ".join(every[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    found = looks_like(path, head)
    raise InputError(f"{path}: not recognised: {found}; or name one with --dialect ({listed})")


def dialect_at_hand(path: Path, head: bytes, dialects: Iterable[R]) -> R | None:
    """The one dialect that knows the file, among those that a registry need not load first."""
    at_hand: Iterable[R] = getattr(dialects, "at_hand", ())
    fitting = [each for each in at_hand if each.detect(path, head) and not getattr(each, "fallback", False)]
    return fitting[0] if len(fitting) == 1 else None


def has_foreign_dialect(path: Path, dialects: Iterable[R]) -> bool:
    """Whether a file is there that none of the dialects at hand knows."""
    return path.is_file() and dialect_at_hand(path, _head(path), dialects) is None


def looks_like(path: Path, head: bytes) -> str:
    """What an unknown file seems to be, and how it could be made readable."""
    for start, what in _CONTAINERS.items():
        if head.startswith(start):
            return what
    found, hint = describe_trace(head)
    if found:
        return f"it is {found}; {hint}"
    names = head_names(path, head)
    if {"user_inputs", "reference_data"} <= set(names):
        command = f"jq '{{golden_questions: .}}' {quote(str(path))}"
        return f"it is a list of golden questions; put it under their name: {command}"
    if any(name.strip() for name in names):
        problem = no_input(names, Spot(""))
        return f"{problem.message}; {problem.hint}"
    text = head.removeprefix(BOM).lstrip()
    if text[:1] in (b"{", b"["):
        keys = head_keys(head)
        if keys == ["criteria"]:
            command = f"howsure convert EVALSET --criteria {quote(str(path))}"
            return f"it has ADK's criteria for an eval set; `{command}` reads both"
        listed = f" with the fields {', '.join(f'`{key}`' for key in keys[:8])}" if keys else ""
        inner = next((f": jq .{key} {quote(str(path))} > rows.json" for key in keys if key in _LISTS), "")
        return (
            f"it is JSON{listed}; a plain file is a list of objects{inner}, or one object a line (.jsonl), with an"
            " `input`"
        )
    if path.suffix.lower() in (".yaml", ".yml"):
        return "it is YAML; cases are read from CSV, JSONL, JSON and Parquet"
    if path.suffix.lower() in _CODE:
        return "it is code, which is not run; let it write its cases to a CSV, JSON or JSONL file (promptfoo: to YAML)"
    if b"\0" in head:
        return "it is a binary file; cases are read from CSV, JSONL, JSON and Parquet"
    return "it is text; cases are read from CSV, JSONL, JSON and Parquet, by the ending of the file's name"


_LISTS = ("data", "examples", "rows", "samples", "questions", "records", "dataset", "train", "test")
"""Fields in which other people's files hold their rows."""
_CODE = (".py", ".js", ".ts", ".mjs", ".cjs", ".ipynb")
_MOST_NAMED = 6
_CONTAINERS = {
    b"PK\x03\x04": "it is a ZIP archive; save the sheet of an Excel workbook as CSV UTF-8, and unpack any other",
    b"SQLite format 3": "it is an SQLite database; export a table of it as CSV",
    b"\x1f\x8b": "it is packed with gzip; unpack it first (gunzip)",
    b"%PDF": "it is a PDF; cases are read from CSV, JSONL, JSON and Parquet",
}


def conversion_options(path: Path, importer: Importer) -> str:
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
    files: list[Path] = []
    for path in paths:
        with readable(path):
            if path.is_dir():
                files += _in_folder(path, list(dialects), note)
            elif path.exists() or str(path) == STDIN:
                files.append(path)
            else:
                raise NotFound(f"no such file: {path}")
    return list(dict.fromkeys(files))


def _in_folder(folder: Path, dialects: Sequence[Importer], note: Note | None) -> list[Path]:
    with readable(folder):
        files = sorted(
            path
            for path in folder.rglob("*")
            if path.suffix.lower() in ENDINGS
            and not any(part.startswith(".") for part in path.relative_to(folder).parts)
            and path.is_file()
        )
    certain = [each for each in dialects if not getattr(each, "fallback", False)]
    known = [path for path in files if _is_known(path, certain)]
    # Beside files of other dialects a plain table is a companion, not one of the datasets.
    known = known or [path for path in files if _is_known(path, dialects)]
    for path in files:
        if path not in known and note is not None:
            message = "passed over: no dialect knows this file"
            note(Problem(code="skipped-file", message=message, file=str(path), level=Level.WARNING))
    if not known:
        requirement = f"that is of a known dialect ({', '.join(each.name for each in dialects)})" if files else ""
        raise InputError(f"{folder}: no data file ({', '.join(ENDINGS)}) {requirement}".rstrip() + " in this folder")
    return known


def _is_known(path: Path, dialects: Sequence[Importer]) -> bool:
    head = _head(path) if dialects else b""
    return _is_blank(head) or any(dialect.detect(path, head) for dialect in dialects)


def _head(path: Path) -> bytes:
    with readable(path), open_file(path) as file:
        return file.read(HEAD)


def _is_blank(head: bytes) -> bool:
    return not head.removeprefix(BOM).strip()


Look = Callable[[Case], object]

MOST_ALIKE = 100
"""How many warnings with the same code and field a report lists one by one."""


class FileReport(Struct, frozen=True, kw_only=True):
    """The outcome of validating one file. `cases` counts those that could be read, `more_problems` the problems beyond
    those that are listed, `size` the bytes that were read (0: not known), `columns` what the columns of a table are."""

    path: str
    dialect: str
    cases: int
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    sha256: str = ""
    size: int = 0
    more_problems: int = 0
    columns: str = ""

    @property
    def valid(self) -> bool:
        return not self.problems


def validate(path: Path, dialect: Importer, look: Look | None = None, *, glance: bool = False) -> FileReport:
    """Every problem and warning of the file, and its number of cases. `look` is called with each case; with `glance`,
    only with those that a scan builds."""
    tally = _Tally(path, look, tells_ids=isinstance(dialect, WatchedDialect | ScanningDialect))
    if (look is None or glance) and isinstance(dialect, ScanningDialect):
        hashed = FileHash()
        with readable(path):
            tally.add_all(dialect.scan(path, hashed.update))
        return tally.report(dialect.name, hashed.sha256, hashed.size)
    reading = _Pass(path, dialect)
    tally.add_all(reading)
    report = tally.report(dialect.name, reading.sha256, reading.size)
    if report.valid and isinstance(dialect, TableDialect):
        return structs.replace(report, columns=dialect.describe(path))
    return report


def read_cases(path: Path, dialect: Importer, report: FileReport | None = None) -> Iterator[Case]:
    """Every case, or DatasetInvalid with every problem, raised before the first case. Conflict, where the file has
    changed since it was validated. Cases that were appended to it since are left out."""
    report = report or validate(path, dialect)
    if report.problems:
        raise DatasetInvalid(str(path), report.problems, report.more_problems)
    return _validated_cases(path, dialect, report)


def _validated_cases(path: Path, dialect: Importer, report: FileReport) -> Iterator[Case]:
    reading, left = _Pass(path, dialect, again=True), report.cases if report.size else None
    for item in reading:
        if isinstance(item, Problem) and item.level is not Level.ERROR:
            continue  # to the end: other files of a dataset may be hashed until then
        if left == 0:
            break
        if isinstance(item, Case):
            left = None if left is None else left - 1
            yield item
        else:
            raise file_changed(path)
    if reading.sha256 != report.sha256 and (left or bytes_added(path, report.sha256, report.size) is None):
        raise file_changed(path)


class _Pass:
    """One pass over a file; `sha256` and `size` are known at its end."""

    def __init__(self, path: Path, dialect: Importer, *, again: bool = False) -> None:
        self.sha256 = ""
        self.size = 0
        self._again = again
        self._path = path
        self._dialect = dialect

    def __iter__(self) -> Iterator[Case | Problem]:
        path, dialect, hashed = self._path, self._dialect, FileHash()
        with readable(path):
            if not isinstance(dialect, WatchedDialect):
                before = digest(path)
                yield from dialect.read(path)
                self.sha256 = digest(path)
                self.size = path.stat().st_size
                if self.sha256 != before:
                    raise file_changed(path)
                return
            if self._again and isinstance(dialect, RereadingDialect):
                yield from dialect.read_again(path, hashed.update)
            else:
                yield from dialect.read_watched(path, hashed.update)
            self.sha256, self.size = hashed.sha256, hashed.size


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
        self._more = 0
        self._warnings: list[Problem] = []
        self._alike: Counter[tuple[str, str]] = Counter()
        self._repeated: list[Problem] = []

    def add_all(self, items: Iterable[Case | Problem | None]) -> None:
        outer = LISTING.set(True)
        try:
            for item in items:
                if isinstance(item, Problem):
                    self.note(item)
                    if len(self.problems) == MAX_PROBLEMS:
                        LISTING.set(False)
                else:
                    self.add(item)
        finally:
            LISTING.reset(outer)

    def note(self, problem: Problem) -> None:
        """Keeps the first problems, and the first warnings of each kind: a large file may have one on each line."""
        kind = (problem.code, problem.field)
        if problem.level is Level.ERROR:
            if len(self.problems) < MAX_PROBLEMS:
                self.problems.append(problem)
            else:
                self._more += 1
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
        checked = self._ids is not None or "\0" in case.id
        if checked and (problem := unstorable_case(case, Spot(str(self._path)))):
            self.note(problem)
        if self._ids is not None:
            if case.id in self._ids:
                spot, message = Spot(str(self._path), None, "id"), f"two cases have the id {shown(case.id)}"
                self._repeated.append(spot.problem("duplicate-id", message, hint="ids must be unique"))
            self._ids.add(case.id)

    def report(self, dialect: str, sha256: str, size: int = 0) -> FileReport:
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
            problems=tuple(problems[:MAX_PROBLEMS]),
            warnings=tuple(warnings),
            sha256=sha256,
            size=size,
            more_problems=self._more + max(0, len(problems) - MAX_PROBLEMS),
        )


def file_changed(path: Path) -> Conflict:
    return Conflict(f"{path} changed while it was being read; try again when nothing else writes to it")
