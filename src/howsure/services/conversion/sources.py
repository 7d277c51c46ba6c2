"""What is to be converted: files, and who reads each. A file is read once; what was found in it is known then, and
nothing is kept of what was made of it while any of the files has a problem."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import structs

from howsure.dialects.base import Importer
from howsure.dialects.finding import HEAD, expand, readable, spool
from howsure.dialects.importers.base import SKIPPED, Choosing, Options, Searching
from howsure.dialects.importers.records import head_columns
from howsure.dialects.json_places import head_keys
from howsure.dialects.reading import FileReport, OnePass
from howsure.errors import DatasetInvalid, InputError, Problem
from howsure.kit import Kit
from howsure.model.case import Case

EMPTY = "empty-file"


class Source:
    """One file. `foreign`: an importer reads it, so its ids are ours."""

    def __init__(self, path: Path, reader: Importer, *, foreign: bool) -> None:
        self.path = path
        self.reader = reader
        self.foreign = foreign
        self._reading = OnePass(path, reader)

    def cases(self) -> Iterator[Case]:
        """Every case, up to the first problem; the file is read to its end in any case."""
        return self._reading.cases()

    def report(self) -> FileReport:
        """What the reading found, once it is over."""
        report = self._reading.report()
        left_out = any(warning.code == SKIPPED for warning in report.warnings)
        if left_out and [problem.code for problem in report.problems] == [EMPTY]:
            # Everything in it was left out, and each time it was said why.
            return structs.replace(report, problems=())
        return report


def sources(paths: Sequence[str], kit: Kit, name: str, options: Options, spooled: Path) -> list[Source]:
    """Every file, with its reader."""
    return [_source(path, kit, name, options) for path in _files(paths, kit, name, options, spooled)]


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
    return Source(path, reader, foreign=reader.name in kit.importers)


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
    raise InputError(f"{path}: not recognised{_shown(path, head)}; name what it is with --from (known: {known})")


def _shown(path: Path, head: bytes) -> str:
    """What the file was judged by: the fields of its first record, where it has any."""
    fields = sorted(head_columns(path, head)) or head_keys(head)
    listed = ", ".join(f"`{field}`" for field in fields[:8]) + (" …" if len(fields) > 8 else "")
    return f": no format begins with the fields {listed}" if fields else ""
