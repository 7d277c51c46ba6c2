"""Checking files without running them: datasets, and the rubric and agent files that go with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from howsure.dialects.agent_file import is_agent, read_agent
from howsure.dialects.finding import HEAD, detect, expand, readable, spool
from howsure.dialects.reading import FileReport, validate
from howsure.dialects.rubric_file import is_rubric, read_rubric
from howsure.errors import DatasetInvalid, InputError, Problem
from howsure.kit import Kit
from howsure.services.remote import Far, fetched, is_address

Warn = Callable[[Problem], None]

COMPANIONS: tuple[tuple[str, Callable[[Path, bytes], bool], Callable[[Path, Warn], object]], ...] = (
    ("rubric", is_rubric, read_rubric),
    ("agent", is_agent, read_agent),
)


def validate_files(paths: Sequence[str], kit: Kit, dialect: str = "") -> list[FileReport]:
    """A report for each file; folders stand for the data files in them, `-` for standard input. Those at addresses come
    last."""
    known = list(kit.dialects)
    with TemporaryDirectory() as passing:
        near = expand([Path(path) for path in paths if not is_address(path)], known)
        files = [spool(path, Path(passing)) for path in near]
        far = [each for path in paths if is_address(path) for each in fetched(path, Path(passing))]
        return [_validated(path, kit, dialect) for path in files] + [_far(each, kit, dialect) for each in far]


def _far(file: Far, kit: Kit, dialect: str) -> FileReport:
    """Of its copy, which nobody need know of."""
    report = _validated(file.path, kit, dialect)
    problems, warnings = (
        tuple(replace(each, file=file.address) for each in found) for found in (report.problems, report.warnings)
    )
    return replace(report, path=file.address, problems=problems, warnings=warnings)


def _validated(path: Path, kit: Kit, dialect: str) -> FileReport:
    if dialect:
        return validate(path, kit.reader(dialect))
    with readable(path), path.open("rb") as file:
        head = file.read(HEAD)
    for kind, fits, read in COMPANIONS:
        if fits(path, head):
            return _companion(path, kind, read)
    try:
        known = detect(path, list(kit.dialects))
    except DatasetInvalid as error:
        return FileReport(path=str(path), dialect="", cases=0, problems=error.problems)
    except InputError as error:
        unknown = Problem(code="unknown-dialect", message=str(error), file=str(path))
        return FileReport(path=str(path), dialect="", cases=0, problems=(unknown,))
    return validate(path, known)


def _companion(path: Path, kind: str, read: Callable[[Path, Warn], object]) -> FileReport:
    """A file that stands beside a dataset: it has no cases, but it can have problems."""
    warnings: list[Problem] = []
    problems: tuple[Problem, ...] = ()
    try:
        read(path, warnings.append)
    except DatasetInvalid as error:
        problems = error.problems
    return FileReport(path=str(path), dialect=kind, cases=0, problems=problems, warnings=tuple(warnings))
