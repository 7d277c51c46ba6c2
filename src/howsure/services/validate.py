"""`howsure validate` and `howsure schema`: check files without running them (datasets, and the rubric and agent files
that go with them), and print the JSON Schemas of the formats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec.structs import replace

from howsure.dialects import responses
from howsure.dialects.agent_files import is_agent, is_rubric, read_agent, read_rubric
from howsure.dialects.base import HasSchema
from howsure.dialects.datasets import HEAD, FileReport, detect, expand, readable, validate
from howsure.errors import DatasetInvalid, InputError, Problem, UnknownName
from howsure.kit import Kit
from howsure.kit.settings_schema import settings_schema
from howsure.services.files import fetch_files, is_address, spool

Warn = Callable[[Problem], None]

COMPANIONS: tuple[tuple[str, Callable[[Path, bytes], bool], Callable[[Path, Warn], object]], ...] = (
    ("rubric", is_rubric, read_rubric),
    ("agent", is_agent, read_agent),
)


def validate_files(paths: Sequence[str], kit: Kit, dialect: str = "") -> list[FileReport]:
    """A report for each file; a folder stands for the data files in it, `-` for standard input. Files at addresses come
    last."""
    known = list(kit.dialects)
    with TemporaryDirectory() as passing:
        near = expand([Path(path) for path in paths if not is_address(path)], known)
        files = [spool(path, Path(passing)) for path in near]
        far = [each for path in paths if is_address(path) for each in fetch_files(path, Path(passing))]
        reports = [_validate(path, kit, dialect) for path in files]
        for each in far:
            report = _validate(each.path, kit, dialect)
            problems = tuple(replace(problem, file=each.address) for problem in report.problems)
            warnings = tuple(replace(warning, file=each.address) for warning in report.warnings)
            reports.append(replace(report, path=each.address, problems=problems, warnings=warnings))
        return reports


def _validate(path: Path, kit: Kit, dialect: str) -> FileReport:
    if dialect:
        return validate(path, kit.reader(dialect))
    with readable(path), path.open("rb") as file:
        head = file.read(HEAD)
    for kind, fits, read in COMPANIONS:
        if fits(path, head):
            return _companion(path, kind, read)
    try:
        known = detect(path, kit.dialects, kit.importers, kit.results_readers)
    except DatasetInvalid as error:
        return FileReport(path=str(path), dialect="", cases=0, problems=error.problems)
    except InputError as error:
        message = str(error).removeprefix(f"{path}: ")
        unknown = Problem(code="unknown-dialect", message=message, file=str(path))
        return FileReport(path=str(path), dialect="", cases=0, problems=(unknown,))
    return validate(path, known)


def _companion(path: Path, kind: str, read: Callable[[Path, Warn], object]) -> FileReport:
    """The report of a file that goes with a dataset: it has no cases, but it can have problems."""
    warnings: list[Problem] = []
    problems: tuple[Problem, ...] = ()
    more = 0
    try:
        read(path, warnings.append)
    except DatasetInvalid as error:
        problems, more = error.problems, error.more
    return FileReport(
        path=str(path), dialect=kind, cases=0, problems=problems, warnings=tuple(warnings), more_problems=more
    )


def schemas(kit: Kit) -> dict[str, Callable[[], dict[str, Any]]]:
    """By name, a function that returns the schema: of each dialect that has one, of the responses file, and of
    `howsure.yaml`."""
    known: dict[str, Callable[[], dict[str, Any]]] = {
        dialect.name: dialect.schema for dialect in kit.dialects if isinstance(dialect, HasSchema)
    }
    return known | {"responses": lambda: responses.SCHEMA, "settings": lambda: settings_schema(kit)}


def schema_of(name: str, kit: Kit) -> dict[str, Any]:
    known = schemas(kit)
    if name not in known:
        raise UnknownName("schema", name, list(known))
    return known[name]()
