"""The files to convert, and the dialect or importer that reads each. A file is read once; its report is complete when
the reading has ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import structs

from howsure.dialects.base import Importer
from howsure.dialects.datasets import HEAD, FileReport, OnePass, expand, readable, spool
from howsure.dialects.importers.base import SKIPPED, ConfigurableImporter, FolderImporter, ImportOptions
from howsure.dialects.importers.records import head_columns
from howsure.dialects.strict_json import head_keys
from howsure.errors import DatasetInvalid, InputError, Problem
from howsure.kit import Kit
from howsure.model.case import Case

EMPTY = "empty-file"


class ConversionSource:
    """One file. `foreign`: an importer reads it, so we make up its ids."""

    def __init__(self, path: Path, reader: Importer, *, foreign: bool) -> None:
        self.path = path
        self.reader = reader
        self.foreign = foreign
        self._reading = OnePass(path, reader)

    def cases(self) -> Iterator[Case]:
        """Every case up to the first problem; the rest of the file is read for its problems only."""
        return self._reading.cases()

    def report(self) -> FileReport:
        """The problems and warnings of the file; complete when all cases were read."""
        report = self._reading.report()
        left_out = any(warning.code == SKIPPED for warning in report.warnings)
        if left_out and [problem.code for problem in report.problems] == [EMPTY]:
            # Everything in the file was left out, each with its reason: that is not an empty file.
            return structs.replace(report, problems=())
        return report


def find_sources(
    paths: Sequence[str], kit: Kit, name: str, options: ImportOptions, spooled: Path
) -> list[ConversionSource]:
    """Every file with its reader; folders are expanded, pipes are copied to `spooled`."""
    known: list[Importer] = (
        [_configured(kit.reader(name), options)]
        if name
        else [*kit.dialects, *(_configured(each, options) for each in kit.importers)]
    )
    finders = [reader for reader in known if isinstance(reader, FolderImporter)]
    files: list[Path] = []
    for path in map(Path, paths):
        own = next(filter(None, (finder.files(path) for finder in finders)), None) if path.is_dir() else None
        files += [spool(file, spooled) for file in own or expand([path], known)]
    readers = [_configured(kit.reader(name or recognise(file, kit)), options) for file in files]
    return [
        ConversionSource(file, reader, foreign=reader.name in kit.importers)
        for file, reader in zip(files, readers, strict=True)
    ]


def _configured(reader: Importer, options: ImportOptions) -> Importer:
    return reader.chosen(options) if isinstance(reader, ConfigurableImporter) else reader


def recognise(path: Path, kit: Kit) -> str:
    """The name of the dialect that recognises the file; importers are asked only where no dialect does."""
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
    fields = sorted(head_columns(path, head)) or head_keys(head)
    listed = ", ".join(f"`{field}`" for field in fields[:8]) + (" …" if len(fields) > 8 else "")
    begins = f": no format begins with the fields {listed}" if fields else ""
    raise InputError(f"{path}: not recognised{begins}; name what it is with --from (known: {known})")
