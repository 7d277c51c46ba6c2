"""What is to be converted: files, who reads each, and what a first look at them found. Nothing goes on while one of
them has a problem."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct, structs

from assay.dialects.base import Importer
from assay.dialects.finding import HEAD, expand, readable, spool
from assay.dialects.importers.base import SKIPPED, Choosing, Options, Searching
from assay.dialects.reading import FileReport, read_cases, validate
from assay.errors import DatasetInvalid, InputError, Problem
from assay.kit import Kit
from assay.model.case import Case

EMPTY = "empty-file"


class Source(Struct, frozen=True, kw_only=True):
    """One file. `foreign`: an importer reads it, so its ids are ours."""

    path: Path
    reader: Importer
    report: FileReport
    foreign: bool

    def cases(self) -> Iterator[Case]:
        return read_cases(self.path, self.reader, self.report)


def sources(paths: Sequence[str], kit: Kit, name: str, options: Options, spooled: Path) -> list[Source]:
    """Every file, or DatasetInvalid with the problems of all."""
    found = [_source(path, kit, name, options) for path in _files(paths, kit, name, options, spooled)]
    problems = [problem for source in found for problem in source.report.problems]
    if problems:
        raise DatasetInvalid(", ".join(str(source.path) for source in found), problems)
    return found


def _files(paths: Sequence[str], kit: Kit, name: str, options: Options, spooled: Path) -> Iterator[Path]:
    known: list[Importer] = (
        [_reader(kit, name, options)] if name else [*kit.dialects, *(_chosen(each, options) for each in kit.importers)]
    )
    for path in map(Path, paths):
        for one in _own_places(path, known) or expand([path], known):
            yield spool(one, spooled)


def _own_places(path: Path, readers: Iterable[Importer]) -> list[Path]:
    """An agent's folder stands for what its framework left there."""
    for reader in readers if path.is_dir() else ():
        if isinstance(reader, Searching) and (found := reader.files(path)):
            return found
    return []


def _chosen(reader: Importer, options: Options) -> Importer:
    return reader.chosen(options) if isinstance(reader, Choosing) else reader


def _reader(kit: Kit, name: str, options: Options) -> Importer:
    return _chosen(kit.reader(name), options)


def _source(path: Path, kit: Kit, name: str, options: Options) -> Source:
    reader = _reader(kit, name or recognised(path, kit), options)
    report = validate(path, reader)
    left_out = any(warning.code == SKIPPED for warning in report.warnings)
    if left_out and [problem.code for problem in report.problems] == [EMPTY]:
        # Everything in it was left out, and each time it was said why.
        report = structs.replace(report, problems=())
    return Source(path=path, reader=reader, report=report, foreign=reader.name in kit.importers)


def recognised(path: Path, kit: Kit) -> str:
    """The name of the dialect the file is of; importers are asked only where no dialect knows it."""
    with readable(path), path.open("rb") as file:
        head = file.read(HEAD)
    if not head.strip(b"\xef\xbb\xbf \t\r\n"):
        raise DatasetInvalid(str(path), [Problem(code=EMPTY, message="there is nothing in this file", file=str(path))])
    for kinds in (list(kit.dialects), list(kit.importers)):
        fitting = [each.name for each in kinds if each.detect(path, head)]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise InputError(f"{path}: may be any of {', '.join(fitting)}; name one with --from")
    known = ", ".join([*kit.dialects.names(), *kit.importers.names()])
    raise InputError(f"{path}: not recognised; name what it is with --from (known: {known})")
