"""`howsure convert`: read one format and write another, one case at a time, with a report of everything that was read,
written, left out, changed or lost. Sources are read once while the new file grows beside its place; a problem anywhere
leaves everything as it was. What each format can hold is decided by the conversions, not here."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from msgspec import Struct, structs

from howsure.dialects.base import Dialect, Importer
from howsure.dialects.datasets import HEAD, FileReport, OnePass, expand, read_cases, readable, validate
from howsure.dialects.explain_rows import TOPIC_FAMILIES
from howsure.dialects.importers.base import SKIPPED, ConfigurableImporter, FolderImporter, ImportOptions
from howsure.dialects.importers.records import head_columns
from howsure.dialects.lines import ENDINGS as ROW_ENDINGS
from howsure.dialects.lines import RowDialect
from howsure.dialects.plain_columns import TableDialect
from howsure.dialects.simulation import question_of
from howsure.dialects.strict_json import head_keys
from howsure.dialects.writers import write_lines
from howsure.errors import Conflict, DatasetInvalid, InputError, Problem, UnknownName
from howsure.kit import Kit
from howsure.model.case import Case, SingleTurn
from howsure.services.convert.conversions import FitCase, conversion_to
from howsure.services.convert.loss_report import FieldLoss, FittedCase, LossEntry, LossKind, LossReport
from howsure.services.files import spool

EMPTY = "empty-file"


class ConversionSource(OnePass):
    """One file. `foreign`: an importer reads it, so we make up its ids."""

    def __init__(self, path: Path, reader: Importer, *, foreign: bool) -> None:
        super().__init__(path, reader)
        self.path = path
        self.reader = reader
        self.foreign = foreign

    def report(self) -> FileReport:
        """The problems and warnings of the file; complete when all cases were read."""
        report = super().report()
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
    certain = [each for each in kit.dialects if not getattr(each, "fallback", False)]
    for kinds in (certain, list(kit.importers), [each for each in kit.dialects if each not in certain]):
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


CATALOG = "scenario-catalog"
ENDINGS = {
    "golden": (".json",),
    "test-set": (".json",),
    "simulation": (".jsonl", ".ndjson", ".csv"),
    "explain": (".jsonl", ".ndjson"),
    "legal": (".jsonl", ".ndjson"),
    CATALOG: (".jsonl", ".ndjson"),
}
"""The built-in formats that can be written, with their file endings. Dialects of plug-ins come on top."""
UNSTAGED = ("golden", "simulation", "explain", "legal")
"""Formats whose writer checks what it writes. Any other file is read back before it takes its place."""

LEVELS = ("beginner", "intermediate", "advanced")
DURATIONS = ("short", "standard", "aggressive")
AMBIGUITIES = ("clear", "underspecified", "conflicting")
NOISES = ("none", "outdated-links", "irrelevant-forum-advice", "promo-voucher-distraction")


class ConversionRequest(Struct, frozen=True, kw_only=True):
    """What to convert, to which format and where to."""

    paths: tuple[str, ...]
    to: str
    output: Path
    source: str = ""
    options: ImportOptions = ImportOptions()
    force: bool = False
    append: bool = False


class ConvertedSource(Struct, frozen=True, kw_only=True):
    """One file that was read."""

    path: str
    dialect: str
    cases: int
    warnings: tuple[Problem, ...] = ()


class SkippedCases(Struct, frozen=True, kw_only=True):
    """Cases that were left out for one reason."""

    why: str
    cases: int
    first: str


class ConversionReport(Struct, frozen=True, kw_only=True):
    """What was done. read = written + skipped, except for what a source left out itself; `kept` cases were in the
    output before."""

    output: str
    to: str
    read: int
    written: int
    kept: int = 0
    sources: tuple[ConvertedSource, ...] = ()
    skipped: tuple[SkippedCases, ...] = ()
    lost: tuple[FieldLoss, ...] = ()
    changed: tuple[FieldLoss, ...] = ()


def convert(request: ConversionRequest, kit: Kit) -> ConversionReport:
    """Write the file, or raise and leave everything as it was."""
    _check(request, kit)
    target = kit.dialects[request.to]
    with TemporaryDirectory() as spooled:
        options = structs.replace(request.options, to=request.to)
        sources = find_sources(request.paths, kit, request.source, options, Path(spooled))
        appending = request.append and request.output.exists()
        existing = list(read_cases(request.output, target)) if appending else []
        fit = conversion_to(target, request.options, sources[0].path.stem)
        conversion = _Conversion(request, sources, existing, fit)
        with AttachmentCopies(request.output.parent) as attachments:
            _write(request.output, target, conversion.cases(attachments))
        return conversion.report()


def write_catalog(output: Path, count: int, seed: int, *, force: bool = False) -> int:
    """Write a generated scenario catalog; returns the number of scenarios."""
    _check(ConversionRequest(paths=(), to=CATALOG, output=output, force=force))
    if count < 1:
        raise InputError(f"a catalog needs one scenario or more, not {count}")
    write_lines(catalog_scenarios(count, seed), output)
    return count


def target_endings(kit: Kit) -> dict[str, tuple[str, ...]]:
    """Every format that can be written, with the endings of its files; () means any ending."""
    endings = dict(ENDINGS)
    for dialect in kit.dialects:
        if dialect.name in ENDINGS:
            continue
        if isinstance(dialect, RowDialect):
            if type(dialect).row is not RowDialect.row:
                lists = (".json",) if isinstance(dialect, TableDialect) else ()
                endings[dialect.name] = (*ROW_ENDINGS, *lists)
        elif callable(getattr(dialect, "write", None)):
            endings[dialect.name] = ()
    return endings


def _check(request: ConversionRequest, kit: Kit | None = None) -> None:
    known, output = ENDINGS if kit is None else target_endings(kit), request.output
    if request.to not in known:
        raise UnknownName("target", request.to, list(known))
    if known[request.to] and output.suffix.lower() not in known[request.to]:
        raise InputError(f"{output}: files of the format {request.to} end in {' or '.join(known[request.to])}")
    if not output.parent.is_dir():
        raise InputError(f"{output.parent}: no such folder")
    if request.append and request.to != "golden":
        raise InputError("only golden files can be appended to")
    if output.exists() and not request.force and not request.append:
        append = ", --append adds to it" if request.to == "golden" else ""
        raise Conflict(f"{output} exists already; --force overwrites it{append}")


def _write(output: Path, dialect: Dialect, cases: Iterator[Case]) -> None:
    if dialect.name in UNSTAGED:
        dialect.write(cases, output)
        return
    with TemporaryDirectory(dir=output.parent, prefix=".howsure-") as folder:
        staged = Path(folder) / output.name
        dialect.write(cases, staged)
        report = validate(staged, dialect)
        if report.problems:
            raise DatasetInvalid(str(output), report.problems, report.more_problems)
        os.replace(staged, output)


class _Conversion:
    """The cases on their way from the sources to the output, and what the report says about them."""

    def __init__(
        self, request: ConversionRequest, sources: list[ConversionSource], existing: list[Case], fit: FitCase
    ) -> None:
        self._request = request
        self._sources = sources
        self._existing = existing
        self._fit = fit
        self._losses = LossReport()
        self._skipped: dict[str, tuple[str, int]] = {}
        self._reports: list[FileReport] = []
        self._read = 0
        self._written = 0

    def cases(self, attachments: AttachmentCopies) -> Iterator[Case]:
        ids = OutputIds(alone=len(self._sources) == 1 and not self._existing)
        for case in self._existing:
            ids.know(case)
        yield from self._existing
        for source in self._sources:
            copy_attachments = attachments.copier(source.path.parent)
            fit = FittedCase if source.reader.name == self._request.to else self._fit
            for case in source.cases():
                self._read += 1
                converted = self._convert(case, fit(case), source, ids)
                if converted is not None:
                    copy_attachments(converted)
                    yield converted
            # An importer may say what its source holds and a case has no place for.
            for id, field, why in getattr(source.reader, "losses", ()):
                self._losses.add(id, (LossEntry(LossKind.LOST, field, why),))
        # All sources are read now: their own problems are reported before those of the output.
        self._reports = [source.report() for source in self._sources]
        problems = [problem for report in self._reports for problem in report.problems]
        if problems:
            more = sum(report.more_problems for report in self._reports)
            raise DatasetInvalid(", ".join(str(source.path) for source in self._sources), problems, more)
        if ids.problems:
            raise DatasetInvalid(str(self._request.output), ids.problems)
        if not self._written and not self._existing:
            reasons = [*self._skipped, *(note.message for note in self._skip_notes())]
            raise InputError(f"nothing to write: {'; '.join(dict.fromkeys(reasons)) or 'the sources hold no case'}")

    def _convert(self, case: Case, fitted: FittedCase, source: ConversionSource, ids: OutputIds) -> Case | None:
        """The case to write; None where it is left out, with the reason noted."""
        if fitted.case is None:
            self._skip(fitted.reason, case.id)
            return None
        unique = ids.unique(fitted.case, source, repeats="repeat" in case.labels)
        if unique is None:
            self._skip("the same case was read before", case.id)
            return None
        if fitted.entries:
            self._losses.add(case.id, fitted.entries)
        self._written += 1
        return unique

    def _skip(self, why: str, id: str) -> None:
        first, count = self._skipped.get(why, (id, 0))
        self._skipped[why] = (first, count + 1)

    def _skip_notes(self) -> list[Problem]:
        """The warnings in which sources say what they left out themselves."""
        return [note for report in self._reports for note in report.warnings if note.code == SKIPPED]

    def report(self) -> ConversionReport:
        for note in self._skip_notes():
            self._skip(note.message, note.place)
        sources = [
            ConvertedSource(path=one.path, dialect=one.dialect, cases=one.cases, warnings=one.warnings)
            for one in self._reports
        ]
        skipped = [SkippedCases(why=why, cases=count, first=first) for why, (first, count) in self._skipped.items()]
        return ConversionReport(
            output=str(self._request.output),
            to=self._request.to,
            read=self._read,
            written=self._written,
            kept=len(self._existing),
            sources=tuple(sources),
            skipped=tuple(skipped),
            lost=self._losses.lines(LossKind.LOST),
            changed=self._losses.lines(LossKind.CHANGED),
        )


class OutputIds:
    """The ids of one output that comes from several sources: equal cases are written once, and two different cases
    never share an id. `alone`: there is one source, whose dialect has checked its ids already."""

    def __init__(self, *, alone: bool) -> None:
        self._alone = alone
        self._known: dict[str, bytes] = {}
        self.problems: list[Problem] = []

    def know(self, case: Case) -> None:
        self._known[case.id] = _content_hash(case)

    def unique(self, case: Case, source: ConversionSource, *, repeats: bool) -> Case | None:
        """The case under an id of its own; None where an equal case was written before. `repeats`: the source holds
        conversations, and several of them may be about one question."""
        if self._alone:
            return case
        if case.id not in self._known:
            self.know(case)
            return case
        if self._known[case.id] == _content_hash(case):
            return None
        if source.foreign or repeats:
            return self._number(case, repeats)
        message = f"the id {case.id!r} stands for another case in another source"
        hint = "ids must be unique: rename one, or convert the files apart"
        self.problems.append(Problem(code="duplicate-id", message=message, file=str(source.path), hint=hint))
        return None

    def _number(self, case: Case, repeats: bool) -> Case | None:
        """The case with the next free number in its id; conversations about one question are its repeats."""
        question, number = question_of(case)
        while True:
            number += 1
            id = f"{question}#{number}" if repeats else f"{question}-{number}"
            labels = {**case.labels, "repeat": str(number)} if repeats else case.labels
            numbered = structs.replace(case, id=id, labels=labels)
            if id not in self._known:
                self.know(numbered)
                return numbered
            if self._known[id] == _content_hash(numbered):
                return None


def _content_hash(case: Case) -> bytes:
    """A hash of the case without its id and repeat number."""
    bare = structs.replace(case, id="", labels={**case.labels, "repeat": ""})
    return sha256(msgspec.json.encode(bare)).digest()


class AttachmentCopies:
    """Copies the documents that cases attach. Cases name them by paths beside their file, so they must lie beside the
    output too; the copies are removed again when the conversion fails."""

    def __init__(self, target: Path) -> None:
        self._target = target.resolve()
        self._made: list[Path] = []

    def __enter__(self) -> AttachmentCopies:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        for path in reversed(self._made) if error is not None else ():
            with suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()

    def copier(self, source: Path) -> Callable[[Case], None]:
        """A function that copies the attachments of a case from this folder."""
        if source.resolve() == self._target:
            return lambda _: None

        def copy(case: Case) -> None:
            if type(case.input) is SingleTurn and case.input.attachments:
                for attachment in case.input.attachments:
                    self._copy(source / attachment.path, self._target / attachment.path)

        return copy

    def _copy(self, old: Path, new: Path) -> None:
        if old.is_file() and not new.exists() and new.resolve().is_relative_to(self._target):
            self._made += [folder for folder in reversed(new.parents) if not folder.exists()]
            new.parent.mkdir(parents=True, exist_ok=True)
            self._made.append(new)
            shutil.copyfile(old, new)


def catalog_scenarios(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Scenarios from a number and a seed: every list of values is cycled through, so the same arguments always give
    the same catalog. `seed` makes the lists advance at different offsets; with 0 all start at the beginning."""
    for place in range(count):
        offsets = [place + seed * step for step in range(1, 8)] if seed else [place] * 7
        topic = TOPIC_FAMILIES[offsets[0] % len(TOPIC_FAMILIES)]
        yield {
            "scenario_id": f"SCN-{place + 1:03}",
            "topic_family": topic,
            "learner_level": LEVELS[offsets[1] % len(LEVELS)],
            "duration_profile": DURATIONS[offsets[2] % len(DURATIONS)],
            "weekly_hours": 4 + offsets[3] % 8,
            "duration_weeks": 4 + offsets[4] % 10,
            "ambiguity": AMBIGUITIES[offsets[5] % len(AMBIGUITIES)],
            "noise_factor": NOISES[offsets[6] % len(NOISES)],
            "target_exam": topic,
        }
