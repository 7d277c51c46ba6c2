"""Converting: reading one format and writing another, one case at a time, with a report of everything that was read,
written, left out, changed or lost. Sources are read once, while the new file grows beside its place; a problem anywhere
leaves everything as it was."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct, structs

from howsure.dialects.importers.base import SKIPPED, Options
from howsure.dialects.lines import write_lines
from howsure.dialects.reading import FileReport, read_cases, validate
from howsure.errors import Conflict, DatasetInvalid, InputError, Problem, UnknownName
from howsure.kit import Kit
from howsure.model.case import Case
from howsure.services.conversion.baggage import Baggage
from howsure.services.conversion.catalog import scenarios
from howsure.services.conversion.ids import Ids
from howsure.services.conversion.ledger import FieldLine, Fitted, How, Ledger
from howsure.services.conversion.roads import Fit, fit_for
from howsure.services.conversion.sources import Source, sources

CATALOG = "scenario-catalog"
ENDINGS = {
    "golden": (".json",),
    "test-set": (".json",),
    "simulation": (".jsonl", ".ndjson", ".csv"),
    "explain": (".jsonl", ".ndjson"),
    "legal": (".jsonl", ".ndjson"),
    CATALOG: (".jsonl", ".ndjson"),
}
STAGED = ("test-set",)
"""Formats whose writer does not look at what it wrote: they are checked before they take their place."""


class Order(Struct, frozen=True, kw_only=True):
    """What is asked for."""

    paths: tuple[str, ...]
    to: str
    output: Path
    source: str = ""
    options: Options = Options()
    force: bool = False
    append: bool = False


class SourceLine(Struct, frozen=True, kw_only=True):
    path: str
    dialect: str
    cases: int
    warnings: tuple[Problem, ...] = ()


class SkipLine(Struct, frozen=True, kw_only=True):
    """Cases that were left out for one reason."""

    why: str
    cases: int
    first: str


class Converted(Struct, frozen=True, kw_only=True):
    """The report. read = written + skipped, but for what a source left out itself; `kept` were there before."""

    output: str
    to: str
    read: int
    written: int
    kept: int = 0
    sources: tuple[SourceLine, ...] = ()
    skipped: tuple[SkipLine, ...] = ()
    lost: tuple[FieldLine, ...] = ()
    changed: tuple[FieldLine, ...] = ()


def convert(order: Order, kit: Kit) -> Converted:
    """Writes the file, or raises and leaves everything as it was."""
    _check(order)
    with TemporaryDirectory() as spooled:
        options = structs.replace(order.options, to=order.to)
        found = sources(order.paths, kit, order.source, options, Path(spooled))
        existing = _existing(order, kit)
        flow = _Flow(order, found, existing, fit_for(order.to, order.options, found[0].path.stem))
        with Baggage(order.output.parent) as baggage:
            _write(order, kit, flow.cases(baggage))
        return flow.report()


def write_catalog(output: Path, count: int, seed: int, *, force: bool = False) -> int:
    """A generated scenario catalog; how many scenarios it holds."""
    _check(Order(paths=(), to=CATALOG, output=output, force=force))
    if count < 1:
        raise InputError(f"a catalog needs one scenario or more, not {count}")
    write_lines(scenarios(count, seed), output)
    return count


def _check(order: Order) -> None:
    if order.to not in ENDINGS:
        raise UnknownName("target", order.to, list(ENDINGS))
    if order.output.suffix.lower() not in ENDINGS[order.to]:
        raise InputError(f"{order.output}: a {order.to} file ends in {' or '.join(ENDINGS[order.to])}")
    if not order.output.parent.is_dir():
        raise InputError(f"{order.output.parent}: no such folder")
    if order.append and order.to != "golden":
        raise InputError("only golden files can be appended to")
    if order.output.exists() and not order.force and not order.append:
        raise Conflict(f"{order.output} exists already; --force overwrites it" + _or_append(order))


def _or_append(order: Order) -> str:
    return ", --append adds to it" if order.to == "golden" else ""


def _existing(order: Order, kit: Kit) -> list[Case]:
    if not order.append or not order.output.exists():
        return []
    return list(read_cases(order.output, kit.dialects[order.to]))


def _write(order: Order, kit: Kit, cases: Iterator[Case]) -> None:
    dialect = kit.dialects[order.to]
    if order.to not in STAGED:
        dialect.write(cases, order.output)
        return
    with TemporaryDirectory(dir=order.output.parent, prefix=".howsure-") as folder:
        staged = Path(folder) / order.output.name
        dialect.write(cases, staged)
        report = validate(staged, dialect)
        if report.problems:
            raise DatasetInvalid(str(order.output), report.problems)
        os.replace(staged, order.output)


class _Flow:
    """The cases on their way, and what is noticed about them."""

    def __init__(self, order: Order, found: list[Source], existing: list[Case], fit: Fit) -> None:
        self._order = order
        self._found = found
        self._existing = existing
        self._fit = fit
        self._ledger = Ledger()
        self._skipped: dict[str, tuple[str, int]] = {}
        self._reports: list[FileReport] = []
        self._read = 0
        self._written = 0

    def cases(self, baggage: Baggage) -> Iterator[Case]:
        ids = Ids(alone=len(self._found) == 1 and not self._existing)
        for case in self._existing:
            ids.know(case)
        yield from self._existing
        for source in self._found:
            bring = baggage.carrier(source.path.parent)
            fit = Fitted if source.reader.name == self._order.to else self._fit
            for case in source.cases():
                self._read += 1
                made = self._one(case, fit(case), source, ids)
                if made is not None:
                    bring(made)
                    yield made
        self._close(ids)

    def _close(self, ids: Ids) -> None:
        """All sources were read: what they are wrong about comes before what we are."""
        self._reports = [source.report() for source in self._found]
        problems = [problem for report in self._reports for problem in report.problems]
        if problems:
            raise DatasetInvalid(", ".join(str(source.path) for source in self._found), problems)
        if ids.problems:
            raise DatasetInvalid(str(self._order.output), ids.problems)
        if not self._written and not self._existing:
            raise InputError(self._nothing())

    def _one(self, case: Case, fitted: Fitted, source: Source, ids: Ids) -> Case | None:
        """The case to write; None, and why, where it is left out."""
        if fitted.case is None:
            self._skip(fitted.reason, case.id)
            return None
        unique = ids.unique(fitted.case, source, repeats="repeat" in case.labels)
        if unique is None:
            self._skip("the same case was read before", case.id)
            return None
        if fitted.entries:
            self._ledger.add(case.id, fitted.entries)
        self._written += 1
        return unique

    def _skip(self, why: str, id: str) -> None:
        first, count = self._skipped.get(why, (id, 0))
        self._skipped[why] = (first, count + 1)

    def _nothing(self) -> str:
        reasons = [why for why, _ in self._skipped.items()]
        reasons += [note.message for note in self._left_out()]
        return f"nothing to write: {'; '.join(dict.fromkeys(reasons)) or 'the sources hold no case'}"

    def _left_out(self) -> list[Problem]:
        """What the sources say that they left out themselves."""
        return [note for report in self._reports for note in report.warnings if note.code == SKIPPED]

    def report(self) -> Converted:
        for note in self._left_out():
            self._skip(note.message, note.place)
        lines = [
            SourceLine(path=one.path, dialect=one.dialect, cases=one.cases, warnings=one.warnings)
            for one in self._reports
        ]
        skips = [SkipLine(why=why, cases=count, first=first) for why, (first, count) in self._skipped.items()]
        return Converted(
            output=str(self._order.output),
            to=self._order.to,
            read=self._read,
            written=self._written,
            kept=len(self._existing),
            sources=tuple(lines),
            skipped=tuple(skips),
            lost=self._ledger.lines(How.LOST),
            changed=self._ledger.lines(How.CHANGED),
        )
